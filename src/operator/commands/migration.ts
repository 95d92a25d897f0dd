import { loadMappings } from '../../../mappings/load.ts'
import { readConfig } from '../../language/config/config.ts'
import { readTenantNames } from '../../language/config/tenants-file.ts'
import { escapeControls } from '../../language/text/service-text.ts'
import { NO_NAME } from '../../state/uses/counts.ts'
import {
  DAYS_SHOWN,
  type MigrationReport,
  percent,
  readReport,
  type TenantReport,
  total,
  type Verdict,
  verdictStates,
} from '../reports/report.ts'
import { plural } from '../words.ts'
import { CommandFailed } from './failures.ts'
import { withExistingStore, withoutService } from './open-store.ts'
import { print, printJson } from './output.ts'

interface ReportOptions {
  readonly tenant?: string
  readonly format: 'md' | 'json'
}

/** Reports from the store who still uses version 1; the gateway may run or not. */
export function report({ tenant, format }: ReportOptions): Promise<number> {
  return withExistingStore(async (store) => {
    const config = readConfig(withoutService(), { certificates: false })
    const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
    const deps = { store, catalog, tenants: namesOf(config) }
    const found = await readReport(deps, tenant)
    if (tenant !== undefined && found.tenants.length === 0) throw new CommandFailed(`there is no tenant ${tenant}`)
    if (format === 'json') printJson(found, 2)
    else print(...markdownOf(found))
    return 0
  })
}

function namesOf({ TENANTS_FILE: file, V2_CLIENT_ID: id }: ReturnType<typeof readConfig>): readonly string[] {
  if (file !== undefined) return readTenantNames(file)
  return id === undefined ? [] : [id]
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
      tenants.map(({ tenant, verdict: own, lastVersion1 = 'none', use, work }) => [
        nameOf(tenant),
        verdictStates[own.state],
        lastVersion1,
        total(use, 'version1'),
        total(use, 'version2'),
        work.filter(({ blocks }) => blocks).length,
      ]),
    ),
    ...tenants.flatMap(tenantLines),
  ]
}

function tenantLines(report: TenantReport): readonly string[] {
  const { tenant, verdict, weeklyShares, work, actions, errors, unknownFields, agents, networks } = report
  const shares = weeklyShares.map((share) => (share === null ? 'no calls' : percent(share))).join(', ')
  return [
    `## ${text(nameOf(tenant))}`,
    '',
    ...verdictLines(verdict),
    `Share of version 2 in each of the last four weeks: ${shares}.`,
    '',
    ...section(
      'Work that is left',
      ['Kind', 'Action', 'Name', 'Blocks', 'Version 2', 'Note', 'Count'],
      work,
      (item) => [
        item.kind,
        item.action,
        item.name || OTHERS,
        item.blocks ?? '',
        item.equivalents.join(', '),
        item.note,
        item.count,
      ],
    ),
    ...section('Actions', ['Action', 'Calls', 'Replayed', 'Failed', "Callers' mistakes"], actions, (item) => [
      item.action || 'not recognized',
      item.calls,
      item.replayed,
      item.failed,
      item.mistakes,
    ]),
    ...section('Errors', ['Error', 'Count', 'Last seen', 'Request id of the last one'], errors, (item) => [
      item.name,
      item.count,
      item.last,
      item.requestId,
    ]),
    ...[
      { title: 'Unknown fields', of: unknownFields },
      { title: 'User agents', of: agents },
      { title: 'Networks', of: networks },
    ].flatMap(({ title, of }) =>
      section(title, ['Name', 'Count', 'First seen', 'Last seen'], of, (item) => [
        item.name || OTHERS,
        item.count,
        item.first,
        item.last,
      ]),
    ),
  ]
}

const OTHERS = 'all others'
const nameOf = (tenant: string) => (tenant === NO_NAME ? 'callers without a name' : tenant)

const verdictLines = ({ state, since, reasons }: Verdict): readonly string[] => [
  `**${verdictStates[state]}**${since === undefined ? '' : ` since ${since}`}`,
  '',
  ...reasons.flatMap((reason) => [text(reason), '']),
]

function section<Row>(
  title: string,
  head: readonly string[],
  rows: readonly Row[],
  cells: (row: Row) => readonly (string | number)[],
): readonly string[] {
  return rows.length === 0 ? [] : [`### ${title}`, '', ...table(head, rows.map(cells))]
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): readonly string[] {
  const line = (cells: readonly (string | number)[]) => `| ${cells.map((cell) => text(String(cell))).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line), '']
}

/** The characters that Markdown, or the HTML in it, would obey. Braces, and a `_` within a word, are plain text. */
const MARKUP = /[\\`*[\]<>#|~&]|(?<!\w)_|_(?!\w)/g
const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;' }

/** Returns text as Markdown shows it. */
const text = (value: string): string =>
  escapeControls(value).replace(MARKUP, (found) => ENTITIES[found] ?? `\\${found}`)
