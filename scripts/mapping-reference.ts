import { tables } from '../mappings/index.ts'
import { eventStatuses } from '../mappings/shipment-event.ts'
import { actionKey, type Catalog } from '../src/language/mapping/catalog.ts'
import type { Action, Callback, Requirement, Row } from '../src/language/mapping/declare.ts'
import { type Keeps, keepsText } from '../src/language/mapping/keeps.ts'
import { replyRow, requestRow } from './mapping-rows.ts'
import { code, codes, table } from './table.ts'

/** A table that stands above, by the rows that it has. */
type Above = Map<string, string>

/** Generates the reference of every action's translation from the declarations. */
export function mappingReference({ actions, callbacks }: Catalog): string {
  const declared = [...actions.values()].map(({ action }) => action)
  const above: Above = new Map()
  return `## Reference

\`npm run docs\` writes this part from the modules in \`mappings/\`. In a request's table, *Fallback* fills a place when its field is absent: \`quote: …\` is a
fact of the remembered quote, \`DEFAULT_…\` is the operator's default, which a dry run marks as assumed.

${declared.map((action) => describeAction(action, above)).join('\n')}
${callbacks.map(({ callback }) => describeCallback(callback, above)).join('\n')}
### Rules

A rule is a named codec: it decodes version 1 to version 2 and encodes version 2 to version 1. Laws check what a round trip keeps: the same text (exact), the same
value in one form (canonical), or all but a part (lossy). Rows without a rule go one way.

${table(['Rule', 'What it does', 'A round trip keeps'], rulesOf(declared))}
### Lookup tables

\`LOOKUPS_FILE\` extends these tables (see [Lookups](#lookups)).

${Object.entries(tables).map(lookupTable).join('\n')}`
}

const anchor = (heading: string) => heading.toLowerCase().replaceAll('.', '').replaceAll(' ', '-')

/** Parts of the calls of an action that the interface document never shows. */
const NOT_SHOWN: Readonly<Record<string, string>> = {
  'quote.get': 'the words of the commodity codes; `BillTo…` as the customer of the booking',
  'quote.update': 'the words of `ActionName`, and all fields of the request',
  'quote.approve': 'the words of `ActionName`, and all fields of the request and the answer',
  'shipment.create': '`ReferenceNumber` as the number of a quote; `EquipmentType`, commodity codes and `LoadReference`',
  'shipment.get': 'all fields of the request and the answer',
  'shipment.update': 'all fields of the request and the answer',
  'shipment.cancel': 'all fields of the request and the answer',
}

function describeAction(action: Action, above: Above): string {
  const {
    name,
    verb,
    summary,
    legacy,
    service,
    target,
    givesNames,
    quoteNamedBy,
    requires,
    refuses,
    request,
    remember,
    reply,
  } = action
  const names =
    legacy.actionNames === 'any' ? 'any' : codes(legacy.actionNames) + (legacy.byDefault ? ', or absent' : '')
  const facts = [
    ['Called as', legacy.paths.map((path) => `\`${legacy.method} ${path}\``).join(', ')],
    ['`ActionName`', names],
    ['Calls', `\`${service.method} ${service.path}\`; ${AS_A[verb]}`],
    ...(target ? [[`Names the ${target.kind} by`, codes(target.namedBy)]] : []),
    ...(quoteNamedBy && !target ? [['Names a quote by', codes(quoteNamedBy)]] : []),
    ...(givesNames ? [['Gives the names', codes(givesNames)]] : []),
    ...(requires ?? []).map((requirement) => ['Requires', describeRequirement(requirement)]),
    ...(refuses ?? []).map(({ problem }) => ['Refuses', `a field that ${problem}`]),
    ...(NOT_SHOWN[name] === undefined ? [] : [['Rests on [assumptions](migration.md#not-tried)', NOT_SHOWN[name]]]),
  ]
  const tableNamed = (heading: string, ...tables: readonly string[]) =>
    `#### ${heading}\n\n${tables.filter(Boolean).join('\n')}`
  const asked = `Request of ${name}`
  const answered = `Reply of ${name}`
  return `### ${name}

${summary}

${table(['', ''], facts)}
${tableNamed(asked, ...requestTables(request, asked, above))}
${remember ? `Remembered for a later booking:\n\n${requestTables(remember, asked, above, 'Fact').filter(Boolean).join('\n')}\n` : ''}
${tableNamed(
  answered,
  table(['Version 1', 'From version 2', 'Rule'], shortened(reply.flatMap(replyRow), answered, above)),
  onlyTable('Not shown to version 1', reply, answered, above),
)}`
}

