import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import { windowsToCome } from '../../language/deprecation.ts'
import { type ErrorCode, errorTable, faultOf, gatewayError } from '../../language/errors.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import type { TenantBrownouts } from '../../runtime/signals.ts'
import { NO_NAME } from '../../state/uses/counts.ts'
import {
  type ActionUse,
  type Counted,
  type CountedError,
  countBlockers,
  DAYS_SHOWN,
  dayText,
  type FieldUse,
  type MigrationReport,
  type Overview,
  percent,
  type ReportDeps,
  readOverview,
  readReport,
  type ShownDay,
  type TenantReport,
  type TenantSummary,
  total,
  type Verdict,
  type VerdictState,
  verdictStates,
  type WorkItem,
} from '../reports/report.ts'
import { grouped, plural } from '../words.ts'
import { fixItKit, type KitDeps } from './fix-it-kit.ts'
import {
  type Column,
  chart,
  count,
  empty,
  facts,
  type Html,
  JSON_SUFFIX,
  json,
  minuteOf,
  moment,
  named,
  ownPage,
  pill,
  type Shell,
  section,
  shareBar,
  table,
  trendline,
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
  const reading = overviewOf(deps)
  const listing = listingOf(query)
  if (!wantsHtml(incoming)) {
    const overview = await reading
    return json({ ...overview, ...listed(overview, listing) })
  }
  if (!overviews.get(deps.store)?.last && (await deps.store.countedTenants()).length > MANY_USES) {
    // The next view tells of a failure.
    reading.catch(() => undefined)
    return deps.show('Migration', html`<h1>Reading the counts…</h1><p>This page shows them in a moment.</p>`, {
      refreshSeconds: 1,
    })
  }
  return migrationPage(await reading, listing, deps)
}

