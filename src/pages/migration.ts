import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { NO_NAME } from '../migration/counts.ts'
import { DAYS_SHOWN, type MigrationReport } from '../migration/report.ts'
import type { ActionUse, Counted, CountedError, FieldUse, ShownDay, TenantReport } from '../migration/tenant-report.ts'
import { type Verdict, verdictStates } from '../migration/verdict.ts'
import { dayText, percent, plural } from '../migration/wording.ts'
import type { WorkItem } from '../migration/work.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import { brownoutTable, type ShownBrownout } from './brownouts.ts'
import { type Column, type Html, moment, named, page, table } from './layout.ts'

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

/** Shows the use that one tenant makes of the gateway, and the work that is left. */
export function tenantPage(tenant: TenantReport, { generatedAt }: MigrationReport): Promise<Answer> {
  const days = everyDay(tenant.use, generatedAt)
  const seen =
    tenant.firstSeen === undefined
      ? 'This tenant has never called.'
      : html`First seen ${moment(tenant.firstSeen)}, last seen ${moment(tenant.lastSeen ?? '')}; last version-1 call: ${tenant.lastVersion1 === undefined ? 'none' : moment(tenant.lastVersion1)}.`
  return page(
    tenant.tenant || 'Callers without a name',
    html`<h1>${tenantName(tenant.tenant)}</h1>
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
${section(tenant.errors, 'Errors, with the request id of the last one for the log', ERRORS, 'None.')}
<h2>Fields</h2>
${section(tenant.fields, 'Version-1 fields, how often each was sent', FIELDS, 'None.')}
<h2>Unknown fields</h2>
${section(tenant.unknownFields, 'Fields that no mapping knows', counted('Field'), 'None.')}
<h2>Callers</h2>
${section(tenant.agents, 'User agents', counted('User agent'), 'None.')}
${section(tenant.networks, 'Source networks', counted('Network'), 'None.')}`,
  )
}

function section<Row>(rows: readonly Row[], caption: string, columns: readonly Column<Row>[], none: string): Html {
  return rows.length === 0 ? html`<p class="soft">${none}</p>` : table(caption, columns, rows)
}

/** Shows a name that may stand for all further names. */
const nameOrRest = (name: string): Html => (name === '' ? html`<em>all others</em>` : html`<code>${named(name)}</code>`)

const WORK: readonly Column<WorkItem>[] = [
  { title: 'Kind', cell: ({ kind }) => KINDS[kind] },
  { title: 'Action', cell: ({ action }) => action },
  { title: 'Name', cell: ({ name }) => nameOrRest(name) },
  { title: 'Blocks', cell: ({ blocks }) => (blocks === undefined ? '' : html`<span class="blocks">${blocks}</span>`) },
  { title: 'Version 2', cell: ({ equivalents }) => html`${equivalents.map((place) => html`<code>${place}</code> `)}` },
  { title: 'Note', cell: ({ note }) => note },
  { title: 'Count', cell: ({ count }) => count, isNumber: true },
]

const KINDS: Readonly<Record<WorkItem['kind'], string>> = {
  action: 'action',
  field: 'field',
  assumed: 'assumed value',
  unknown: 'unknown field',
}

const ACTIONS: readonly Column<ActionUse>[] = [
  {
    title: 'Action',
    cell: ({ action }) => (action === '' ? html`<em>not recognized</em>` : html`<code>${action}</code>`),
  },
  { title: 'Calls', cell: ({ calls }) => calls, isNumber: true },
  { title: 'Replayed bookings', cell: ({ replayed }) => replayed, isNumber: true },
  { title: 'Errors', cell: ({ refused }) => refused, isNumber: true },
]