function describeCallback({ name, summary, events, fields }: Callback, above: Above): string {
  const statuses = Object.entries(eventStatuses).map(([event, status]) => `${code(status)} for ${code(event)}`)
  return `### ${name}

${summary} It is for ${events === 'any' ? 'every event that no other callback names' : codes(events)}. The numbers are the caller's own where the
gateway knows them, \`number\` is else the id of the service. A field of \`changes\` is sent only where the event says that it has
changed; \`status\` is the changed status, else that of the event: ${statuses.join(', ')}.

${table(['Version 1', 'From the event', 'Rule'], shortened(fields.flatMap(replyRow), name, above))}`
}

/** The fewest rows, and names in a cell, that are worth a reference to the table above that has them. */
const REPEATED = 4

/** Returns the rows of a table; several in a row that another table has above become one, which refers to it. */
function shortened(
  rows: readonly (readonly string[])[],
  heading: string,
  above: Above,
): readonly (readonly string[])[] {
  const key = ([v1 = '', v2 = '', rule = '']: readonly string[]) =>
    [v1, v2.replaceAll('`changes.', '`'), rule.replace(', required', '')].join(' ')
  // A fallback is a row's own.
  const placeOf = (row: readonly string[]) => (row[3] ? undefined : above.get(key(row)))
  const found: (readonly string[])[] = []
  for (let at = 0; at < rows.length; ) {
    const place = placeOf(rows[at] ?? [])
    let end = at
    while (end < rows.length && place !== undefined && placeOf(rows[end] ?? []) === place) end += 1
    const [first, last] = [rows[at] ?? [], rows[end - 1] ?? []]
    if (place !== undefined && end - at >= REPEATED) {
      const below = first[1]?.startsWith('`changes.') ? ', below `changes`' : ''
      found.push([
        `${first[0]} to ${last[0]}`,
        `as in the table [${place}](#${anchor(place)})${below}`,
        ...first.slice(2).map((_, i) => (i === 1 ? 'none' : '')),
      ])
      at = end
    } else {
      found.push(first)
      at += 1
    }
  }
  for (const row of rows) if (!above.has(key(row))) above.set(key(row), heading)
  return found
}

/** What the gateway does beside the request. */
const AS_A: Readonly<Record<Action['verb'], string>> = {
  quote: 'what it was asked with is remembered for a booking',
  approve: 'not sent where the quote is booked already',
  book: 'sent once; a repeated call is answered from the record',
  read: 'the vehicle that `VinNo` chooses is shown',
  update: 'merged into what the service has now, which is read first',
  cancel: 'believed after a read; a refusal counts as success when the shipment is canceled already',
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

function requestTables(rows: readonly Row[], heading: string, above: Above, target = 'Version 2'): readonly string[] {
  const sent = shortened(rows.flatMap(requestRow), heading, above)
  return [
    sent.length > 0 ? table(['Version 1', target, 'Rule', 'Fallback'], sent) : '',
    onlyTable('Left out', rows, heading, above),
  ]
}

/** Lists the rows that are not translated, grouped by reason. A long list that stands above is not repeated. */
function onlyTable(title: string, rows: readonly Row[], heading: string, above: Above): string {
  const byWhy = new Map<string, string[]>()
  for (const row of rows) {
    if (row.kind !== 'v1Only' && row.kind !== 'v2Only' && row.kind !== 'ref') continue
    const name = row.kind === 'v2Only' ? row.v2 : row.v1
    byWhy.set(row.why, [...(byWhy.get(row.why) ?? []), name])
  }
  if (byWhy.size === 0) return ''
  const lines = [...byWhy].map(([why, names]) => {
    const all = codes(names)
    const place = above.get(all)
    if (place === undefined) above.set(all, heading)
    const isLong = names.length >= REPEATED && place !== undefined
    return [
      isLong ? `${code(names[0] ?? '')} to ${code(names.at(-1) ?? '')}, as in [${place}](#${anchor(place)})` : all,
      why,
    ]
  })
  return table([title, 'Why'], lines)
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

function lookupTable([name, phrases]: readonly [string, Readonly<Record<string, string>>]): string {
  const byValue = Map.groupBy(Object.entries(phrases), ([, value]) => value)
  const rows = [...byValue].map(([value, entries]) => [code(value), entries.map(([phrase]) => phrase).join(', ')])
  return `### ${name}\n\n${table(['Version 2', 'Words of version 1'], rows)}`
}
