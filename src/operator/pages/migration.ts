import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import { windowsToCome } from '../../language/deprecation.ts'
import { gatewayError } from '../../language/errors.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import type { TenantBrownouts } from '../../runtime/signals.ts'
import { NO_NAME } from '../../state/uses/counts.ts'
import {
  type ActionUse,
  type Counted,
  type CountedError,
  DAYS_SHOWN,
  dayText,
  type FieldUse,
  type MigrationReport,
  type Overview,
  percent,
  plural,
  type ReportDeps,
  readOverview,
  readReport,
  type ShownDay,
  type TenantReport,
  type TenantSummary,
  type Verdict,
  type VerdictState,
  verdictStates,
  type WorkItem,
} from '../reports/report.ts'
import { fixItKit, type KitDeps } from './fix-it-kit.ts'
import {
  type Column,
  chart,
  count,
  grouped,
  type Html,
  JSON_SUFFIX,
  json,
  minuteOf,
  moment,
  named,
  type Shell,
  section,
  table,
  wantsHtml,
} from './layout.ts'

/** The dependencies of the pages about the migration. */
export interface MigrationPagesDeps extends Omit<ReportDeps, 'tenants' | 'store'>, Omit<KitDeps, 'catalog'> {
  readonly store: ReportDeps['store']
  /** Returns the tenants that the gateway knows by name. */
  readonly tenants: () => readonly string[]
  readonly brownouts: () => readonly TenantBrownouts[]
  readonly show: Shell
}

/** Answers `/migration` and `/migration/<tenant>`, as a page or as JSON. */
export async function migrationAnswer(
  incoming: IncomingMessage,
  pathName: string | undefined,
  deps: MigrationPagesDeps,
): Promise<Answer> {
  const query = new URLSearchParams((incoming.url ?? '').split('?')[1])
  const name = pathName ?? query.get('tenant')
  return name === null ? allTenants(incoming, query, deps) : oneTenant(incoming, name, query.has('kit'), deps)
}

async function allTenants(
  incoming: IncomingMessage,
  query: URLSearchParams,
  deps: MigrationPagesDeps,
): Promise<Answer> {
  const overview = await overviewOf(deps)
  const listing = listingOf(query)
  if (!wantsHtml(incoming)) return json({ ...overview, ...listed(overview, listing) })
  return migrationPage(overview, listing, deps)
}

interface Kept {
  /** The last overview that was read, when, and what it took. */
  last?: { readonly overview: Overview; readonly at: number; readonly tookMs: number }
  reading?: Promise<Overview> | undefined
}

const overviews = new WeakMap<MigrationPagesDeps['store'], Kept>()
/** An overview is good for so many times what it took to read it: pages cost a hundredth of a core at most. */
const REST_FACTOR = 100
/** One that took longer is shown while the next one is read, unless it is older than `OLD_MS`: nobody waits for ten thousand tenants twice. */
const LONG_MS = 50
const OLD_MS = 600_000

/** Returns what is known of all tenants. The operator's home reads it, too, so that the first view of the page finds it. */
export async function overviewOf(deps: MigrationPagesDeps): Promise<Overview> {
  const { store } = deps
  const kept = overviews.get(store) ?? {}
  overviews.set(store, kept)
  const { last } = kept
  const began = performance.now()
  const age = last ? began - last.at : Number.POSITIVE_INFINITY
  if (last && age < last.tookMs * REST_FACTOR) return last.overview
  kept.reading ??= readOverview({ ...deps, tenants: deps.tenants() })
    .then((overview) => {
      const at = performance.now()
      kept.last = { overview, at, tookMs: at - began }
      return overview
    })
    .finally(() => {
      kept.reading = undefined
    })
  if (!last || last.tookMs < LONG_MS || age > OLD_MS) return kept.reading
  // The next view tells of a failure.
  kept.reading.catch(() => undefined)
  return last.overview
}

