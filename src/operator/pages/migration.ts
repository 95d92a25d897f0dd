import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { html } from 'hono/html'
import { toGatewayError } from '../../edge/answers.ts'
import type { Caller } from '../../edge/callers/caller.ts'
import { legacyCaller } from '../../edge/door.ts'
import type { Answer } from '../../language/answer.ts'
import { gatewayError, RETRY_SOON } from '../../language/errors.ts'
import { windowsToCome } from '../../language/legacy-headers.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import type { GatewayRooms } from '../../routes.ts'
import type { Call } from '../../runtime/call.ts'
import type { TenantBrownouts } from '../../runtime/signals.ts'
import { NO_NAME, STORE_EVERY_MS } from '../../state/uses/counts.ts'
import { toCell } from '../file-records.ts'
import {
  blockersOf,
  countBlockers,
  DAYS_SHOWN,
  detailsOf,
  emptyDay,
  type MigrationReport,
  type Overview,
  readReport,
  recentOverview,
  type ShownDay,
  type TenantReport,
  type TenantSummary,
} from '../reports/report.ts'
import { percent, sumOf, type Verdict, type VerdictState, verdictStates } from '../reports/verdict.ts'
import { problemsOf } from '../reports/work.ts'
import { grouped, isoTime, largestFirst, plural } from '../words.ts'
import { fixItKit } from './fix-it-kit.ts'
import type { OperatorRooms } from './home.ts'
import {
  type Column,
  chart,
  codeOf,
  facts,
  type Html,
  json,
  minuteOf,
  moment,
  named,
  ownPage,
  pill,
  queryOf,
  type Shell,
  shareBar,
  table,
  textTable,
  trendline,
  wantsHtml,
} from './layout.ts'

/** Answers `/migration` and `/migration/<tenant>`, as a page or as JSON. */
export async function migration(
  incoming: IncomingMessage,
  rooms: OperatorRooms,
  /** Empty where the path ends before one. */
  pathName: string,
): Promise<Answer> {
  const query = queryOf(incoming)
  const tenants = rooms.callers.tenants()
  const name = pathName === '' ? query.get('tenant') : pathName.replace(/\.json$/, '')
  if (name === null) {
    const overview = await recentOverview(rooms.store, tenants, rooms.uses.flush)
    const listing = listingOf(query)
    const list = listed(overview, listing)
    return wantsHtml(incoming) ? migrationPage(overview, listing, list, rooms) : json({ ...overview, ...list })
  }
  await rooms.uses.flush()
  const report = await readReport({ ...rooms, tenants }, name)
  const [tenant] = report.tenants
  if (!tenant) throw gatewayError('path-unknown/tenant', {})
  if (query.has('kit')) return fixItKit(tenant, rooms, rooms.callers.ownCaller(name))
  return wantsHtml(incoming)
    ? tenantPage(tenant, report, { show: rooms.show, at: 'Migration', kit: addressOf(name, 'kit') })
    : json(report)
}

type Compare = (one: TenantSummary, other: TenantSummary) => number

const byText =
  (text: 'tenant' | 'lastVersion1'): Compare =>
  (one, other) =>
    (one[text] ?? '') < (other[text] ?? '') ? -1 : 1

/** The orders of the list; without one, the tenant that called last is the first. */
const SORTS: Readonly<Record<string, readonly [title: string, compare?: Compare]>> = {
  last: ['Last call'],
  name: ['Name', byText('tenant')],
  calls: ['Version-1 calls', largestFirst('version1')],
  failed: ['Failed calls', largestFirst('failed')],
  quiet: ['Longest without version 1', byText('lastVersion1')],
}

const SEARCH_CHARACTERS = 100

/** Reads what a request asks for; words that mean nothing are left out. */
function listingOf(query: URLSearchParams) {
  const of = (name: string) => query.get(name) ?? ''
  return {
    /** A part of the name, in any case. */
    search: of('q').slice(0, SEARCH_CHARACTERS),
    state: Object.hasOwn(verdictStates, of('state')) ? of('state') : '',
    sort: Object.hasOwn(SORTS, of('sort')) ? of('sort') : 'last',
    /** From 1 on. */
    page: Math.max(1, Math.floor(Number(of('page'))) || 1),
  }
}

