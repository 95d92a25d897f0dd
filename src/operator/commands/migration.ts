import { readTenantNames } from '../../language/config/tenants-file.ts'
import { escapeControls } from '../../language/text/service-text.ts'
import { DAYS_SHOWN, type MigrationReport, readReport, type TenantReport } from '../reports/report.ts'
import { percent, type Verdict, verdictStates } from '../reports/verdict.ts'
import { problemsOf } from '../reports/work.ts'
import { plural, tenantName, total } from '../words.ts'
import { CommandFailed } from './failures.ts'
import { mappingsOf, storeConfig, withExistingStore } from './open-store.ts'
import { type Options, print, printJson } from './output.ts'

/** Reports from the store who still uses version 1; the gateway may run or not. */
export function report({ tenant, json }: Options<'json', 'tenant'>): Promise<number> {
  return withExistingStore(async (store) => {
    const config = storeConfig()
    const { TENANTS_FILE: file, V2_CLIENT_ID: id } = config
    const tenants = file !== undefined ? readTenantNames(file) : id === undefined ? [] : [id]
    const found = await readReport({ store, catalog: await mappingsOf(config), tenants }, tenant)
    if (tenant !== undefined && found.tenants.length === 0) throw new CommandFailed(`there is no tenant ${tenant}`)
    if (json) printJson(found, 2)
    else print(...markdownOf(found))
    return 0
  })
}

/** Writes a report as lines of Markdown. */
export function markdownOf(report: MigrationReport): readonly string[] {
  const { generatedAt, watchedSince, watchedDays, headline, verdict, tenants } = report
  const watched =
    watchedSince === undefined
      ? 'No gateway has counted a call yet.'
      : `Gateways have watched since ${watchedSince}, on ${plural(watchedDays, 'day')}.`
  return [
    '# Can version 1 be switched off?',
    '',
    ...(headline === undefined ? [] : [`**${text(headline)}**`, '']),
    `${watched} As of ${generatedAt}.`,
    '',
    ...verdictLines(verdict),
    '## Tenants',
    '',
    ...table(
      ['Tenant', 'Verdict', 'Last version-1 call', `Version 1, ${DAYS_SHOWN} days`, 'Version 2', 'Blocking'],
      tenants.map(({ tenant, verdict: own, lastVersion1 = 'none', use, ...rest }) => [
        tenantName(tenant),
        verdictStates[own.state],
        lastVersion1,
        total(use, 'version1'),
        total(use, 'version2'),
        problemsOf(rest).length,
      ]),
    ),
    ...tenants.flatMap(tenantLines),
  ]
}

function tenantLines(report: TenantReport): readonly string[] {
  const { tenant, verdict, weeklyShares, work, actions, errors, unknownFields, agents, networks } = report
  const shares = weeklyShares.map((share) => (share === null ? 'no calls' : percent(share))).join(', ')
  return [
    `## ${text(tenantName(tenant))}`,
    '',
    ...verdictLines(verdict),
    `Share of version 2 in each of the last four weeks: ${shares}.`,
    '',
    ...section(
      'Remaining work',
      ['Kind', 'Action', 'Name', 'Blocks', 'Version 2', 'Note', 'Count'],
      work.map(({ kind, action, name, blocks = '', equivalents, note, count }) => [
        kind,
        action,
        name || OTHERS,
        blocks,
        equivalents.join(', '),
        note,
        count,
      ]),
    ),
    ...section(
      'Actions',
      ['Action', 'Calls', 'Replayed', 'Failed', "Callers' mistakes"],
      actions.map(({ action, ...item }) => [
        action || 'not recognized',
        item.calls,
        item.replayed,
        item.failed,
        item.mistakes,
      ]),
    ),
    ...section(
      'Errors',
      ['Error', 'Count', 'Last seen', 'Request id of the last one'],
      errors.map(({ name, count, last, requestId }) => [name, count, last, requestId]),
    ),
    ...Object.entries({ 'Unknown fields': unknownFields, 'User agents': agents, Networks: networks }).flatMap(
      ([title, of]) =>
        section(
          title,
          ['Name', 'Count', 'First seen', 'Last seen'],
          of.map(({ name, count, first, last }) => [name || OTHERS, count, first, last]),
        ),
    ),
  ]
}

const OTHERS = 'all others'

const verdictLines = ({ state, since, reasons }: Verdict): readonly string[] => [
  `**${verdictStates[state]}**${since === undefined ? '' : ` since ${since}`}`,
  '',
  ...reasons.flatMap((reason) => [text(reason), '']),
]

type Rows = readonly (readonly (string | number)[])[]

const section = (title: string, head: readonly string[], rows: Rows): readonly string[] =>
  rows.length === 0 ? [] : [`### ${title}`, '', ...table(head, rows)]

function table(head: readonly string[], rows: Rows): readonly string[] {
  const line = (cells: Rows[number]) => `| ${cells.map((cell) => text(String(cell))).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line), '']
}

/** The characters that Markdown, or the HTML in it, would obey. Braces, and a `_` within a word, are plain text. */
const MARKUP = /[\\`*[\]<>#|~&]|(?<!\w)_|_(?!\w)/g
const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;' }

/** Returns text as Markdown shows it. */
const text = (value: string): string =>
  escapeControls(value).replace(MARKUP, (found) => ENTITIES[found] ?? `\\${found}`)