async function oneTenant(
  incoming: IncomingMessage,
  name: string,
  wantsKit: boolean,
  deps: MigrationPagesDeps,
): Promise<Answer> {
  const read = (tenant: string) => readReport({ ...deps, tenants: deps.tenants() }, tenant)
  const exact = await read(name)
  const isExact = exact.tenants.length > 0 || !name.endsWith(JSON_SUFFIX)
  const report = isExact ? exact : await read(name.slice(0, -JSON_SUFFIX.length))
  const [tenant] = report.tenants
  if (!tenant) throw gatewayError('path-unknown/tenant', {})
  if (wantsKit) return fixItKit(tenant, deps)
  return isExact && wantsHtml(incoming)
    ? tenantPage(tenant, report, { show: deps.show, kit: addressOf(tenant.tenant, 'kit') })
    : json(report)
}

/** A part of the list of tenants, as a request asks for it. */
interface Listing {
  /** A part of the name, in any case. */
  readonly search: string
  readonly state: VerdictState | undefined
  readonly sort: Sort
  /** From 1 on. */
  readonly page: number
}

const BY_CALLS = (one: TenantSummary, other: TenantSummary) => other.version1 - one.version1

/** The orders of the list; without one, the tenant that called last is the first. */
const SORTS = {
  last: { title: 'Last call', compare: undefined },
  name: { title: 'Name', compare: (one, other) => (one.tenant < other.tenant ? -1 : 1) },
  calls: { title: 'Version-1 calls', compare: BY_CALLS },
  failed: { title: 'Failed calls', compare: (one, other) => other.failed - one.failed },
  quiet: {
    title: 'Longest without version 1',
    compare: (one, other) => ((one.lastVersion1 ?? '') < (other.lastVersion1 ?? '') ? -1 : 1),
  },
} satisfies Readonly<
  Record<string, { title: string; compare: ((one: TenantSummary, other: TenantSummary) => number) | undefined }>
>

type Sort = keyof typeof SORTS

const SEARCH_CHARACTERS = 100

/** Reads what a request asks for; words that mean nothing are left out. */
function listingOf(query: URLSearchParams): Listing {
  const state = query.get('state') ?? ''
  const sort = query.get('sort') ?? ''
  return {
    search: (query.get('q') ?? '').slice(0, SEARCH_CHARACTERS),
    state: Object.hasOwn(verdictStates, state) ? (state as VerdictState) : undefined,
    sort: Object.hasOwn(SORTS, sort) ? (sort as Sort) : 'last',
    page: Math.max(1, Math.floor(Number(query.get('page'))) || 1),
  }
}

const TENANTS_ON_A_PAGE = 50

/** The tenants on one page of the list. */
interface Listed {
  readonly tenants: readonly TenantSummary[]
  /** How many tenants the list has on all pages. */
  readonly found: number
  readonly page: number
  readonly pages: number
}

/** Finds, sorts and cuts the list of tenants. */
function listed({ tenants }: Overview, { search, state, sort, page }: Listing): Listed {
  const word = search.toLowerCase()
  const found = tenants.filter(
    ({ tenant, verdict }) =>
      (state === undefined || verdict.state === state) && (word === '' || tenant.toLowerCase().includes(word)),
  )
  const { compare } = SORTS[sort]
  const sorted = compare ? found.toSorted(compare) : found
  const pages = Math.max(1, Math.ceil(found.length / TENANTS_ON_A_PAGE))
  const at = Math.min(page, pages)
  return {
    tenants: sorted.slice((at - 1) * TENANTS_ON_A_PAGE, at * TENANTS_ON_A_PAGE),
    found: found.length,
    page: at,
    pages,
  }
}

