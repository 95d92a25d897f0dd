import { html } from 'hono/html'
import { NO_NAME } from '../migration/counts.ts'
import { DAYS_SHOWN } from '../migration/report.ts'
import type { ShownDay } from '../migration/tenant-report.ts'
import { type Verdict, verdictStates } from '../migration/verdict.ts'
import { dayText } from '../migration/wording.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import { type Html, named, table } from './layout.ts'

/** Shows the name of a tenant. */
export const tenantName = (tenant: string): Html =>
  tenant === NO_NAME ? html`<em>callers without a name</em>` : named(tenant)

const PLAIN_TENANT = /^(?!\.+$)[\w.~-]+$/

/** Returns the address of a tenant's page. Browsers would read some names as parts of a path. */
export function tenantAddress(tenant: string): string {
  const name = encodeURIComponent(tenant.toWellFormed())
  return PLAIN_TENANT.test(tenant) ? `/migration/${name}` : `/migration?tenant=${name}`
}

/** Shows a verdict with its reasons. */
export function verdictBox({ state, since, reasons }: Verdict): Html {
  return html`<div class="verdict ${state}">
<p><span class="state ${state}">${verdictStates[state]}</span>${since === undefined ? '' : ` since ${since}`}</p>
${reasons.map((reason) => html`<p>${named(reason)}</p>`)}
</div>`
}

/** Returns the days that a report shows, those without calls included, the oldest first. */
export function everyDay(use: readonly ShownDay[], generatedAt: string): readonly ShownDay[] {
  const today = Math.floor(Date.parse(generatedAt) / DAY_MS)
  const known = new Map(use.map((day) => [day.day, day]))
  return Array.from({ length: DAYS_SHOWN }, (_, i) => {
    const day = today - DAYS_SHOWN + 1 + i
    return known.get(day) ?? { day, date: dayText(day), version1: 0, version2: 0, refused: 0, dryRuns: 0 }
  })
}

/** Shows the figures of a chart. */
export function dayTable(days: readonly ShownDay[]): Html {
  const withCalls = days.filter(({ version1, version2, dryRuns }) => version1 + version2 + dryRuns > 0).toReversed()
  if (withCalls.length === 0) return html`<p class="soft">No calls in the last ${DAYS_SHOWN} days.</p>`
  const count = (title: string, cell: (day: ShownDay) => number) => ({ title, cell, isNumber: true })
  return html`<details><summary>The figures by day</summary>${table(
    'Calls by day (UTC), the last one first; days without calls are left out',
    [
      { title: 'Day', cell: ({ date }) => date },
      count('Version 1', ({ version1 }) => version1),
      count('Version 2', ({ version2 }) => version2),
      count('Errors', ({ refused }) => refused),
      count('Dry runs', ({ dryRuns }) => dryRuns),
    ],
    withCalls,
  )}</details>`
}