const FIELDS: readonly Column<FieldUse>[] = [
  { title: 'Action', cell: ({ action }) => action },
  { title: 'Field', cell: ({ field }) => html`<code>${named(field)}</code>` },
  { title: 'Used', cell: ({ used }) => used, isNumber: true },
  { title: 'Unused', cell: ({ unused }) => unused, isNumber: true },
  { title: 'Lossy', cell: ({ lossy }) => lossy, isNumber: true },
  { title: 'Assumed', cell: ({ assumed }) => assumed, isNumber: true },
  { title: 'Last seen', cell: ({ last }) => moment(last) },
]

const ERRORS: readonly Column<CountedError>[] = [
  { title: 'Error', cell: ({ name }) => html`<code>${name}</code>` },
  { title: 'Count', cell: ({ count }) => count, isNumber: true },
  { title: 'Last seen', cell: ({ last }) => moment(last) },
  { title: 'Request id of the last one', cell: ({ requestId }) => html`<code>${named(requestId)}</code>` },
]

const counted = (title: string): readonly Column<Counted>[] => [
  { title, cell: ({ name }) => nameOrRest(name) },
  { title: 'Count', cell: ({ count }) => count, isNumber: true },
  { title: 'First seen', cell: ({ first }) => moment(first) },
  { title: 'Last seen', cell: ({ last }) => moment(last) },
]

/** Shows the name of a tenant. */
const tenantName = (tenant: string): Html =>
  tenant === NO_NAME ? html`<em>callers without a name</em>` : named(tenant)

const PLAIN_TENANT = /^(?!\.+$)[\w.~-]+$/

/** Returns the address of a tenant's page. Browsers would read some names as parts of a path. */
function tenantAddress(tenant: string): string {
  const name = encodeURIComponent(tenant.toWellFormed())
  return PLAIN_TENANT.test(tenant) ? `/migration/${name}` : `/migration?tenant=${name}`
}

/** Shows a verdict with its reasons. */
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

/** The calls of a day. */
export interface Bar {
  readonly date: string
  readonly version1: number
  readonly version2: number
}

interface Size {
  readonly width: number
  readonly height: number
}

const SMALL: Size = { width: 180, height: 32 }
const LARGE: Size = { width: 900, height: 160 }
const GAP = 0.2
const DIGITS = 2

/**
 * Draws calls per day: version 1 at the bottom, version 2 on top. A table beside it has the figures. All bars of a version
 * are one path, because a page may have a thousand charts.
 */
export function chart(days: readonly Bar[], about: string, size: 'small' | 'large'): Html {
  const { width, height } = size === 'small' ? SMALL : LARGE
  const base = height - 1
  const most = Math.max(1, ...days.map(({ version1, version2 }) => version1 + version2))
  const step = width / Math.max(1, days.length)
  const bars = (value: (day: Bar) => number, below: (day: Bar) => number): string =>
    days
      .map((day, i) => {
        if (value(day) === 0) return ''
        const bottom = base - (below(day) / most) * base
        const top = bottom - (value(day) / most) * base
        return `M${short(i * step)} ${short(top)}h${short(step * (1 - GAP))}V${short(bottom)}H${short(i * step)}z`
      })
      .join('')
  return html`<svg class="${size}" role="img" aria-label="${about}" preserveAspectRatio="none" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<path class="version1" d="${bars(version1Of, none)}"/><path class="version2" d="${bars(version2Of, version1Of)}"/><path class="axis" d="M0 ${base}.5h${width}"/></svg>`
}

const version1Of = ({ version1 }: Bar) => version1
const version2Of = ({ version2 }: Bar) => version2
const none = () => 0

const short = (value: number) => value.toFixed(DIGITS)

/** Explains the colors of the charts. */
const chartKey = (): Html => html`<p class="key soft"><span>${swatch('version1')} version 1</span>
<span>${swatch('version2')} version 2</span></p>`

const swatch = (kind: string): Html =>
  html`<svg aria-hidden="true" viewBox="0 0 10 10" width="10" height="10"><rect class="${kind}" width="10" height="10"/></svg>`