/** Shows who still uses version 1. */
function migrationPage(
  overview: Overview,
  listing: Listing,
  { brownouts, store, show }: MigrationPagesDeps,
): Promise<Answer> {
  const { headline, verdict, watchedSince, watchedDays, generatedAt } = overview
  const watched =
    watchedSince === undefined ? '' : `Gateways have watched since ${watchedSince}, on ${plural(watchedDays, 'day')}.`
  return show(
    'Migration',
    html`<p class="soft">Can version 1 be switched off?</p>
<h1 class="answer ${verdict.state}">${headline}</h1>
${verdict.reasons.map((reason) => html`<p>${named(reason)}</p>`)}
<p class="soft">${watched} As of ${moment(generatedAt)}; times are UTC. Also as <a href="/migration.json">JSON</a>.</p>
${brownoutTable(brownouts(), store.now())}
${callsByDay(overview.days, generatedAt)}
<h2 id="tenants">Tenants</h2>
${overview.tenants.length === 0 ? html`<p>No tenant is known.</p>` : tenantList(overview, listing)}`,
  )
}

/** Shows the calls of each day as a chart, and its figures. */
function callsByDay(days: readonly ShownDay[], generatedAt: string): Html {
  const all = everyDay(days, generatedAt)
  return html`<h2>Calls by day</h2>
${chart(
  all.map(({ date, version1, version2 }) => ({ label: date, parts: [version1, version2] })),
  [
    ['version1', 'version 1'],
    ['version2', 'version 2'],
  ],
  'Calls by day, of version 1 and of version 2',
)}
${dayTable(all)}`
}

function tenantList(overview: Overview, listing: Listing): Html {
  const { tenants, found, page: at, pages } = listed(overview, listing)
  const { search, state, sort } = listing
  const option = (value: string, title: string, chosen: boolean) =>
    html`<option value="${value}"${chosen ? html` selected` : ''}>${title}</option>`
  const states = Object.entries(verdictStates).filter(([name]) => overview.states[name as VerdictState])
  const toPage = (number: number, words: string) => {
    const query = new URLSearchParams({ q: search, state: state ?? '', sort, page: String(number) })
    return html`<a href="/migration?${query}#tenants">${words}</a>`
  }
  return html`<form action="/migration" method="get" class="filter" role="search">
<label>Name <input type="search" name="q" value="${search}" maxlength="${SEARCH_CHARACTERS}"></label>
<label>Verdict <select name="state">${option('', `all (${overview.tenants.length})`, state === undefined)}
${states.map(([name, title]) => option(name, `${title} (${overview.states[name as VerdictState]})`, name === state))}</select></label>
<label>Order <select name="sort">${Object.entries(SORTS).map(([name, { title }]) => option(name, title, name === sort))}</select></label>
<button>Show</button>
</form>
${section(tenants, `${plural(found, 'tenant')} found; calls of ${DAYS_SHOWN} days`, TENANTS, 'No tenant is like this.')}
${pages === 1 ? '' : html`<p class="pages">${at > 1 ? toPage(at - 1, '← Before') : ''} Page ${at} of ${pages} ${at < pages ? toPage(at + 1, 'Next →') : ''}</p>`}`
}

const TENANTS: readonly Column<TenantSummary>[] = [
  { title: 'Tenant', cell: ({ tenant }) => html`<a href="${addressOf(tenant)}">${nameOf(tenant)}</a>` },
  {
    title: 'Verdict',
    cell: ({ verdict: { state } }) => html`<span class="state ${state}">${verdictStates[state]}</span>`,
  },
  { title: 'Last version-1 call', cell: ({ lastVersion1 }) => lastVersion1?.slice(0, DATE_CHARACTERS) ?? 'none' },
  count('Version 1', ({ version1 }) => grouped(version1)),
  count('Version 2', ({ version2 }) => grouped(version2)),
  count('Share of version 2', ({ version1, version2 }) =>
    version1 + version2 === 0 ? '–' : percent(version2 / (version1 + version2)),
  ),
  count('Failed', ({ failed }) => grouped(failed)),
]

/** The most brownouts that a page shows; `transload check` prints all. */
const MOST_BROWNOUTS = 50

