import { tables } from '../mappings/index.ts'
import { actionKey, type Catalog } from '../src/mapping/catalog.ts'
import type { Action, Fallback, Need, Row, Sentence } from '../src/mapping/declare.ts'
import { codes, table } from './table.ts'

/** What every action translates to what, from the declarations themselves. */
export function mappingReference({ actions }: Catalog): string {
  const declared = [...actions.values()].map(({ action }) => action)
  return `# Mapping reference

Generated from the modules in \`mappings/\` by \`npm run docs\`: do not edit. How to read and write such modules is told in
[Writing a mapping](writing-a-mapping.md).

In a table of a request, *otherwise* says what stands in for a field that was not sent: \`quote: …\` is a fact of the
quote that the caller asked for earlier, \`DEFAULT_…\` the operator's default, which a dry run marks as assumed.

${declared.map(({ name, summary }) => `- [\`${name}\`](#${anchor(name)}): ${summary}`).join('\n')}
- [Rules](#rules)
- [Lookup tables](#lookup-tables)

${declared.map(actionInWords).join('\n')}
## Rules

Every rule is one named codec. It decodes version 1 to version 2 and encodes back.

${table(['Rule', 'What it does'], rulesOf(declared))}
## Lookup tables

The operator extends these with \`LOOKUPS_FILE\` (see [Configuration](configuration.md)). A whole code is looked up without
regard to case, and \`_\`, \`-\` and blanks are the same; in free text the phrase of most words wins.

${Object.entries(tables).map(lookupTable).join('\n')}`
}

const anchor = (name: string) => name.replace('.', '')

function actionInWords(action: Action): string {
  const { name, summary, legacy, service, finds, keeps, recalls, needs, request, remember, reply } = action
  const names =
    legacy.actionNames === 'any' ? 'any' : codes(legacy.actionNames) + (legacy.byDefault ? ', or absent' : '')
  const facts = [
    ['Called as', legacy.paths.map((path) => `\`${legacy.method} ${path}\``).join(', ')],
    ['`ActionName`', names],
    ['Calls', callInWords(service)],
    ...(finds
      ? [
          [
            `Names the ${finds.kind} by`,
            codes(finds.by) + (finds.disambiguateBy ? `; \`${finds.disambiguateBy}\` chooses among several` : ''),
          ],
        ]
      : []),
    ...(recalls && !finds ? [['Recalls a quote by', codes(recalls)]] : []),
    ...(keeps
      ? [
          [
            'Keeps',
            `the reply's \`${keeps.id}\` as a ${keeps.kind}, under ${codes([...keeps.names, ...(keeps.replyNames ?? [])])}`,
          ],
        ]
      : []),
    ...(needs ?? []).map((need) => ['Needs', needInWords(need)]),
  ]
  return `## ${name}

${summary}

${table(['', ''], facts)}
### Request of ${name}

${requestTables(request)}${remember ? `\nRemembered for a later booking:\n\n${requestTables(remember, 'Fact')}` : ''}
### Reply of ${name}

${table(['Version 1', 'From version 2', 'Rule'], reply.flatMap(replyRow))}
${onlyTable('Not shown to version 1', reply)}`
}

function callInWords({ method, path, mergeInto, notIdempotent, doneWhenStatus }: Action['service']): string {
  const remarks = [
    mergeInto === 'current' && 'laid over what the service has now, which is read first',
    notIdempotent && 'sent once: a repeated call is answered from the record',
    doneWhenStatus && `refused because it is \`${doneWhenStatus}\` already: a success`,
  ].filter((remark) => typeof remark === 'string')
  return [`\`${method} ${path}\``, ...remarks].join('; ')
}

function needInWords({ anyOf }: Need): string {
  return anyOf
    .map((alternative) =>
      'fact' in alternative
        ? `the quote's \`${alternative.fact}\``
        : alternative.fields.map((field) => `\`${field}\``).join(' with '),
    )
    .join(', or ')
}

function requestTables(rows: readonly Row[], target = 'Version 2'): string {
  const sent = rows.flatMap(requestRow)
  const left = onlyTable('Left out', rows)
  return [sent.length > 0 ? table(['Version 1', target, 'Rule', 'Otherwise'], sent) : '', left]
    .filter(Boolean)
    .join('\n')
}

function requestRow(row: Row): readonly (readonly string[])[] {
  switch (row.kind) {
    case 'move':
      return [[code(row.v1), code(row.v2), rule(row.codec.name), row.required ? 'required' : otherwise(row.otherwise)]]
    case 'split':
      return [[code(row.v1), codes(Object.values(row.v2)), rule(row.codec.name), '']]
    case 'join':
      return [[row.v1.map(code).join(' and '), code(row.v2), rule(row.joint.name), '']]
    case 'lookup': {
      const sources = row.sources.map(({ v1, by }) => (by === 'words' ? `words of ${code(v1)}` : code(v1)))
      return [
        [sources.join(', else '), code(row.v2), `the table [${row.table}](#${row.table})`, otherwise(row.otherwise)],
      ]
    }
    case 'recall':
      return [['', code(row.v2), row.when ? `only with ${code(row.when.toUpperCase())}` : '', otherwise(row.otherwise)]]
    case 'ref':
    case 'v1Only':
    case 'v2Only':
    case 'ownNumber':
    case 'fixed':
    case 'choose':
    case 'say':
      return []
    default:
      return row satisfies never
  }
}

function replyRow(row: Row): readonly (readonly string[])[] {
  switch (row.kind) {
    case 'move':
      return [[code(row.v1), code(row.v2), rule(row.codec.name) + (row.required ? ', required' : '')]]
    case 'split':
      return [[code(row.v1), codes(Object.values(row.v2)), rule(row.codec.name)]]
    case 'join':
      return [[row.v1.map(code).join(' and '), code(row.v2), rule(row.joint.name)]]
    case 'ownNumber':
      return [[code(row.v1), code(row.v2), "the caller's own number, else this"]]
    case 'fixed':
      return [[code(row.v1), '', `always ${code(row.value)}`]]
    case 'choose': {
      const cases = Object.entries(row.cases).map(([value, said]) => `${code(said)} for ${code(value)}`)
      return [[code(row.v1), code(row.v2), `${cases.join(', ')}, else ${code(row.otherwise)}`]]
    }
    case 'say':
      return [[code(row.v1), '', row.sentences.map(sentenceText).join('<br>')]]
    case 'v1Only':
    case 'v2Only':
    case 'ref':
    case 'lookup':
    case 'recall':
      return []
    default:
      return row satisfies never
  }
}

/** Returns a sentence of a reply with its condition. */
export function sentenceText({ text, when }: Sentence): string {
  const said = `“${text}”`
  if (!when) return said
  const conditions = { has: 'with', lacks: 'without', several: 'with several' }
  return `${said} ${conditions[when.is]} ${code(when.v2)}`
}

/** The rows that lead nowhere, those of one reason together. */
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

function otherwise(fallbacks: readonly Fallback[]): string {
  return fallbacks
    .map((fallback) =>
      fallback.kind === 'remembered'
        ? `quote: ${fallback.facts.map(code).join(' or ')}`
        : code(`DEFAULT_${fallback.setting.toUpperCase()}`),
    )
    .join(', else ')
}

function rulesOf(actions: readonly Action[]): readonly (readonly string[])[] {
  const rules = new Map<string, string>()
  for (const row of actions.flatMap(({ request, remember = [], reply }) => [...request, ...remember, ...reply])) {
    if (row.kind === 'move' || row.kind === 'split') rules.set(row.codec.name, row.codec.summary)
    if (row.kind === 'join') rules.set(row.joint.name, row.joint.summary)
  }
  return [...rules]
    .sort(([one], [other]) => actionKey(one).localeCompare(actionKey(other), 'en'))
    .map(([name, summary]) => [code(name), summary])
}

function lookupTable([name, phrases]: readonly [string, Readonly<Record<string, string>>]): string {
  const byValue = Map.groupBy(Object.entries(phrases), ([, value]) => value)
  const rows = [...byValue].map(([value, entries]) => [code(value), entries.map(([phrase]) => phrase).join(', ')])
  return `### ${name}\n\n${table(['Version 2', 'Words of version 1'], rows)}`
}

const code = (word: string) => `\`${word}\``

const rule = (name: string) => `[${name}](#rules)`
