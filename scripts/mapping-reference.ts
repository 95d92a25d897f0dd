import { eventStatuses } from '../mappings/shipment-event.ts'
import { actionKey, type Catalog } from '../src/language/mapping/catalog.ts'
import type { Action, Callback, Requirement, Row } from '../src/language/mapping/declare.ts'
import { replyRow, requestRow } from './mapping-rows.ts'
import { code, codes, table } from './markdown.ts'

/** A table that stands above, by the rows that it has. */
type Above = Map<string, string>

/** Generates the reference of every action's translation from the declarations. */
export function mappingReference({ actions, callbacks }: Catalog): string {
  const declared = [...actions.values()].map(({ action }) => action)
  const above: Above = new Map()
  return `## Reference

A *fallback* fills a place when its field is absent. \`quote: …\` is a fact of the remembered quote. \`DEFAULT_…\` is your default, which a
dry run marks as assumed. See [What a number means](wire.md#what-a-number-means) for \`VinNo\` and the fields that name a quote or
shipment.

${declared.map((action) => describeAction(action, above)).join('\n')}
${callbacks.map(({ callback }) => describeCallback(callback, above)).join('\n')}
### Rules

A rule is a named codec. It decodes version 1 to version 2 and encodes version 2 to version 1. Rows without a rule go one way.

${rulesOf(declared)}
### vehicle_types

[lookups.json](lookups.json) has every built-in phrase, in the format of [\`LOOKUPS_FILE\`](configuration.md#lookups).
`
}

const anchor = (heading: string) => heading.toLowerCase().replaceAll('.', '').replaceAll(' ', '-')

function describeAction(action: Action, above: Above): string {
  const { name, verb, summary, legacy, service, target, givesNames, quoteNamedBy, requires = [], refuses = [] } = action
  const { request, remember, reply } = action
  const names =
    legacy.actionNames === 'any' ? 'any' : codes(legacy.actionNames) + (legacy.byDefault ? ', or absent' : '')
  const named = target?.namedBy ?? quoteNamedBy
  const facts = [
    ['Called as', legacy.paths.map((path) => `\`${legacy.method} ${path}\``).join(', ')],
    ['`ActionName`', names],
    ['Calls', `\`${service.method} ${service.path}\`${VERB_REMARKS[verb] ?? ''}`],
    ...(named ? [[`Names the ${target?.kind ?? 'quote'} by`, codes(named)]] : []),
    ...(givesNames ? [['Remembers it by', codes(givesNames)]] : []),
    ...requires.map((requirement) => ['Requires', describeRequirement(requirement)]),
    ...refuses.map(({ problem }) => ['Refuses', `a field that ${problem}`]),
  ]
  const asked = `Request of ${name}`
  const answered = `Reply of ${name}`
  return `### ${name}

${summary}

${facts.map(([fact, text]) => `- ${fact}: ${text}`).join('\n')}

#### ${asked}

${requestTables(request, asked, above)}
${remember ? `Remembered for a later booking:\n\n${requestTables(remember, asked, above, 'Fact')}\n` : ''}
#### ${answered}

${table(['Version 1', 'From version 2', 'Rule'], shortened(reply.flatMap(replyRow), answered, above))}
${onlyList('Not shown to version 1', reply, answered, above)}`
}

/** What an action does besides its one request. */
const VERB_REMARKS: Readonly<Partial<Record<Action['verb'], string>>> = {
  book: ', once; a repeated call is answered from the record',
  update: '; the gateway reads the shipment first, and sends all of it with the changes',
  cancel: '; it succeeds if the shipment is canceled already',
}

function describeCallback({ name, summary, events, fields }: Callback, above: Above): string {
  const statuses = Object.entries(eventStatuses).map(([event, status]) => `${code(status)} for ${code(event)}`)
  return `### ${name}

${summary} It applies to ${events === 'any' ? 'every event without its own callback' : codes(events)}. Numbers are the caller's own if the
gateway knows them; otherwise \`number\` is the service's id. A field of \`changes\` is sent only if the event says that it changed. \`status\` is
the changed status, or the event's: ${statuses.join(', ')}.

${table(['Version 1', 'From the event', 'Rule'], shortened(fields.flatMap(replyRow), name, above))}`
}

/** The fewest rows, and names in a cell, that are worth a reference to the table above that has them. */
const REPEATED = 4

/** So many names are all the fields of a quote or a booking, which tables have. */
const MANY = 20

