import { refusals } from '../src/edge/refusals.ts'
import { adviceFor, errorTable } from '../src/language/errors.ts'
import type { Catalog } from '../src/language/mapping/catalog.ts'
import type { Codec } from '../src/language/mapping/codec.ts'
import type { CompiledAction } from '../src/language/mapping/compile.ts'
import { fieldProblems } from '../src/language/mapping/fields.ts'
import { type MessageName, messages } from '../src/language/messages.ts'
import { describeSentence } from './mapping-rows.ts'
import { code, table } from './table.ts'

/** Returns the tables of every `Message` that a version-1 caller can get, from the code's own declarations. */
export function messageParts({ actions, callbacks }: Catalog): Readonly<Record<string, string>> {
  const declared = [...actions.values()].map(({ action }) => action)
  const sentences = [
    ...declared.map(({ name, reply }) => ({ name, rows: reply })),
    ...callbacks.map(({ callback: { name, fields } }) => ({ name, rows: fields })),
  ].map(({ name, rows }) => [
    code(name),
    rows.flatMap((row) => (row.kind === 'message' ? row.sentences.map(describeSentence) : [])).join('<br>'),
  ])
  const byCode = Map.groupBy(Object.keys(messages).filter(isMessage), codeOf)
  const byStatus = [...byCode].toSorted(([one], [other]) => errorTable[one].status - errorTable[other].status)
  const problems = [
    ...Object.entries(fieldProblems),
    ...declared.flatMap(({ refuses = [] }) => refuses.map(({ code, problem }) => [code, problem])),
    ...codecsOf(actions.values()).flatMap(({ name, problem }) => (problem === undefined ? [] : [[name, problem]])),
  ].map(([name = '', problem]) => [code(name), `{field} ${problem}`])
  const required = [code('required'), '{field} is required<br>{fields} is required to name the {kind}']
  return {
    successes: table(
      ['Action or event', 'Message'],
      sentences.filter(([, text]) => text !== ''),
    ),
    errors: table(['Status', 'Code', 'Message', 'Booked?', 'Resend?', 'Do'], byStatus.flatMap(errorRows)),
    fields: table(['Code', 'Problem'], [required, ...problems]),
    refusals: table(
      ['Status', 'Message'],
      Object.values(refusals).map(({ status, message }) => [String(status), message]),
    ),
  }
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

/** Returns the lines of a code: one for messages that mean the same to the caller. */
function errorRows([code, names]: readonly [keyof typeof errorTable, readonly MessageName[]]) {
  return [...Map.groupBy(names, (name) => adviceFor(name).join()).values()].map((alike) => [
    String(errorTable[code].status),
    `\`${code}\``,
    alike.map((name) => shown(messages[name])).join('<br>'),
    ...alike.slice(0, 1).flatMap(adviceFor),
  ])
}

const isMessage = (name: string): name is MessageName => Object.hasOwn(messages, name)
const isCode = (name: string): name is keyof typeof errorTable => Object.hasOwn(errorTable, name)

function codeOf(name: MessageName): keyof typeof errorTable {
  const [code = ''] = name.split('/')
  if (!isCode(code)) throw new Error(`the message ${name} has no error code`)
  return code
}

const shown = (text: string) => text.replace('{serviceSays}', ' *The service says: …*')
