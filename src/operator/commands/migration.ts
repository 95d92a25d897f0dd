import { readTenantNames } from '../../language/config/tenants-file.ts'
import { DAYS_SHOWN, type MigrationReport, readReport, type TenantReport } from '../reports/report.ts'
import { tableOf } from '../reports/tables.ts'
import { percent, sumOf, verdictStates } from '../reports/verdict.ts'
import { problemsOf } from '../reports/work.ts'
import { aligned, plural, tenantName, titled } from '../words.ts'
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
    else print(...linesOf(found))
    return 0
  })
}

/** Writes a report as lines of text: the tables of its page. */
export function linesOf(report: MigrationReport): readonly string[] {
  const { generatedAt, watchedSince, watchedDays, headline, verdict, tenants } = report
  const watched =
    watchedSince === undefined
      ? 'No gateway has counted a call yet.'
      : `Gateways have watched since ${watchedSince}, on ${plural(watchedDays, 'day')}.`
  const list = tenants.map(({ tenant, verdict: { state }, use, ...rest }) => ({
    ...sumOf(use),
    ...rest,
    tenant: tenantName(tenant),
    verdict: verdictStates[state],
    blockers: problemsOf(rest).length,
  }))
  return [
    ...(headline === undefined ? [] : [headline, ...verdict.reasons]),
    `${watched} As of ${generatedAt}. Calls are those of ${DAYS_SHOWN} days.`,
    ...tabled('Tenants', list, 'tenant verdict lastVersion1 version1 version2 blockers'),
    ...tenants.flatMap(tenantLines),
  ]
}

function tenantLines(report: TenantReport): readonly string[] {
  const { tenant, verdict, weeklyShares, work, actions, errors, unknownFields, agents, networks } = report
  const shares = weeklyShares.map((share) => (share === null ? 'no calls' : percent(share))).join(', ')
  const since = verdict.since === undefined ? '' : ` since ${verdict.since}`
  const names = 'name count first last'
  const others = work.flatMap(({ blocks, equivalents, ...item }) =>
    blocks === undefined ? [{ ...item, equivalents: equivalents.join(', ') }] : [],
  )
  return [
    '',
    `${tenantName(tenant)}: ${verdictStates[verdict.state]}${since}`,
    ...verdict.reasons,
    `Share of version 2 in each of the last four weeks: ${shares}.`,
    ...tabled('Blocks migration', problemsOf(report), 'problem count last todo'),
    ...tabled('Other changes', others, 'name kind action count equivalents note'),
    ...tabled('Actions', actions, 'action calls replayed failed mistakes'),
    ...tabled('Errors', errors, 'name count last requestId'),
    ...tabled('Unknown fields', unknownFields, names),
    ...tabled('User agents', agents, names),
    ...tabled('Networks', networks, names),
  ]
}

const HEADINGS = {
  lastVersion1: 'last version-1 call',
  version1: 'version 1',
  version2: 'version 2',
  last: 'last seen',
  first: 'first seen',
  todo: 'what to do',
  equivalents: 'version 2',
  mistakes: 'caller errors',
  requestId: 'request id of the last one',
}

/** Returns rows below a title; none without rows. One without a name stands for all others. */
function tabled(title: string, list: readonly object[], columns: string): readonly string[] {
  const { head, rows } = tableOf(list, columns, HEADINGS)
  const lines = rows.map(([name = '', ...cells]) => [name || 'others', ...cells])
  return titled(title, lines.length > 0 ? aligned([head, ...lines]) : [])
}