/** The counts of more tenants, each with a use or two, take longer to read than somebody waits for. */
const MANY_USES = 100

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
async function migrationPage(overview: Overview, listing: Listing, deps: MigrationPagesDeps): Promise<Answer> {
  const { headline, verdict, watchedSince, watchedDays, generatedAt } = overview
  const shown = listed(overview, listing)
  const blockers = await countBlockers(
    deps,
    shown.tenants.map(({ tenant }) => tenant),
  )
  const watched = watchedSince === undefined ? '' : `Watched since ${watchedSince}, on ${plural(watchedDays, 'day')}. `
  return deps.show(
    'Migration',
    html`<p class="soft">Can version 1 be switched off?</p>
<h1>${headline}</h1>
${verdict.reasons.map((reason) => html`<p>${named(reason)}</p>`)}
<p class="soft">${watched}As of ${moment(generatedAt)}; times are UTC. <a href="/migration.json">JSON</a></p>
${brownoutTable(deps.brownouts(), deps.store.now())}
${callsByDay(overview.days, generatedAt)}
<h2 id="tenants">Tenants</h2>
${overview.tenants.length === 0 ? empty(html`No calls yet. Tenants show here once they call, or once a tenants file names them.`) : tenantList(overview, listing, shown, blockers)}`,
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

function tenantList(
  overview: Overview,
  { search, state, sort }: Listing,
  { tenants, found, page: at, pages }: Listed,
  blockers: ReadonlyMap<string, number>,
): Html {
  const option = (value: string, title: string, chosen: boolean) =>
    html`<option value="${value}"${chosen ? html` selected` : ''}>${title}</option>`
  const states = Object.entries(verdictStates).filter(([name]) => overview.states[name as VerdictState])
  const toPage = (number: number, words: string) => {
    const query = new URLSearchParams({ q: search, state: state ?? '', sort, page: String(number) })
    return html`<a href="/migration?${query}#tenants">${words}</a>`
  }
  return html`<form action="/migration" method="get" class="filter" role="search">
<label>Name <input type="search" name="q" value="${search}" maxlength="${SEARCH_CHARACTERS}"></label>
<label>Verdict <select name="state">${option('', `all (${grouped(overview.tenants.length)})`, state === undefined)}
${states.map(([name, title]) => option(name, `${title} (${grouped(overview.states[name as VerdictState] ?? 0)})`, name === state))}</select></label>
<label>Order <select name="sort">${Object.entries(SORTS).map(([name, { title }]) => option(name, title, name === sort))}</select></label>
<button>Show</button>
</form>
${section(tenants, `${plural(found, 'tenant')} found; calls of ${DAYS_SHOWN} days`, tenantColumns(blockers), html`No tenants match. <a href="/migration#tenants">Show all tenants</a>`, 'list')}
${pages === 1 ? '' : html`<p class="pages">${at > 1 ? toPage(at - 1, '← Before') : ''} Page ${grouped(at)} of ${grouped(pages)} ${at < pages ? toPage(at + 1, 'Next →') : ''}</p>`}`
}

const VERDICT_KINDS: Readonly<Record<VerdictState, 'good' | 'bad' | 'warn' | 'soft'>> = {
  'after-end': 'bad',
  failing: 'bad',
  calling: 'warn',
  moving: 'warn',
  quiet: 'soft',
  'never-seen': 'soft',
  safe: 'good',
}

const verdictPill = ({ state }: Verdict): Html => pill(verdictStates[state], VERDICT_KINDS[state])

/** Shows the share of version 2; nothing without calls. */
const shareOf = ({ version1, version2 }: Pick<TenantSummary, 'version1' | 'version2'>): Html | '' =>
  version1 + version2 === 0
    ? ''
    : html`<span class="of">${shareBar(version2 / (version1 + version2))} ${percent(version2 / (version1 + version2))}</span>`

const tenantColumns = (blockers: ReadonlyMap<string, number>): readonly Column<TenantSummary>[] => [
  { title: 'Tenant', cell: ({ tenant }) => html`<a href="${addressOf(tenant)}">${nameOf(tenant)}</a>`, line: 1 },
  { title: 'Verdict', cell: ({ verdict }) => verdictPill(verdict), line: 1 },
  { title: 'Share of version 2', cell: shareOf, line: 2 },
  {
    title: 'Four weeks',
    cell: ({ weeklyShares }) => (weeklyShares.every((share) => share === null) ? '' : trendline(weeklyShares)),
  },
  {
    ...count<TenantSummary>('Blockers', ({ tenant }) => blockers.get(tenant) ?? 0),
  },
  { title: 'Last version-1 call', cell: ({ lastVersion1 }) => lastVersion1?.slice(0, DATE_CHARACTERS) ?? 'none' },
  count('Version 1', ({ version1 }) => version1),
  count('Version 2', ({ version2 }) => version2),
  count('Failed', ({ failed }) => failed),
]

/** The most brownouts that a page shows; `transload check` prints all. */
const MOST_BROWNOUTS = 20
/** So many names are told apart from all others. */
const FEW = 3

/** Shows the brownouts that are not over, the next one first, each once; nothing without any. */
export function brownoutTable(all: readonly TenantBrownouts[], now: number): Html {
  const windows = all.flatMap(({ tenant, windows: own }) =>
    windowsToCome(own, now).map((window) => ({ tenant, ...window })),
  )
  if (windows.length === 0) return html``
  const names = all.map(({ tenant }) => tenant)
  const brownouts = [...Map.groupBy(windows, ({ start, end }) => `${start} ${end}`).values()]
    .flatMap((some) => {
      const [first] = some
      return first
        ? [{ start: first.start, end: first.end, who: whoOf(new Set(some.map(({ tenant }) => tenant)), names) }]
        : []
    })
    .sort((one, other) => one.start - other.start)
  return html`<h2>Brownouts</h2>
<p>In these times legacy calls are refused.</p>
${table<(typeof brownouts)[number]>(
  'Brownouts, the next one first',
  [
    { title: 'From', cell: ({ start }) => minuteOf(new Date(start).toISOString()), line: 1 },
    { title: 'Until', cell: ({ end }) => minuteOf(new Date(end).toISOString()), line: 1 },
    { title: 'Callers', cell: ({ who }) => named(who), line: 2 },
    { title: 'State', cell: ({ start }) => (start <= now ? pill('active', 'bad') : 'to come'), line: 2 },
  ],
  brownouts.slice(0, MOST_BROWNOUTS),
  'list',
)}`
}

/** Names some of all callers in the fewest words. */
function whoOf(some: ReadonlySet<string>, all: readonly string[]): string {
  const others = all.filter((name) => !some.has(name))
  if (others.length === 0) return all.length === 1 && all[0] !== '' ? (all[0] ?? '') : 'all'
  if (some.size <= FEW) return [...some].join(', ')
  return others.length <= FEW ? `all except ${others.join(', ')}` : plural(some.size, 'tenant')
}

const DATE_CHARACTERS = 10

/** The parts of a tenant's page that depend on who looks. */
interface Look {
  readonly show: Shell
  /** The address of the fix-it kit. */
  readonly kit: string
  readonly first?: Html
}

/** Shows the use that one tenant makes of the gateway, and the work that is left: to an operator, or to the tenant itself. */
export function tenantPage(tenant: TenantReport, { generatedAt }: MigrationReport, look: Look): Promise<Answer> {
  const { verdict, actions, work, errors, fields, unknownFields, agents, networks, use } = tenant
  const problems = problemsOf(tenant)
  const rest = work.filter(({ blocks }) => blocks === undefined)
  const sums = { version1: total(use, 'version1'), version2: total(use, 'version2') }
  const folded = (title: string, many: number, content: Html) =>
    many === 0 ? '' : html`<details><summary>${title} (${grouped(many)})</summary>${content}</details>`
  return look.show(
    tenant.tenant || 'Callers without a name',
    html`<h1>${nameOf(tenant.tenant)} ${verdictPill(verdict)}</h1>
<p class="soft">As of ${moment(generatedAt)}; times are UTC.</p>
${verdict.reasons.map((reason) => html`<p>${named(reason)}</p>`)}
${facts(
  [
    ['Version 1', grouped(sums.version1)],
    ['Version 2', grouped(sums.version2)],
    ['Share of version 2', shareOf(sums)],
    ['Last four weeks', tenant.weeklyShares.map((share) => (share === null ? '–' : percent(share))).join(' · ')],
    ['Last version-1 call', tenant.lastVersion1 === undefined ? 'none' : moment(tenant.lastVersion1)],
    ['Last call', tenant.lastSeen === undefined ? 'never' : moment(tenant.lastSeen)],
  ],
  'strip',
)}
${look.first ?? ''}
<h2>Blocks migration (${grouped(problems.length)})</h2>
${section(problems, 'Each problem once, and what to do about it', PROBLEMS, actions.length === 0 ? 'No version-1 call in 90 days.' : 'Nothing: the rest is a change of spelling.')}
${actions.length === 0 ? '' : html`<p><a class="button" href="${look.kit}" download>Download the fix-it kit</a> These calls as version-2 code, with a letter to the developers.</p>`}
${callsByDay(use, generatedAt)}
<h2>Details</h2>
${folded('Other changes', rest.length, table('Changes only in spelling', WORK, rest))}
${folded('Actions', actions.length, table('Version-1 calls by action, in 90 days', ACTIONS, actions, 'plain'))}
${folded('Errors', errors.length, table('Errors, with the request id of the last one for the log', ERRORS, errors))}
${folded('Fields', fields.length, table('Version-1 fields, how often each was sent', FIELDS, fields, 'plain'))}
${folded('Unknown fields', unknownFields.length, table('Fields that no mapping knows', counted('Field'), unknownFields, 'plain'))}
${folded('User agents', agents.length, table('User agents', counted('User agent'), agents, 'plain'))}
${folded('Networks', networks.length, table('Source networks', counted('Network'), networks, 'plain'))}
${tenant.otherPrices === 0 ? '' : html`<p>${plural(tenant.otherPrices, 'booking')} cost something else than quoted; the log line of each has both prices.</p>`}`,
    { at: look.show === ownPage ? 'Your migration' : 'Migration' },
  )
}

/** Something that keeps a caller from moving, or its calls from working. */
interface Problem {
  readonly problem: string
  readonly count: number
  readonly last: string
  readonly todo: string
}

/** Lists each problem of a tenant once. */
export function problemsOf({ work, errors }: TenantReport): readonly Problem[] {
  const blocking = work.filter(({ blocks }) => blocks !== undefined)
  const refused = errors.filter(({ name }) => ['caller', 'nobody'].includes(faultOf(name)))
  const alike = Map.groupBy(blocking, (item) => [item.action, item.blocks, todoFor(item)].join('\n'))
  return [
    ...[...alike.values()].flatMap((some) => {
      const [first] = some
      if (!first) return []
      const names = some.map(({ name }) => name || 'other fields').join(', ')
      return {
        problem: `${first.action} ${names}: ${first.blocks}`.trimStart(),
        count: Math.max(...some.map((item) => item.count)),
        last:
          some
            .map(({ last }) => last)
            .sort()
            .at(-1) ?? first.last,
        todo: todoFor(first),
      }
    }),
    ...refused.map(({ name, count: times, last }) => ({
      problem: Object.hasOwn(errorTable, name) ? errorTable[name as ErrorCode].title : name,
      count: times,
      last,
      todo: faultOf(name) === 'nobody' ? MOVE : TRY,
    })),
  ]
}

function todoFor({ equivalents, note, didYouMean }: WorkItem): string {
  if (didYouMean !== undefined) return `Did you mean ${didYouMean}? The gateway leaves this field out.`
  return equivalents.length > 0 ? `Send ${equivalents.join(', ')}: ${note}` : `Leave it out: ${note}`
}

const MOVE = 'Move these calls to version 2: the fix-it kit has the code.'
const TRY = 'Send the same call to /dry-run: it names every field that is wrong, and why.'

const PROBLEMS: readonly Column<Problem>[] = [
  { title: 'Problem', cell: ({ problem }) => named(problem) },
  count('Count', (problem) => problem.count),
  { title: 'Last time', cell: ({ last }) => moment(last) },
  { title: 'What to do', cell: ({ todo }) => named(todo) },
]

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
  count('Caller errors', ({ mistakes }) => mistakes),
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
      count('Caller errors', ({ mistakes }) => mistakes),
      count('Dry runs', ({ dryRuns }) => dryRuns),
    ],
    withCalls,
    'plain',
  )}</details>`
}
