import { refusals } from '../src/edge/refusals.ts'
import { adviceFor, type ErrorCode, errorTable } from '../src/language/errors.ts'
import type { Catalog } from '../src/language/mapping/catalog.ts'
import type { Codec } from '../src/language/mapping/codec.ts'
import type { CompiledAction } from '../src/language/mapping/compile.ts'
import { fieldProblems } from '../src/language/mapping/fields.ts'
import { type MessageName, messages } from '../src/language/messages.ts'
import { describeSentence } from './mapping-rows.ts'
import { code } from './markdown.ts'

/** Returns the part about every `Message` that a version-1 caller can get, from the code's own declarations. */
export function messagePart({ actions, callbacks }: Catalog): string {
  const sentences = [
    ...[...actions.values()].map(({ action: { name, reply } }) => ({ name, rows: reply })),
    ...callbacks.map(({ callback: { name, fields } }) => ({ name, rows: fields })),
  ].map(
    ({ name, rows }): Entry => [
      code(name),
      rows.flatMap((row) => (row.kind === 'message' ? row.sentences.map(describeSentence) : [])),
    ],
  )
  // The compiler does not know that there are no other keys.
  const byStatus = (Object.keys(messages) as MessageName[]).toSorted(
    (one, other) => errorTable[codeOf(one)].status - errorTable[codeOf(other)].status,
  )
  const byMeaning = Map.groupBy(byStatus, meaningOf)
  return `## Messages

Every success \`Message\`, by action or event. \`{…}\` is filled in.

${list(sentences.filter(([, texts]) => texts.length > 0))}
## Errors

Every error \`Message\`, by its meaning for the caller, with status and log code. A refusal by the service keeps
the service's status. *…* is the service's own message. \`SUPPORT_CONTACT\`, if set, replaces “the operator of this gateway”.

${Object.entries(MEANINGS)
  .map(([meaning, text]) => `**${text}**\n\n${list(errorRows(byMeaning.get(meaning) ?? []))}`)
  .join('\n')}
**Fields that cannot be translated.** One \`Message\` lists all of a call's problems, or, if that is too long,
fields with codes, or fields alone: \`{count} fields cannot be translated: {field} ({code}), …\`.

${list([
  ['`required`', ['{field} is required', '{fields} is required to name the {kind}']],
  ...[
    ...Object.entries(fieldProblems),
    ...[...actions.values()].flatMap(({ action }) =>
      (action.refuses ?? []).map(({ code: name, problem }) => [name, problem] as const),
    ),
    ...codecsOf(actions.values()).flatMap(({ name, problem }) =>
      problem === undefined ? [] : [[name, problem] as const],
    ),
  ].map(([name, problem]): Entry => [code(name), [`{field} ${problem}`]]),
])}
**Requests that are not valid HTTP.** The listener refuses requests that are incomplete, or that two servers could read differently, with
${[...new Set(Object.values(refusals).map(({ status }) => status))].join(', ')}. \`Message\` says why.
`
}

/** What a caller may get, and its messages. */
type Entry = readonly [name: string, texts: readonly string[]]

const list = (entries: readonly Entry[]) =>
  entries.map(([name, texts]) => `- ${name}: ${texts.join('<br>')}\n`).join('')

/** Returns the codecs of all requests, each once. */
function codecsOf(actions: Iterable<CompiledAction>): readonly Codec[] {
  const codecs = new Map<string, Codec>()
  for (const { action } of actions) {
    for (const row of action.request) {
      if (row.kind === 'move' || row.kind === 'split') codecs.set(row.codec.name, row.codec)
    }
  }
  return [...codecs.values()].sort((one, other) => one.name.localeCompare(other.name, 'en'))
}

/** What an error means for its caller: if the call booked or changed anything, and if it can be sent again. */
const MEANINGS: Readonly<Record<string, string>> = {
  'no, corrected': 'Nothing was booked or changed. Correct the call, then send it again.',
  'no, yes': 'Nothing was booked or changed. Send the call again.',
  'no, later':
    'Nothing was booked or changed. Wait as long as `Retry-After` says, or a few seconds. Then send the call again.',
  'no, no': 'Nothing was booked or changed. Do not send this call again.',
  'in progress': 'A booking is in progress.',
  already: 'An earlier booking stands.',
  'unknown, yes': 'The change may have been made. It is safe to send the call again.',
  'unknown, later': 'Wait for `Retry-After`, then send bookings again. After an approval, read the shipment first.',
  'unknown, no':
    'Something may have been booked or changed. Read the record or contact support before you send the call again.',
}

function meaningOf(name: MessageName): string {
  const [done, again] = adviceFor(name)
  const meaning = done === 'no' || done === 'unknown' ? `${done}, ${again}` : done
  if (!Object.hasOwn(MEANINGS, meaning)) throw new Error(`no words for the meaning of ${name}: ${meaning}`)
  return meaning
}

/** Returns an entry for each code, with its messages. */
const errorRows = (names: readonly MessageName[]) =>
  [...Map.groupBy(names, codeOf)].map(
    ([name, alike]): Entry => [`${errorTable[name].status} ${code(name)}`, alike.map((one) => shown(messages[one]))],
  )

/** Every name of a message begins with its code. */
const codeOf = (name: MessageName) => name.split('/')[0] as ErrorCode

const shown = (text: string) => text.replace('{serviceSays}', ' *…*')