const TENANTS_ON_A_PAGE = 50

/** Finds, sorts and cuts the list of tenants. */
function listed({ tenants }: Overview, { search, state, sort, page }: ReturnType<typeof listingOf>) {
  const word = search.toLowerCase()
  const found = tenants.filter(
    ({ tenant, verdict }) => (state === '' || verdict.state === state) && tenant.toLowerCase().includes(word),
  )
  const [, compare] = SORTS[sort] ?? []
  const sorted = compare ? found.toSorted(compare) : found
  const pages = Math.max(1, Math.ceil(found.length / TENANTS_ON_A_PAGE))
  const at = Math.min(page, pages)
  return {
    tenants: sorted.slice((at - 1) * TENANTS_ON_A_PAGE, at * TENANTS_ON_A_PAGE),
    /** How many tenants the list has on all pages. */
    found: found.length,
    page: at,
    pages,
  }
}

/** Shows who still uses version 1. */
async function migrationPage(
  overview: Overview,
  { search, state, sort }: ReturnType<typeof listingOf>,
  { tenants, found, page, pages }: ReturnType<typeof listed>,
  rooms: OperatorRooms,
): Promise<Answer> {
  const { headline, verdict, watchedSince, watchedDays, generatedAt, states } = overview
  const all = overview.tenants.length
  const names = tenants.map(({ tenant }) => tenant)
  const columns = tenantColumns(await countBlockers(rooms, names))
  const watched = watchedSince && `Watched since ${watchedSince}, on ${plural(watchedDays, 'day')}. `
  const option = (value: string, title: string, chosen: string) =>
    html`<option value="${value}"${value === chosen && html` selected`}>${title}</option>`
  const verdicts = Object.entries(verdictStates).map(([name, title]) => {
    const count = states[name as VerdictState]
    return count && option(name, `${title} (${grouped(count)})`, state)
  })
  const toPage = (number: number, words: string) =>
    html`<a href="/migration?${new URLSearchParams({ q: search, state, sort, page: `${number}` })}#tenants">${words}</a>`
  const none =
    all === 0
      ? 'No calls yet. Tenants appear here once they call, or once a tenants file names them.'
      : html`No tenants match. <a href="/migration#tenants">Show all tenants</a>`
  return rooms.show(
    'Migration',
    html`<p class="soft">Can version 1 be switched off?</p>
<h1>${headline}</h1>
${verdict.reasons.map((reason) => html`<p>${named(reason)}</p>`)}
<p class="soft">${watched}As of ${moment(generatedAt)}; times are UTC. <a href="/migration.json">JSON</a></p>
${brownoutTable(rooms.callers.brownouts(), rooms.store.now(), ', except bookings and approvals if BROWNOUT_BOOKINGS is false')}
${callsByDay(overview.days, generatedAt)}
<h2 id="tenants">Tenants</h2>
<form action="/migration" method="get" class="filter" role="search">
<label>Name <input type="search" name="q" value="${search}" maxlength="${SEARCH_CHARACTERS}"></label>
<label>Verdict <select name="state">${option('', `all (${grouped(all)})`, state)}${verdicts}</select></label>
<label>Order <select name="sort">${Object.entries(SORTS).map(([name, [title]]) => option(name, title, sort))}</select></label>
<button>Show</button>
</form>
${table(`${plural(found, 'tenant')} found; calls of ${DAYS_SHOWN} days`, columns, tenants, 'list', none)}
${pages > 1 && html`<p class="pages">${page > 1 && toPage(page - 1, '← Previous')} Page ${grouped(page)} of ${grouped(pages)} ${page < pages && toPage(page + 1, 'Next →')}</p>`}`,
  )
}

const VERDICT_KINDS = {
  'after-end': 'bad',
  failing: 'bad',
  calling: 'warn',
  moving: 'warn',
  quiet: 'soft',
  'never-seen': 'soft',
  safe: 'good',
} as const

const verdictPill = ({ state }: Verdict): Html => pill(verdictStates[state], VERDICT_KINDS[state])

