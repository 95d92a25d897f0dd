import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { publicView } from '../bookings/bookings.ts'
import { gatewayError } from '../errors.ts'
import { type Overview, type ReportDeps, readOverview, readReport } from '../migration/report.ts'
import type { TenantBrownouts } from '../observe/brownouts.ts'
import { LIST_LIMIT } from '../store/claim.ts'
import type { Claim, ClaimState, Claims, Store } from '../store/store.ts'
import { printableJson } from '../text/service-text.ts'
import { fixItKit, type KitDeps } from './fix-it-kit.ts'
import { asksForHtml, type Column, moment, named, page, section } from './layout.ts'
import { listed, listingOf, migrationPage, tenantPage } from './migration.ts'

/** The dependencies of the pages for operators. */
export interface AdminPagesDeps extends Omit<ReportDeps, 'tenants' | 'store'>, Omit<KitDeps, 'catalog'> {
  readonly store: ReportDeps['store'] & Pick<Claims, 'listClaims'> & Pick<Store, 'now'>
  /** Returns the tenants that the gateway knows by name. */
  readonly tenants: () => readonly string[]
  readonly brownouts: () => readonly TenantBrownouts[]
}

const INDENT = 2
const JSON_SUFFIX = '.json'

/** Answers `/migration` and `/migration/<tenant>`, as a page or as JSON. */
export async function migrationAnswer(
  incoming: IncomingMessage,
  pathName: string | undefined,
  deps: AdminPagesDeps,
): Promise<Answer> {
  const query = new URLSearchParams((incoming.url ?? '').split('?')[1])
  const name = pathName ?? query.get('tenant')
  return name === null ? allTenants(incoming, query, deps) : oneTenant(incoming, name, query.has('kit'), deps)
}

async function allTenants(incoming: IncomingMessage, query: URLSearchParams, deps: AdminPagesDeps): Promise<Answer> {
  const overview = await overviewOf(deps)
  const listing = listingOf(query)
  if (!wantsHtml(incoming)) return json({ ...overview, ...listed(overview, listing) })
  return migrationPage(overview, listing, deps.brownouts(), deps.store.now())
}

/** The last overview, while it is young for what it took to read it: pages cost a hundredth of a core at most. */
const overviews = new WeakMap<AdminPagesDeps['store'], { until: number; readonly overview: Promise<Overview> }>()
const REST_FACTOR = 100

function overviewOf(deps: AdminPagesDeps): Promise<Overview> {
  const { store } = deps
  const known = overviews.get(store)
  const began = performance.now()
  if (known && began < known.until) return known.overview
  const overview = readOverview({ ...deps, tenants: deps.tenants() })
  const made = { until: Number.POSITIVE_INFINITY, overview }
  overviews.set(store, made)
  overview.then(
    () => {
      const ended = performance.now()
      made.until = ended + (ended - began) * REST_FACTOR
    },
    () => overviews.delete(store),
  )
  return overview
}

async function oneTenant(
  incoming: IncomingMessage,
  name: string,
  wantsKit: boolean,
  deps: AdminPagesDeps,
): Promise<Answer> {
  const read = (tenant: string) => readReport({ ...deps, tenants: deps.tenants() }, tenant)
  const exact = await read(name)
  const isExact = exact.tenants.length > 0 || !name.endsWith(JSON_SUFFIX)
  const report = isExact ? exact : await read(name.slice(0, -JSON_SUFFIX.length))
  const [tenant] = report.tenants
  if (!tenant) throw gatewayError('path-unknown/tenant', {})
  if (wantsKit) return fixItKit(tenant, deps)
  return isExact && wantsHtml(incoming) ? tenantPage(tenant, report) : json(report)
}

/** Answers `/bookings`, as a page or as JSON. */
export async function bookingsAnswer(incoming: IncomingMessage, { store }: AdminPagesDeps): Promise<Answer> {
  const lists = await listBookings(store)
  return wantsHtml(incoming) ? bookingsPage(lists) : json(lists)
}

