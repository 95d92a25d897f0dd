import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { publicView } from '../bookings/bookings.ts'
import { gatewayError } from '../errors.ts'
import { type MigrationReport, type ReportDeps, readReport } from '../migration/report.ts'
import type { TenantBrownouts } from '../observe/brownouts.ts'
import { LIST_LIMIT } from '../store/claim.ts'
import type { Claim, ClaimState, Claims, Store } from '../store/store.ts'
import { printableJson } from '../text/service-text.ts'
import { asksForHtml, type Column, moment, named, page, section } from './layout.ts'
import { migrationPage, tenantPage } from './migration.ts'

/** The dependencies of the pages for operators. */
export interface AdminPagesDeps extends Omit<ReportDeps, 'tenants' | 'store'> {
  readonly store: ReportDeps['store'] & Pick<Claims, 'listClaims'> & Pick<Store, 'now'>
  /** Returns the tenants that the gateway knows by name. */
  readonly tenants: () => readonly string[]
  readonly brownouts: () => readonly TenantBrownouts[]
}

/** Tenants on one page; a report of the command line has all. */
const MOST_TENANTS = 200
const INDENT = 2
const JSON_SUFFIX = '.json'

/** Answers `/migration` and `/migration/<tenant>`, as a page or as JSON. */
export async function migrationAnswer(
  incoming: IncomingMessage,
  pathName: string | undefined,
  deps: AdminPagesDeps,
): Promise<Answer> {
  const query = (incoming.url ?? '').split('?')[1]
  const name = pathName ?? new URLSearchParams(query).get('tenant')
  return name === null ? allTenants(incoming, deps) : oneTenant(incoming, name, deps)
}

async function allTenants(incoming: IncomingMessage, deps: AdminPagesDeps): Promise<Answer> {
  const report = await readReport({ ...deps, tenants: deps.tenants() }, { most: MOST_TENANTS })
  if (!wantsHtml(incoming)) return json(report)
  return migrationPage(report, deps.brownouts(), deps.store.now())
}

async function oneTenant(incoming: IncomingMessage, name: string, deps: AdminPagesDeps): Promise<Answer> {
  const read = (tenant: string) => readReport({ ...deps, tenants: deps.tenants() }, { tenant })
  const exact = await read(name)
  if (exact.tenants.length > 0 || !name.endsWith(JSON_SUFFIX)) return ofTenant(exact, wantsHtml(incoming))
  return ofTenant(await read(name.slice(0, -JSON_SUFFIX.length)), false)
}

/** Answers `/bookings`, as a page or as JSON. */
export async function bookingsAnswer(incoming: IncomingMessage, { store }: AdminPagesDeps): Promise<Answer> {
  const lists = await listBookings(store)
  return wantsHtml(incoming) ? bookingsPage(lists) : json(lists)
}

async function ofTenant(report: MigrationReport, asHtml: boolean): Promise<Answer> {
  const [tenant] = report.tenants
  if (!tenant) throw gatewayError('path-unknown/tenant', {})
  return asHtml ? tenantPage(tenant, report) : json(report)
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
