import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { NO_NAME } from '../migration/counts.ts'
import { windowsToCome } from '../migration/deprecation.ts'
import {
  type ActionUse,
  type Counted,
  type CountedError,
  DAYS_SHOWN,
  daysOfAll,
  dayText,
  type FieldUse,
  type MigrationReport,
  percent,
  plural,
  type ShownDay,
  type TenantReport,
  total,
  type Verdict,
  verdictStates,
  type WorkItem,
} from '../migration/report.ts'
import type { TenantBrownouts } from '../observe/brownouts.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import {
  type Column,
  chart,
  chartKey,
  count,
  type Html,
  minuteOf,
  moment,
  named,
  page,
  section,
  table,
} from './layout.ts'

/** Shows who still uses version 1. */
export function migrationPage(
  report: MigrationReport,
  brownouts: readonly TenantBrownouts[],
  now: number,
): Promise<Answer> {
  const { tenants, verdict, watchedSince, watchedDays, leftOut, generatedAt } = report
  const days = everyDay(daysOfAll(tenants), generatedAt)
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
${brownoutTable(brownouts, now)}
<h2>All calls by day</h2>
${chartKey()}
${chart(days, 'Calls by day, of all tenants', 'large')}
${dayTable(days)}
<h2>Tenants</h2>
${tenants.length === 0 ? html`<p>No tenant is known.</p>` : tenantTable(tenants, generatedAt)}
${leftOut === 0 ? '' : html`<p>${plural(leftOut, 'further tenant')} called longer ago: <code>transload migration report</code> has all.</p>`}`,
  )
}

/** The most brownouts that a page shows; `transload check` prints all. */
const MOST_BROWNOUTS = 50

/** Shows the brownouts that are not over, the next one first; nothing without any. */
function brownoutTable(all: readonly TenantBrownouts[], now: number): Html {
  const brownouts = all
    .flatMap(({ tenant, windows }) => windowsToCome(windows, now).map((window) => ({ tenant, ...window })))
    .sort((one, other) => one.start - other.start)
  if (brownouts.length === 0) return html``
  return html`<h2>Brownouts</h2>
<p>In these times legacy calls are refused.</p>
${table<(typeof brownouts)[number]>(
  'Brownouts, the next one first',
  [
    { title: 'Callers', cell: ({ tenant }) => (tenant === '' ? 'all' : named(tenant)) },
    { title: 'From', cell: ({ start }) => minuteOf(new Date(start).toISOString()) },
    { title: 'Until', cell: ({ end }) => minuteOf(new Date(end).toISOString()) },
    { title: 'Now', cell: ({ start }) => (start <= now ? 'active' : 'to come') },
  ],
  brownouts.slice(0, MOST_BROWNOUTS),
)}`
}

function tenantTable(tenants: readonly TenantReport[], generatedAt: string): Html {
  return table<TenantReport>(
    'Tenants, the one that called last first',
    [
      { title: 'Tenant', cell: ({ tenant }) => html`<a href="${addressOf(tenant)}">${nameOf(tenant)}</a>` },
      {
        title: 'Verdict',
        cell: ({ verdict: { state } }) => html`<span class="state ${state}">${verdictStates[state]}</span>`,
      },
      { title: 'Last version-1 call', cell: ({ lastVersion1 }) => lastVersion1?.slice(0, DATE_CHARACTERS) ?? 'none' },
      count('Version 1, 90 days', ({ use }) => total(use, 'version1')),
      count('Version 2, 90 days', ({ use }) => total(use, 'version2')),
      count('Share of version 2', ({ use }) => shareOf(use)),
      count('Blocking', ({ work }) => work.filter(({ blocks }) => blocks).length),
      { title: 'Calls by day', cell: ({ use }) => chart(everyDay(use, generatedAt), summary(use), 'small') },
    ],
    tenants,
  )
}

const DATE_CHARACTERS = 10

function shareOf(use: readonly ShownDay[]): string {
  const version2 = total(use, 'version2')
  const all = version2 + total(use, 'version1')
  return all === 0 ? '–' : percent(version2 / all)
}

const summary = (use: readonly ShownDay[]) =>
  `In 90 days ${plural(total(use, 'version1'), 'version-1 call')} and ${plural(total(use, 'version2'), 'version-2 call')}`

/** Shows the use that one tenant makes of the gateway, and the work that is left. */
export function tenantPage(tenant: TenantReport, { generatedAt }: MigrationReport): Promise<Answer> {
  const days = everyDay(tenant.use, generatedAt)
  const seen =
    tenant.firstSeen === undefined
      ? 'This tenant has never called.'
      : html`First seen ${moment(tenant.firstSeen)}, last seen ${moment(tenant.lastSeen ?? '')}; last version-1 call: ${tenant.lastVersion1 === undefined ? 'none' : moment(tenant.lastVersion1)}.`
  return page(
    tenant.tenant || 'Callers without a name',
    html`<h1>${nameOf(tenant.tenant)}</h1>
<p class="soft">${seen} As of ${moment(generatedAt)}; times are UTC.</p>
${verdictBox(tenant.verdict)}
<h2>Work that is left</h2>
${section(tenant.work, 'Version-1 use within the quiet days, what blocks first', WORK, 'None: there was no version-1 call within the quiet days.')}
<h2>Calls over time</h2>
${chartKey()}
${chart(days, 'Calls by day', 'large')}
<p>Share of version 2 in each of the last four weeks: ${tenant.weeklyShares.map((share) => (share === null ? 'no calls' : percent(share))).join(', ')}.</p>
${dayTable(days)}
<h2>Actions</h2>
${section(tenant.actions, 'Version-1 calls by action, in 90 days', ACTIONS, 'No version-1 call in 90 days.')}
<h2>Errors</h2>
${section(tenant.errors, 'Errors, with the request id of the last one for the log', ERRORS)}
<h2>Fields</h2>
${section(tenant.fields, 'Version-1 fields, how often each was sent', FIELDS)}
<h2>Unknown fields</h2>
${section(tenant.unknownFields, 'Fields that no mapping knows', counted('Field'))}
<h2>Callers</h2>
${section(tenant.agents, 'User agents', counted('User agent'))}
${section(tenant.networks, 'Source networks', counted('Network'))}`,
  )
}

/** Shows a name that may stand for all further names. */
const nameOrRest = (name: string): Html => (name === '' ? html`<em>all others</em>` : html`<code>${named(name)}</code>`)

const KINDS: Readonly<Record<WorkItem['kind'], string>> = {
  action: 'action',
  field: 'field',
  assumed: 'assumed value',
  unknown: 'unknown field',
}

const WORK: readonly Column<WorkItem>[] = [
  { title: 'Kind', cell: ({ kind }) => KINDS[kind] },
  { title: 'Action', cell: ({ action }) => action },
  { title: 'Name', cell: ({ name }) => nameOrRest(name) },
  { title: 'Blocks', cell: ({ blocks }) => (blocks === undefined ? '' : html`<span class="blocks">${blocks}</span>`) },
  { title: 'Version 2', cell: ({ equivalents }) => html`${equivalents.map((place) => html`<code>${place}</code> `)}` },
  { title: 'Note', cell: ({ note }) => note },
  count('Count', (item) => item.count),
]

const ACTIONS: readonly Column<ActionUse>[] = [
  {
    title: 'Action',
    cell: ({ action }) => (action === '' ? html`<em>not recognized</em>` : html`<code>${action}</code>`),
  },
  count('Calls', ({ calls }) => calls),
  count('Replayed bookings', ({ replayed }) => replayed),
  count('Errors', ({ refused }) => refused),
]

const FIELDS: readonly Column<FieldUse>[] = [
  { title: 'Action', cell: ({ action }) => action },
  { title: 'Field', cell: ({ field }) => html`<code>${named(field)}</code>` },
  count('Used', ({ used }) => used),
  count('Unused', ({ unused }) => unused),
  count('Lossy', ({ lossy }) => lossy),
  count('Assumed', ({ assumed }) => assumed),
  { title: 'Last seen', cell: ({ last }) => moment(last) },
]

const ERRORS: readonly Column<CountedError>[] = [
  { title: 'Error', cell: ({ name }) => html`<code>${name}</code>` },
  count('Count', (error) => error.count),
  { title: 'Last seen', cell: ({ last }) => moment(last) },
  { title: 'Request id of the last one', cell: ({ requestId }) => html`<code>${named(requestId)}</code>` },
]

const counted = (title: string): readonly Column<Counted>[] => [
  { title, cell: ({ name }) => nameOrRest(name) },
  count('Count', (one) => one.count),
  { title: 'First seen', cell: ({ first }) => moment(first) },
  { title: 'Last seen', cell: ({ last }) => moment(last) },
]

const nameOf = (tenant: string): Html => (tenant === NO_NAME ? html`<em>callers without a name</em>` : named(tenant))

const PLAIN_TENANT = /^(?!\.+$)[\w.~-]+$/

/** Returns the address of a tenant's page. Browsers would read some names as parts of a path. */
function addressOf(tenant: string): string {
  const name = encodeURIComponent(tenant.toWellFormed())
  return PLAIN_TENANT.test(tenant) ? `/migration/${name}` : `/migration?tenant=${name}`
}

function verdictBox({ state, since, reasons }: Verdict): Html {
  return html`<div class="verdict ${state}">
<p><span class="state ${state}">${verdictStates[state]}</span>${since === undefined ? '' : ` since ${since}`}</p>
${reasons.map((reason) => html`<p>${named(reason)}</p>`)}
</div>`
}

/** Returns the days that a report shows, those without calls included, the oldest first. */
function everyDay(use: readonly ShownDay[], generatedAt: string): readonly ShownDay[] {
  const today = Math.floor(Date.parse(generatedAt) / DAY_MS)
  const known = new Map(use.map((day) => [day.day, day]))
  return Array.from({ length: DAYS_SHOWN }, (_, i) => {
    const day = today - DAYS_SHOWN + 1 + i
    return known.get(day) ?? { day, date: dayText(day), version1: 0, version2: 0, refused: 0, dryRuns: 0 }
  })
}

/** Shows the figures of a chart. */
function dayTable(days: readonly ShownDay[]): Html {
  const withCalls = days.filter(({ version1, version2, dryRuns }) => version1 + version2 + dryRuns > 0).toReversed()
  if (withCalls.length === 0) return html`<p class="soft">No calls in the last ${DAYS_SHOWN} days.</p>`
  return html`<details><summary>The figures by day</summary>${table<ShownDay>(
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