/** Shows the share of version 2; nothing without calls. */
function shareOf({ version1, version2 }: Pick<TenantSummary, 'version1' | 'version2'>) {
  const share = version2 / (version1 + version2)
  return !Number.isNaN(share) && html`<span class="of">${shareBar(share)} ${percent(share)}</span>`
}

const tenantColumns = (blockers: ReadonlyMap<string, number>): readonly Column<TenantSummary>[] => [
  ['Tenant', ({ tenant }) => html`<a href="${addressOf(tenant)}">${nameOf(tenant)}</a>`, 'line1'],
  ['Verdict', 'verdict', verdictPill, 'line1'],
  ['Share of version 2', shareOf, 'line2'],
  ['Four weeks', ({ weeklyShares }) => weeklyShares.some((share) => share !== null) && trendline(weeklyShares)],
  ['Blockers', ({ tenant }) => blockers.get(tenant) ?? 0],
  ['Last version-1 call', ({ lastVersion1 }) => lastVersion1?.slice(0, 'yyyy-mm-dd'.length) ?? 'none'],
  ['Version 1', 'version1'],
  ['Version 2', 'version2'],
  ['Failed', 'failed'],
]

/** The most brownouts that a page shows; `transload check` prints all. */
const MOST_BROWNOUTS = 20
/** So many names are told apart from all others. */
const FEW = 3

/** Shows the brownouts that are not over, the next one first, each once; nothing without any. `spared` ends the sentence about them. */
function brownoutTable(all: readonly TenantBrownouts[], now: number, spared: string): Html | undefined {
  const windows = all
    .flatMap(({ tenant, windows }) => windowsToCome(windows, now).map((window) => ({ tenant, ...window })))
    .sort((one, other) => one.start - other.start)
  if (windows.length === 0) return undefined
  const names = all.map(({ tenant }) => tenant)
  const brownouts = Map.groupBy(windows, ({ start, end }) => `${isoTime(start)} ${isoTime(end)}`)
  const rows = [...brownouts].slice(0, MOST_BROWNOUTS).map(([times, some]) => {
    const [start = '', end = ''] = times.split(' ')
    return { start, end, who: whoOf(new Set(some.map(({ tenant }) => tenant)), names) }
  })
  const columns: readonly Column<(typeof rows)[number]>[] = [
    ['From', 'start', minuteOf, 'line1'],
    ['Until', 'end', minuteOf, 'line1'],
    ['Callers', 'who', named, 'line2'],
    ['State', ({ start }) => (Date.parse(start) <= now ? pill('active', 'bad') : 'upcoming'), 'line2'],
  ]
  return html`<h2>Brownouts</h2>
<p>During these times, legacy calls are refused${spared}.</p>
${table('Brownouts, the next one first', columns, rows, 'list')}`
}

/** Names some of all callers in the fewest words. */
function whoOf(some: ReadonlySet<string>, all: readonly string[]): string {
  const others = all.filter((name) => !some.has(name))
  if (others.length === 0) return (all.length === 1 && all[0]) || 'all'
  if (some.size <= FEW) return [...some].join(', ')
  return others.length <= FEW ? `all except ${others.join(', ')}` : plural(some.size, 'tenant')
}

interface TenantPageOptions {
  readonly show: Shell
  /** The name of the page in the navigation. */
  readonly at: string
  /** The address of the fix-it kit. */
  readonly kit: string
  readonly first?: Html
}