/** Returns the rows of a table; several in a row that a reader knows from rows above become one, which refers to them. */
function shortened(
  rows: readonly (readonly string[])[],
  heading: string,
  above: Above,
): readonly (readonly string[])[] {
  const key = ([v1 = '', v2 = '', rule = '']: readonly string[]) =>
    [v1, v2.replaceAll('`changes.', '`'), rule.replace(', required', '')].join(' ')
  const own = new Set(rows.map(key))
  /** The words that can stand for the row, beside others with the same words. */
  const knownAs = (row: readonly string[]): string | undefined => {
    const [v1 = '', v2 = '', , fallback = ''] = row
    if (fallback !== '') return v1 === '' && fallback === `quote: \`${v2.split('.').at(-1)}` ? SAME_NAME : undefined
    const place = above.get(key(row))
    if (place !== undefined)
      return `as in [${place}](#${anchor(place)})${v2.startsWith('`changes.') ? BELOW_CHANGES : ''}`
    const atPickup = key(row).replaceAll('Delivery', 'Pickup').replaceAll('delivery.', 'pickup.')
    return atPickup !== key(row) && own.has(atPickup) ? AS_PICKUP : undefined
  }
  const found: (readonly string[])[] = []
  for (let at = 0; at < rows.length; ) {
    const words = knownAs(rows[at] ?? [])
    let end = at
    while (end < rows.length && words !== undefined && knownAs(rows[end] ?? []) === words) end += 1
    const [first, last] = [rows[at] ?? [], rows[end - 1] ?? []]
    if (words === undefined || end - at < REPEATED) {
      found.push(first)
      at += 1
      continue
    }
    found.push(
      words === SAME_NAME
        ? ['', `${first[1]} to ${last[1]}`, '', words]
        : [`${first[0]} to ${last[0]}`, words, ...first.slice(2).map(() => '')],
    )
    at = end
  }
  for (const row of rows) if (!above.has(key(row))) above.set(key(row), heading)
  return found
}

const BELOW_CHANGES = ', below `changes`'
const AS_PICKUP = 'the same fields below `delivery`'
const SAME_NAME = 'quote: the fact with that name'

function describeRequirement({ anyOf }: Requirement): string {
  return anyOf
    .map((alternative) =>
      'facts' in alternative
        ? `the quote's ${alternative.facts.map(code).join(' or ')}`
        : alternative.map(code).join(' with '),
    )
    .join(', or ')
}

function requestTables(rows: readonly Row[], heading: string, above: Above, target = 'Version 2'): string {
  const sent = shortened(rows.flatMap(requestRow), heading, above)
  const hasFallback = sent.some(([, , , fallback]) => fallback !== '')
  const columns = ['Version 1', target, 'Rule', ...(hasFallback ? ['Fallback'] : [])]
  const cells = sent.map((row) => row.slice(0, columns.length))
  const tables = [sent.length > 0 ? table(columns, cells) : '', onlyList('Left out', rows, heading, above)]
  return tables.filter(Boolean).join('\n')
}

/**
 * Lists the rows that are not translated, grouped by reason. A long list that stands above is not repeated, nor is a field that the
 * facts of the action name.
 */
function onlyList(title: string, rows: readonly Row[], heading: string, above: Above): string {
  const byWhy = new Map<string, string[]>()
  for (const row of rows) {
    if (row.kind !== 'v1Only' && row.kind !== 'v2Only') continue
    const name = row.kind === 'v2Only' ? row.v2 : row.v1
    if (name === 'ActionName') continue
    byWhy.set(row.why, [...(byWhy.get(row.why) ?? []), name])
  }
  if (byWhy.size === 0) return ''
  const earlier = new Set<string>()
  const lines = [...byWhy].flatMap(([why, names]) => {
    const all = codes(names)
    const whole = `${all}: ${why}`
    const same = above.get(whole)
    if (same === undefined) above.set(whole, heading)
    else {
      earlier.add(same)
      return []
    }
    const ends = `${code(names[0] ?? '')} to ${code(names.at(-1) ?? '')}`
    if (names.length >= MANY) return [`- ${ends} (${names.length} fields): ${why}`]
    const place = above.get(all)
    if (place === undefined) above.set(all, heading)
    const isLong = names.length >= REPEATED && place !== undefined
    return [`- ${isLong ? `${ends} ([list](#${anchor(place)}))` : all}: ${why}`]
  })
  for (const place of earlier) lines.push(`- other fields, as in [${place}](#${anchor(place)})`)
  return `${title}:\n\n${lines.join('\n')}\n`
}

function rulesOf(actions: readonly Action[]): string {
  const rules = new Map<string, string>()
  for (const row of actions.flatMap(({ request, remember = [], reply }) => [...request, ...remember, ...reply])) {
    if (row.kind === 'move' || row.kind === 'split') rules.set(row.codec.name, row.codec.summary)
    if (row.kind === 'join') rules.set(row.joiner.name, row.joiner.summary)
  }
  return [...rules]
    .sort(([one], [other]) => actionKey(one).localeCompare(actionKey(other), 'en'))
    .map(([name, summary]) => `- ${code(name)}: ${summary}\n`)
    .join('')
}