/** Shows the brownouts that are not over, the next one first; nothing without any. */
export function brownoutTable(all: readonly TenantBrownouts[], now: number): Html {
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

const DATE_CHARACTERS = 10

/** Shows the use that one tenant makes of the gateway, and the work that is left: to an operator, or to the tenant itself. */
export function tenantPage(
  tenant: TenantReport,
  { generatedAt }: MigrationReport,
  { show, kit, first }: { show: Shell; kit: string; first?: Html },
): Promise<Answer> {
  const seen =
    tenant.firstSeen === undefined
      ? 'This tenant has never called.'
      : html`First seen ${moment(tenant.firstSeen)}, last seen ${moment(tenant.lastSeen ?? '')}; last version-1 call: ${tenant.lastVersion1 === undefined ? 'none' : moment(tenant.lastVersion1)}.`
  return show(
    tenant.tenant || 'Callers without a name',
    html`<h1>${nameOf(tenant.tenant)}</h1>
<p class="soft">${seen} As of ${moment(generatedAt)}; times are UTC.</p>
${verdictBox(tenant.verdict)}
${first ?? ''}
${tenant.actions.length === 0 ? '' : html`<p><a class="button" href="${kit}" download>The fix-it kit</a> has this tenant's calls as version-2 code, with a letter to its developers.</p>`}
<h2>Work that is left</h2>
${section(tenant.work, 'Version-1 use within the quiet days, what blocks first', WORK, 'None: there was no version-1 call within the quiet days.')}
${callsByDay(tenant.use, generatedAt)}
<p>Share of version 2 in each of the last four weeks: ${tenant.weeklyShares.map((share) => (share === null ? 'no calls' : percent(share))).join(', ')}.</p>
<h2>Actions</h2>
${section(tenant.actions, 'Version-1 calls by action, in 90 days', ACTIONS, 'No version-1 call in 90 days.')}
<h2>Errors</h2>
${section(tenant.errors, 'Errors, with the request id of the last one for the log', ERRORS)}
${tenant.otherPrices === 0 ? '' : html`<p>${plural(tenant.otherPrices, 'booking')} cost something else than quoted; the log line of each has both prices.</p>`}
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
  count('Failed', ({ failed }) => failed),
  count("Callers' mistakes", ({ mistakes }) => mistakes),
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

const nameOf = (tenant: string): Html | string =>
  tenant === NO_NAME ? html`<em>callers without a name</em>` : named(tenant)

const PLAIN_TENANT = /^(?!\.+$)[\w.~-]+$/

/** Returns the address of a tenant's page, or of what belongs to it. Browsers would read some names as parts of a path. */
function addressOf(tenant: string, part?: 'kit'): string {
  const name = encodeURIComponent(tenant.toWellFormed())
  if (PLAIN_TENANT.test(tenant)) return `/migration/${name}${part ? `?${part}` : ''}`
  return `/migration?tenant=${name}${part ? `&${part}` : ''}`
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
    return (
      known.get(day) ?? {
        day,
        date: dayText(day),
        version1: 0,
        version2: 0,
        failed: 0,
        mistakes: 0,
        afterEnd: 0,
        dryRuns: 0,
      }
    )
  })
}

/** Shows the figures of a chart. */
function dayTable(days: readonly ShownDay[]): Html {
  const withCalls = days.filter(({ version1, version2, dryRuns }) => version1 + version2 + dryRuns > 0).toReversed()
  if (withCalls.length === 0) return html`<p class="soft">No calls in the last ${DAYS_SHOWN} days.</p>`
  return html`<details><summary>The same as a table</summary>${table<ShownDay>(
    'Calls by day (UTC), the last one first; days without calls are left out',
    [
      { title: 'Day', cell: ({ date }) => date },
      count('Version 1', ({ version1 }) => version1),
      count('Version 2', ({ version2 }) => version2),
      count('Failed', ({ failed }) => failed),
      count("Callers' mistakes", ({ mistakes }) => mistakes),
      count('Dry runs', ({ dryRuns }) => dryRuns),
    ],
    withCalls,
  )}</details>`
}
