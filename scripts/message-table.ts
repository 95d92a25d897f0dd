import { refusals } from '../src/edge/refusals.ts'
import { errorTable } from '../src/language/errors.ts'
import type { Catalog } from '../src/language/mapping/catalog.ts'
import type { Codec } from '../src/language/mapping/codec.ts'
import type { CompiledAction } from '../src/language/mapping/compile.ts'
import { fieldProblems } from '../src/language/mapping/fields.ts'
import { messages } from '../src/language/messages.ts'
import { describeSentence } from './mapping-rows.ts'
import { table } from './table.ts'

/** Returns the part about every `Message` that a version-1 caller can get, from the code's own declarations. */
export function messagePart({ actions, callbacks }: Catalog): string {
  const sentences = [
    ...[...actions.values()].map(({ action: { name, reply } }) => ({ name, rows: reply })),
    ...callbacks.map(({ callback: { name, fields } }) => ({ name, rows: fields })),
  ].map(({ name, rows }) => [
    `\`${name}\``,
    rows.flatMap((row) => (row.kind === 'message' ? row.sentences.map(describeSentence) : [])).join('<br>'),
  ])
  const byCode = Map.groupBy(Object.entries(messages), ([name]) => codeOf(name))
  return `## Messages

Every \`Message\` that a version-1 caller can get: one line of at most 500 characters. \`npm run docs\` writes this part from the code. Words in
braces are filled in; *The service says: …* follows where the service's reply has a message of its own.

${table(
  ['Action or event', 'Message'],
  sentences.filter(([, text]) => text !== ''),
)}
## Errors

The code stands in the log line of the call. Where the service refused a call, the status is the service's own.

${table(
  ['Status', 'Code', 'Message'],
  [...byCode].map(([code, texts]) => [
    String(errorTable[code].status),
    `\`${code}\``,
    texts.map(([, text]) => shown(text)).join('<br>'),
  ]),
)}
**Fields that cannot be translated.** All problems of a call stand in one \`Message\` (\`untranslatable\`), separated by semicolons. Where they are too
long for that, it lists each field with the code: \`{count} fields cannot be translated: {field} ({code}), …\`.

${table(
  ['Code', 'Problem'],
  [
    ['`required`', '{field} is required<br>{fields} is required to name the {kind}'],
    ...Object.entries(fieldProblems).map(([code, problem]) => [`\`${code}\``, `{field} ${problem}`]),
    ...[...actions.values()].flatMap(({ action }) =>
      (action.refuses ?? []).map(({ code, problem }) => [`\`${code}\``, `{field} ${problem}`]),
    ),
    ...codecsOf(actions.values()).flatMap(({ name, problem }) =>
      problem === undefined ? [] : [[`\`${name}\``, `{field} ${problem}`]],
    ),
  ],
)}
**Requests that no route sees.** The listener refuses requests that servers could read differently, and those that do not arrive whole, in the shape of
their path where it is known.

${table(
  ['Status', 'Message'],
  Object.values(refusals).map(({ status, message }) => [String(status), message]),
)}`
}

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

const isCode = (name: string): name is keyof typeof errorTable => Object.hasOwn(errorTable, name)

function codeOf(name: string): keyof typeof errorTable {
  const [code = ''] = name.split('/')
  if (!isCode(code)) throw new Error(`the message ${name} has no error code`)
  return code
}

const shown = (text: string) => text.replace('{serviceSays}', ' *The service says: …*')
