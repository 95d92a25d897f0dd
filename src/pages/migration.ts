import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import type { MigrationReport } from '../migration/report.ts'
import type { ShownDay, TenantReport } from '../migration/tenant-report.ts'
import { verdictStates } from '../migration/verdict.ts'
import { percent, plural } from '../migration/wording.ts'
import { brownoutTable, type ShownBrownout } from './brownouts.ts'
import { chart, chartKey } from './chart.ts'
import { moment, page, table } from './layout.ts'
import { dayTable, everyDay, tenantAddress, tenantName, verdictBox } from './migration-parts.ts'

/** Shows who still uses version 1. */
export function migrationPage(report: MigrationReport, brownouts: readonly ShownBrownout[]): Promise<Answer> {
  const { tenants, verdict, watchedSince, watchedDays, leftOut, generatedAt } = report
  const days = everyDay(together(tenants), generatedAt)
  const watched =
    watchedSince === undefined
      ? 'No gateway has counted a call yet.'
      : `Gateways have watched since ${watchedSince}, on ${plural(watchedDays, 'day')}.`
  return page(
    'Migration',
    html`<h1>Can version 1 be switched off?</h1>
<p class="soft">${watched} As of ${moment(generatedAt)}; times are UTC. Also as <a href="/migration.json">JSON</a>.</p>
<p>All tenants together:</p>
${verdictBox(verdict)}
${brownoutTable(brownouts)}
<h2>All calls by day</h2>
${chartKey()}
${chart(days, 'Calls by day, of all tenants', 'large')}
${dayTable(days)}
<h2>Tenants</h2>
${tenants.length === 0 ? html`<p>No tenant is known.</p>` : tenantTable(tenants, generatedAt)}
${leftOut === 0 ? '' : html`<p>${plural(leftOut, 'further tenant')} called longer ago: <code>transload migration report</code> has all.</p>`}`,
  )
}

function tenantTable(tenants: readonly TenantReport[], generatedAt: string) {
  return table<TenantReport>(
    'Tenants, the one that called last first',
    [
      { title: 'Tenant', cell: ({ tenant }) => html`<a href="${tenantAddress(tenant)}">${tenantName(tenant)}</a>` },
      {
        title: 'Verdict',
        cell: ({ verdict: { state } }) => html`<span class="state ${state}">${verdictStates[state]}</span>`,
      },
      { title: 'Last version-1 call', cell: ({ lastVersion1 }) => lastVersion1?.slice(0, DATE_CHARACTERS) ?? 'none' },
      { title: 'Version 1, 90 days', cell: ({ use }) => total(use, 'version1'), isNumber: true },
      { title: 'Version 2, 90 days', cell: ({ use }) => total(use, 'version2'), isNumber: true },
      { title: 'Share of version 2', cell: ({ use }) => shareOf(use), isNumber: true },
      { title: 'Blocking', cell: ({ work }) => work.filter(({ blocks }) => blocks).length, isNumber: true },
      { title: 'Calls by day', cell: ({ use }) => chart(everyDay(use, generatedAt), summary(use), 'small') },
    ],
    tenants,
  )
}

const DATE_CHARACTERS = 10

const total = (use: readonly ShownDay[], what: 'version1' | 'version2') => use.reduce((all, day) => all + day[what], 0)

function shareOf(use: readonly ShownDay[]): string {
  const version2 = total(use, 'version2')
  const all = version2 + total(use, 'version1')
  return all === 0 ? '–' : percent(version2 / all)
}

const summary = (use: readonly ShownDay[]) =>
  `In 90 days ${plural(total(use, 'version1'), 'version-1 call')} and ${plural(total(use, 'version2'), 'version-2 call')}`

/** Adds up the days of all tenants. */
function together(tenants: readonly TenantReport[]): readonly ShownDay[] {
  const days = new Map<number, ShownDay>()
  for (const day of tenants.flatMap(({ use }) => use)) {
    const before = days.get(day.day)
    days.set(day.day, {
      ...day,
      version1: day.version1 + (before?.version1 ?? 0),
      version2: day.version2 + (before?.version2 ?? 0),
      refused: day.refused + (before?.refused ?? 0),
      dryRuns: day.dryRuns + (before?.dryRuns ?? 0),
    })
  }
  return [...days.values()]
}