/** Shows the use that one tenant makes of the gateway, and the work that is left: to an operator, or to the tenant itself. */
function tenantPage(
  tenant: TenantReport,
  { generatedAt }: MigrationReport,
  { show, at, kit, first }: TenantPageOptions,
): Promise<Answer> {
  const { verdict, actions, use, lastVersion1, lastSeen } = tenant
  const problems = problemsOf(tenant)
  const sums = sumOf(use)
  const none =
    actions.length === 0 ? 'No version-1 call in 90 days.' : 'Nothing. The other changes are only in spelling.'
  const download = html`<p><a class="button" href="${kit}" download>Download the fix-it kit</a> These calls as version-2 code, with a letter to the developers.</p>`
  return show(
    tenant.tenant || 'Callers without a name',
    html`<h1>${nameOf(tenant.tenant)} ${verdictPill(verdict)}</h1>
<p class="soft">As of ${moment(generatedAt)}; times are UTC. A call is counted within ${STORE_EVERY_MS / 1_000} seconds.</p>
${verdict.reasons.map((reason) => html`<p>${named(reason)}</p>`)}
${facts(
  [
    ['Version 1', grouped(sums.version1)],
    ['Version 2', grouped(sums.version2)],
    ['Share of version 2', shareOf(sums)],
    ['Last four weeks', tenant.weeklyShares.map((share) => (share === null ? '–' : percent(share))).join(' · ')],
    ['Last version-1 call', lastVersion1 === undefined ? 'none' : moment(lastVersion1)],
    ['Last call', lastSeen === undefined ? 'never' : moment(lastSeen)],
  ],
  'strip',
)}
${first}
<h2>Blocks migration (${grouped(problems.length)})</h2>
${textTable({ ...blockersOf(tenant), title: 'Each problem once, and what to do about it' }, 'cards', none)}
${actions.length > 0 && download}
${callsByDay(use, generatedAt)}
${foldedDetails(tenant)}`,
    { at },
  )
}

/** Folds the tables of a tenant. */
function foldedDetails(tenant: TenantReport) {
  const { otherPrice, otherPrices } = tenant
  const id = otherPrice?.requestId && html`, <code>X-Request-Id</code> ${codeOf(otherPrice.requestId)}`
  const details = detailsOf(tenant)
  return html`${(details.length > 0 || otherPrice) && html`<h2>Details</h2>`}
${details.map(
  (
    one,
  ) => html`<details><summary>${one.title} (${grouped(one.rows.length)})</summary>${textTable(one, 'plain')}</details>
`,
)}
${otherPrice && html`<p>Bookings at a price that differs from the quote: ${grouped(otherPrices)}. In each response, <code>Transload-Price</code> has both prices. The last one was at ${moment(otherPrice.last)}${id}.</p>`}`
}

const nameOf = (tenant: string): Html | string =>
  tenant === NO_NAME ? html`<em>callers without a name</em>` : named(tenant)

const PLAIN_TENANT = /^(?!\.+$)[\w.~-]+(?<!\.json)$/

/** Returns the address of a tenant's page, or of what belongs to it. Browsers would read some names as parts of a path. */
function addressOf(tenant: string, part?: 'kit'): string {
  const name = encodeURIComponent(tenant.toWellFormed())
  if (PLAIN_TENANT.test(tenant)) return `/migration/${name}${part ? `?${part}` : ''}`
  return `/migration?tenant=${name}${part ? `&${part}` : ''}`
}

const DAYS: readonly Column<ShownDay>[] = [
  ['Day', 'date'],
  ['Version 1', 'version1'],
  ['Version 2', 'version2'],
  ['Failed', 'failed'],
  ['Caller errors', 'mistakes'],
  ['Dry runs', 'dryRuns'],
]

/** Shows the calls of each day as a chart, and its figures. */
function callsByDay(use: readonly ShownDay[], generatedAt: string): Html {
  const known = new Map(use.map((day) => [day.day, day]))
  const first = Math.floor(Date.parse(generatedAt) / DAY_MS) - DAYS_SHOWN + 1
  const days = Array.from({ length: DAYS_SHOWN }, (_, i) => known.get(first + i) ?? emptyDay(first + i))
  const withCalls = days.filter(({ version1, version2, dryRuns }) => version1 + version2 + dryRuns > 0).toReversed()
  const caption = 'Calls by day (UTC), latest first; days without calls are left out'
  const figures =
    withCalls.length === 0
      ? html`<p class="soft">No calls in the last ${DAYS_SHOWN} days.</p>`
      : html`<details><summary>The same as a table</summary>${table(caption, DAYS, withCalls, 'plain')}</details>`
  return html`<h2>Calls by day</h2>
${chart(
  days.map(({ date }) => date),
  [
    ['version1', 'version 1', days.map(({ version1 }) => version1)],
    ['version2', 'version 2', days.map(({ version2 }) => version2)],
  ],
  'Calls by day, of version 1 and of version 2',
)}
${figures}`
}

