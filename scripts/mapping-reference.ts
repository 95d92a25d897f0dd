import { tables } from '../mappings/index.ts'
import { eventStatuses } from '../mappings/shipment-event.ts'
import { actionKey, type Catalog } from '../src/mapping/catalog.ts'
import type { Action, Callback, Requirement, Row } from '../src/mapping/declare.ts'
import { type Keeps, keepsText } from '../src/mapping/keeps.ts'
import { keepsOf } from '../src/mapping/row-keeps.ts'
import { CLASS_NAMES, replyRow, requestRow } from './mapping-rows.ts'
import { code, codes, table } from './table.ts'

/** Generates the reference of every action's translation from the declarations. */
export function mappingReference({ actions, callbacks }: Catalog): string {
  const declared = [...actions.values()].map(({ action }) => action)
  return `# Mapping reference

\`npm run docs\` generates this page from the modules in \`mappings/\`; do not edit it. [Writing a mapping](writing-a-mapping.md) explains
such modules.

In a request's table, *Fallback* fills a place when its field is absent: \`quote: …\` is a fact of the remembered quote,
\`DEFAULT_…\` is the operator's default, which a dry run marks as assumed.

${declared.map(({ name, summary }) => `- [\`${name}\`](#${anchor(name)}): ${summary}`).join('\n')}
${callbacks.map(({ callback: { name, summary } }) => `- [\`${name}\`](#${anchor(name)}): ${summary}`).join('\n')}
- [Round trips](#round-trips)
- [Rules](#rules)
- [Lookup tables](#lookup-tables)

${declared.map(describeAction).join('\n')}
${callbacks.map(({ callback }) => describeCallback(callback)).join('\n')}
## Round trips

The *Keeps* of a row says what is left of a value that goes from version 1 to version 2 and comes back, or the other way
around. Laws check it over generated values (\`test/mapping/keeps.laws.test.ts\`). All rows, also those that are left out:

${table(['Keeps', 'Meaning', 'Rows'], classesOf(declared, callbacks))}
## Rules

A rule is a named codec: it decodes version 1 to version 2 and encodes version 2 to version 1.

${table(['Rule', 'What it does', 'Its round trip keeps'], rulesOf(declared))}
## Lookup tables

\`LOOKUPS_FILE\` extends these tables (see [Configuration](configuration.md)). A whole value is looked up without regard to case,
and \`_\`, \`-\` and blanks are the same; in free text, the phrase of most words wins.

${Object.entries(tables).map(lookupTable).join('\n')}`
}

const anchor = (name: string) => name.replace('.', '')

function describeAction(action: Action): string {
  const { name, summary, legacy, service, target, xrefRecord, quoteNamedBy, requires, request, remember, reply } =
    action
  const names =
    legacy.actionNames === 'any' ? 'any' : codes(legacy.actionNames) + (legacy.byDefault ? ', or absent' : '')
  const facts = [
    ['Called as', legacy.paths.map((path) => `\`${legacy.method} ${path}\``).join(', ')],
    ['`ActionName`', names],
    ['Calls', describeCall(service)],
    ...(target
      ? [
          [
            `Names the ${target.kind} by`,
            codes(target.namedBy) +
              (target.disambiguateBy ? `; \`${target.disambiguateBy}\` chooses among several` : ''),
          ],
        ]
      : []),
    ...(quoteNamedBy && !target ? [['Names a quote by', codes(quoteNamedBy)]] : []),
    ...(xrefRecord
      ? [
          [
            'Records',
            `the reply's \`${xrefRecord.id}\` as a ${xrefRecord.kind}, under ${codes([...xrefRecord.names, ...(xrefRecord.replyNames ?? [])])}`,
          ],
        ]
      : []),
    ...(requires ?? []).map((requirement) => ['Requires', describeRequirement(requirement)]),
  ]
  return `## ${name}

${summary}

${table(['', ''], facts)}
### Request of ${name}

${requestTables(request)}${remember ? `\nRemembered for a later booking:\n\n${requestTables(remember, 'Fact')}` : ''}
### Reply of ${name}

${table(['Version 1', 'From version 2', 'Rule', 'Keeps'], reply.flatMap(replyRow))}
${onlyTable('Not shown to version 1', reply)}`
}

function describeCallback({ name, summary, events, fields }: Callback): string {
  const statuses = Object.entries(eventStatuses).map(([event, status]) => [code(event), code(status)])
  return `## ${name}

${summary} It is for ${events === 'any' ? 'every event that no other callback names' : codes(events)}. The numbers are the caller's own where the
gateway knows them, \`number\` is else the id of the service. A field of \`changes\` is sent only where the event says that it has
changed; \`status\` is the changed status, else that of the event.

${table(['Version 1', 'From the event', 'Rule', 'Keeps'], fields.flatMap(replyRow))}
${table(['Event', 'Status'], statuses)}`
}

function describeCall({ method, path, mergeInto, notIdempotent, doneWhenStatus }: Action['service']): string {
  const remarks = [
    mergeInto === 'current' && 'merged into what the service has now, which is read first',
    notIdempotent && 'sent once; a repeated call is answered from the record',
    doneWhenStatus && `a refusal counts as success when the status is \`${doneWhenStatus}\` already`,
  ].filter((remark) => typeof remark === 'string')
  return [`\`${method} ${path}\``, ...remarks].join('; ')
}

function describeRequirement({ anyOf }: Requirement): string {
  return anyOf
    .map((alternative) =>
      'facts' in alternative
        ? `the quote's ${alternative.facts.map(code).join(' or ')}`
        : alternative.map(code).join(' with '),
    )
    .join(', or ')
}

function requestTables(rows: readonly Row[], target = 'Version 2'): string {
  const sent = rows.flatMap(requestRow)
  const left = onlyTable('Left out', rows)
  return [sent.length > 0 ? table(['Version 1', target, 'Rule', 'Fallback', 'Keeps'], sent) : '', left]
    .filter(Boolean)
    .join('\n')
}

/** Lists the rows that are not translated, grouped by reason. */
function onlyTable(title: string, rows: readonly Row[]): string {
  const byWhy = new Map<string, string[]>()
  for (const row of rows) {
    if (row.kind !== 'v1Only' && row.kind !== 'v2Only' && row.kind !== 'ref') continue
    const name = row.kind === 'v2Only' ? row.v2 : row.v1
    byWhy.set(row.why, [...(byWhy.get(row.why) ?? []), name])
  }
  if (byWhy.size === 0) return ''
  return table(
    [title, 'Why'],
    [...byWhy].map(([why, names]) => [codes(names), why]),
  )
}

function rulesOf(actions: readonly Action[]): readonly (readonly string[])[] {
  const rules = new Map<string, readonly [summary: string, keeps: string]>()
  for (const row of actions.flatMap(({ request, remember = [], reply }) => [...request, ...remember, ...reply])) {
    if (row.kind === 'move' || row.kind === 'split')
      rules.set(row.codec.name, [row.codec.summary, toldBy(row.codec.keeps)])
    if (row.kind === 'join') rules.set(row.joiner.name, [row.joiner.summary, toldBy(row.joiner.keeps)])
  }
  return [...rules]
    .sort(([one], [other]) => actionKey(one).localeCompare(actionKey(other), 'en'))
    .map(([name, told]) => [code(name), ...told])
}

const toldBy = (keeps: Keeps | undefined) => (keeps ? keepsText(keeps) : '')

const MEANINGS = {
  exact: 'the same text comes back',
  canonical: 'the same value comes back, in one form',
  lossy: 'a part does not come back',
  oneWay: 'the row works in one direction only',
} as const

/** Counts the rows of each class. */
function classesOf(actions: readonly Action[], callbacks: Catalog['callbacks']): readonly (readonly string[])[] {
  const rows = [
    ...actions.flatMap(({ request, remember = [], reply }) => [...request, ...remember, ...reply]),
    ...callbacks.flatMap(({ callback }) => callback.fields),
  ]
  return (['exact', 'canonical', 'lossy', 'oneWay'] as const).map((name) => {
    const count = rows.filter((row) => keepsOf(row)?.class === name).length
    return [CLASS_NAMES[name], MEANINGS[name], String(count)]
  })
}

function lookupTable([name, phrases]: readonly [string, Readonly<Record<string, string>>]): string {
  const byValue = Map.groupBy(Object.entries(phrases), ([, value]) => value)
  const rows = [...byValue].map(([value, entries]) => [code(value), entries.map(([phrase]) => phrase).join(', ')])
  return `### ${name}\n\n${table(['Version 2', 'Words of version 1'], rows)}`
}