function wantsHtml({ url = '', headers }: IncomingMessage): boolean {
  return asksForHtml(headers.accept) && !url.split('?', 1)[0]?.endsWith(JSON_SUFFIX)
}

function json(value: object): Answer {
  const headers = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', Vary: 'Accept' }
  return { status: 200, headers, body: `${printableJson(value, INDENT)}\n` }
}

/** A booking as the page shows it. */
type ShownBooking = ReturnType<typeof publicView> & {
  /** The commands that settle it, if its outcome is not known. */
  readonly settle?: { readonly booked: string; readonly notBooked: string }
}

/** The bookings of the page, unknown ones first. */
interface BookingLists {
  readonly unknown: readonly ShownBooking[]
  readonly sending: readonly ShownBooking[]
  /** Bookings with an outcome, the latest first. */
  readonly settled: readonly ShownBooking[]
}

/** How many bookings with an outcome are shown. */
const MOST_SETTLED = 100
const SETTLED: readonly ClaimState[] = ['booked', 'refused', 'freed']

/** Reads the bookings of the page from the store. */
async function listBookings(store: Pick<Claims, 'listClaims'>): Promise<BookingLists> {
  const unknown = await store.listClaims({ state: 'unknown' })
  const sending = await store.listClaims({ state: 'sending' })
  const settled = await Promise.all(
    SETTLED.map((state) => store.listClaims({ state, limit: MOST_SETTLED, newest: true })),
  )
  const newestFirst = settled.flat().sort((one, other) => other.changedAt - one.changedAt)
  return {
    unknown: unknown.map(withCommands),
    sending: sending.map(publicView),
    settled: newestFirst.slice(0, MOST_SETTLED).map(publicView),
  }
}

function withCommands(claim: Claim): ShownBooking {
  const settle = `transload bookings settle ${claim.handle}`
  return { ...publicView(claim), settle: { booked: `${settle} --shipment-id ID`, notBooked: `${settle} --not-booked` } }
}

/** Shows bookings, those with an unknown outcome first. */
export function bookingsPage({ unknown, sending, settled }: BookingLists): Promise<Answer> {
  return page(
    'Bookings',
    html`<h1>Bookings</h1>
<p class="soft">Times are UTC. Also as <a href="/bookings.json">JSON</a>.</p>
<h2>Outcome not known</h2>
${section(unknown, 'Bookings that were sent and have no known outcome, the oldest first', UNKNOWN)}
${unknown.length === LIST_LIMIT ? html`<p>These are the oldest ${LIST_LIMIT}; there may be more.</p>` : ''}
${unknown.length === 0 ? '' : html`<p>Look for the shipment at the service; its <code>external_id</code> is the reference. Then run one of the two commands.</p>`}
<h2>Under way</h2>
${section(sending, 'Bookings that are being sent', COLUMNS)}
<h2>Latest</h2>
${section(settled, `The latest ${MOST_SETTLED} bookings with an outcome`, COLUMNS)}`,
  )
}

const COLUMNS: readonly Column<ShownBooking>[] = [
  { title: 'Key', cell: ({ key }) => html`<code>${key}</code>` },
  { title: 'State', cell: ({ state }) => state },
  { title: 'Tenant', cell: ({ tenant }) => named(tenant) },
  { title: 'Reference', cell: ({ reference }) => named(reference) },
  { title: 'VIN', cell: ({ vin }) => named(vin) },
  { title: 'Shipment', cell: ({ shipment }) => named(shipment) },
  { title: 'Created', cell: ({ created }) => moment(created) },
  { title: 'Changed', cell: ({ changed }) => moment(changed) },
]

const WITH_OUTCOME = new Set(['State', 'Shipment', 'Changed'])

const UNKNOWN: readonly Column<ShownBooking>[] = [
  ...COLUMNS.filter(({ title }) => !WITH_OUTCOME.has(title)),
  { title: 'If it was booked', cell: ({ settle }) => html`<code>${settle?.booked}</code>` },
  { title: 'If it was not', cell: ({ settle }) => html`<code>${settle?.notBooked}</code>` },
]
