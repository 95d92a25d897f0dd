import { html } from 'hono/html'
import type { Answer } from '../answer.ts'
import { publicView } from '../bookings/bookings.ts'
import { LIST_LIMIT } from '../store/claim.ts'
import type { Claim, ClaimState, Claims } from '../store/store.ts'
import { type Column, type Html, moment, named, page, table } from './layout.ts'

/** A booking as the page shows it. */
export type ShownBooking = ReturnType<typeof publicView> & {
  /** The commands that settle it, if its outcome is not known. */
  readonly settle?: { readonly booked: string; readonly notBooked: string }
}

/** The bookings of the page, unknown ones first. */
export interface BookingLists {
  readonly unknown: readonly ShownBooking[]
  readonly sending: readonly ShownBooking[]
  /** Bookings with an outcome, the latest first. */
  readonly settled: readonly ShownBooking[]
}

/** How many bookings with an outcome are shown. */
const MOST_SETTLED = 100
const SETTLED: readonly ClaimState[] = ['booked', 'refused', 'freed']

/** Reads the bookings of the page from the store. */
export async function listBookings(store: Pick<Claims, 'listClaims'>): Promise<BookingLists> {
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
${list(unknown, 'Bookings that were sent and have no known outcome, the oldest first', UNKNOWN, 'None.')}
${unknown.length === LIST_LIMIT ? html`<p>These are the oldest ${LIST_LIMIT}; there may be more.</p>` : ''}
${unknown.length === 0 ? '' : html`<p>Look for the shipment at the service; its <code>external_id</code> is the reference. Then run one of the two commands.</p>`}
<h2>Under way</h2>
${list(sending, 'Bookings that are being sent', COLUMNS, 'None.')}
<h2>Latest</h2>
${list(settled, `The latest ${MOST_SETTLED} bookings with an outcome`, COLUMNS, 'None.')}`,
  )
}

function list(
  bookings: readonly ShownBooking[],
  caption: string,
  columns: readonly Column<ShownBooking>[],
  none: string,
): Html {
  return bookings.length === 0 ? html`<p class="soft">${none}</p>` : table(caption, columns, bookings)
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