/** Answers `/my`: the migration page of the caller alone, as a page, as JSON, or its fix-it kit. */
export async function ownMigration(incoming: IncomingMessage, call: Call, deps: GatewayRooms): Promise<Answer> {
  const caller = await provenCaller(incoming, call, deps)
  const { tenant } = caller
  const { sunset, retiredFrom, windows, coversBookings } = caller.profile.deprecation
  // Counts under any other name may be those of several callers.
  if (!OWN_NAME.test(tenant)) throw gatewayError('path-unknown/tenant', {})
  await deps.uses.flush()
  const report = await readReport({ ...deps, tenants: [tenant] }, tenant)
  const [own] = report.tenants
  if (!own) throw gatewayError('path-unknown/tenant', {})
  if (queryOf(incoming).has('kit')) return fixItKit(own, deps, caller)
  const problems = problemsOf(own)
  const now = deps.store.now()
  const brownouts = windowsToCome(windows, now).map(({ start, end }) => ({
    from: new Date(start),
    until: new Date(end),
  }))
  if (!wantsHtml(incoming)) {
    return json({
      generatedAt: report.generatedAt,
      countedWithinSeconds: STORE_EVERY_MS / 1_000,
      ...own,
      problems,
      brownouts,
      sunset,
      retiredFrom,
      kit: '/my?kit',
      numbers: '/my/numbers.csv',
    })
  }
  const end = (what: string, date: Date | undefined) => date && html`<p>${what} ${moment(date.toISOString())}.</p>`
  const first = html`${end('Version 1 is scheduled to end on', sunset)}
${end('All version-1 calls are refused from', retiredFrom)}
${brownoutTable([{ tenant, windows }], now, coversBookings ? '' : ', except bookings and approvals')}
<p><a href="/my/numbers.csv" download>Your numbers</a>, with their version-2 ids.</p>
`
  return tenantPage(own, report, { show: ownPage, at: 'Your migration', kit: '/my?kit', first })
}

/** Names that are never shortened or replaced where calls are counted. */
const OWN_NAME = /^[^\ufffd]{1,255}$/

/** Returns the caller, if the gateway knows it or the service accepts its credential. */
async function provenCaller(incoming: IncomingMessage, call: Call, deps: GatewayRooms): Promise<Caller> {
  const caller = await legacyCaller(deps.callers)(incoming, call)(undefined)
  const deadline = performance.now() + deps.config.UPSTREAM_TIMEOUT_MS
  try {
    await deps.prove({ account: caller.account, requestId: call.request.id, deadline })
  } catch (cause) {
    const { status, headers } = toGatewayError(cause)
    if (DECIDED.has(status)) throw cause
    throw gatewayError('service-unavailable/proof', {}, { cause, headers: { ...RETRY_SOON.headers, ...headers } })
  }
  return caller
}

/** The service's refusals of a credential, and a fault of the gateway itself. */
const DECIDED: ReadonlySet<number> = new Set([401, 403, 500])

/** Answers `/my/numbers.csv`: the caller's own numbers with the service's ids, a part at a time. */
export async function ownNumbers(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  call: Call,
  deps: GatewayRooms,
): Promise<void> {
  const { tenant } = await provenCaller(incoming, call, deps)
  const parts = deps.store.scan({ tenant })[Symbol.asyncIterator]()
  // A store that is down is an error, not an empty file.
  let part = await parts.next()
  async function* lines() {
    yield 'name,kind,vin,id,since\n'
    for (; !part.done; part = await parts.next()) {
      const rows = part.value.map(({ name, kind, vin, id, at }) => [name, kind, vin, id, isoTime(at)])
      yield rows.map((cells) => `${cells.map(toCell).join(',')}\n`).join('')
    }
  }
  outgoing.writeHead(200, {
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': 'attachment; filename="numbers.csv"',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': call.request.id,
  })
  outgoing.setTimeout(deps.readerTimeoutMs, () => outgoing.destroy())
  if (incoming.method === 'HEAD') outgoing.end()
  else await pipeline(Readable.from(lines()), outgoing)
}
