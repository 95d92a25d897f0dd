import { readTenantNames } from '../../language/config/tenants-file.ts'
import {
  blockersOf,
  DAYS_SHOWN,
  detailsOf,
  type MigrationReport,
  migrationTable,
  readReport,
  type TenantReport,
} from '../reports/report.ts'
import { linesOf } from '../reports/tables.ts'
import { percent, sumOf, verdictStates } from '../reports/verdict.ts'
import { problemsOf } from '../reports/work.ts'
import { grouped, plural, tenantName } from '../words.ts'
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
    else print(...reportLines(found))
    return 0
  })
}

/** Writes a report as lines of text: most of what its page shows. */
export function reportLines(report: MigrationReport): readonly string[] {
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
    ...linesOf(migrationTable('Tenants', list, 'tenant verdict lastVersion1 version1 version2 blockers')),
    ...tenants.flatMap(tenantLines),
  ]
}

function tenantLines(report: TenantReport): readonly string[] {
  const { tenant, verdict, weeklyShares, otherPrices } = report
  const shares = weeklyShares.map((share) => (share === null ? 'no calls' : percent(share))).join(', ')
  const since = verdict.since === undefined ? '' : ` since ${verdict.since}`
  return [
    '',
    `${tenantName(tenant)}: ${verdictStates[verdict.state]}${since}`,
    ...verdict.reasons,
    `Share of version 2 in each of the last four weeks: ${shares}.`,
    ...(otherPrices > 0 ? [`Bookings at a price that differs from the quote: ${grouped(otherPrices)}.`] : []),
    ...[blockersOf(report), ...detailsOf(report)].flatMap(linesOf),
  ]
}
