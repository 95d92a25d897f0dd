import { GatewayError } from '../errors.ts'
import type { Finds } from '../mapping/action.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, readJson, type Service } from '../service/service.ts'
import type { Facts } from '../store/store.ts'
import { type Known, vinKey, type Xref } from '../xref/xref.ts'
import type { Sending } from './send.ts'

/** The thing that a call is about. */
export interface Found {
  readonly id: string
  /** The field whose value named it. */
  readonly by: string
  /** The caller's own number for it. */
  readonly own: string | undefined
  readonly facts: Facts | undefined
  /** Whether the cross-reference or the service knew it as a shipment, so that it did exist once. */
  readonly booked: boolean
  /** The shipment itself, where it had to be read to be found. */
  readonly read?: UpstreamReply
}

/** What a call says about the thing it means. */
export interface Named {
  /** Field and value, in order of preference; never empty. */
  readonly names: readonly (readonly [field: string, value: string])[]
  readonly vin: string | undefined
  /** Whether the newest of several will do, as it does for reading. */
  readonly newestWillDo: boolean
  /** Whether the call may give a shipment another VIN, so that one that differs is no mistake. */
  readonly changesVin: boolean
}

/** What finding looks into. */
export interface FindDeps {
  readonly xref: Xref
  readonly service: Service
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** Whether a value is an id of the service by its looks. */
export const isId = (value: string): boolean => UUID.test(value)
/** A value that may be asked for; everything else could be more than one segment of a path. */
const PLAIN = /^(?!\.+$)[A-Za-z0-9._-]{1,64}$/

/** An id as one segment of a path; `..` would still climb, percent-encoded or not. */
export function pathSegment(id: string): string {
  if (/^\.+$/.test(id)) throw new GatewayError('number-unknown', 'An id of nothing but dots names nothing.')
  return encodeURIComponent(id)
}

/** Finds what the caller has a number for: the cross-reference, then the value as an id, then the service. */
export async function find(finds: Finds, named: Named, sending: Sending, { xref, service }: FindDeps): Promise<Found> {
  const { tenant } = sending.caller
  // The list of VINs is told only to a credential that the service accepts for one of the shipments.
  const mayKnow = async (id: string) => {
    const path = `/v2/shipments/${pathSegment(id)}`
    const reply = await service.send({ method: 'GET', path, namesAnId: true }, sending)
    if (reply.status === 401 || reply.status === 403) throw refusal(reply)
  }
  const known = await findKnown(finds, named, tenant, xref, mayKnow)
  if (known) return known
  if (finds.kind === 'shipment') {
    for (const [by, value] of named.names) {
      const read = PLAIN.test(value) ? await askFor(value, sending, service) : undefined
      const id = read && idOf(read)
      if (!read || id === undefined) continue
      await xref.keep(tenant, { kind: 'shipment', id, names: [value], vin: '', own: undefined, facts: undefined })
      return { by, id, booked: true, read, ...(await xref.memory(tenant, id)) }
    }
  }
  const all = named.names.map(([field, value]) => `${field} ${value}`).join(' or ')
  throw new GatewayError('number-unknown', `No ${finds.kind} is known as ${all}. Check the number.`)
}

/** Finds what the gateway knows by itself: nothing is sent but what `mayKnow` sends before VINs are listed. */
export async function findKnown(
  { kind }: Finds,
  named: Named,
  tenant: string,
  xref: Xref,
  mayKnow: (id: string) => Promise<void>,
): Promise<Found | undefined> {
  const foundAs = async (by: string, value: string, match: Known): Promise<Found> => {
    const { own, facts } = await xref.memory(tenant, match.id)
    const name = by === 'ShipmentNumber' ? value : undefined
    return { by, id: match.id, booked: match.kind === 'shipment', own: own ?? name, facts }
  }
  let quoted: (() => Promise<Found>) | undefined
  for (const [by, value] of named.names) {
    const known = await xref.known(tenant, value)
    const [quote] = known.filter((one) => one.kind === 'quote')
    const match = kind === 'quote' ? quote : await bookingAmong(known, named, mayKnow)
    if (match) return foundAs(by, value, match)
    if (quote) quoted ??= () => foundAs(by, value, quote)
  }
  for (const [by, value] of named.names) {
    if (isId(value)) return { by, id: value, booked: false, ...(await xref.memory(tenant, value)) }
  }
  // A quote that was approved is a shipment; but any name that stands for a booking comes before it.
  return quoted?.()
}

/** The booking of a name; a VIN chooses among several. */
async function bookingAmong(
  known: readonly Known[],
  { vin, newestWillDo, changesVin }: Named,
  mayKnow: (id: string) => Promise<void>,
): Promise<Known | undefined> {
  const bookings = known.filter((one) => one.kind === 'shipment')
  const [newest] = bookings
  if (!newest) return undefined
  const chosen = vin === undefined ? undefined : bookings.find((one) => one.vin === vinKey(vin))
  if (chosen) return chosen
  const several = new Set(bookings.map(({ id }) => id)).size > 1
  const otherVin = vin !== undefined && newest.vin !== ''
  if (several ? newestWillDo && vin === undefined : newestWillDo || changesVin || !otherVin) return newest
  await mayKnow(newest.id)
  const vins = bookings.map((one) => one.vin || '(none)').join(', ')
  throw new GatewayError(
    'several-matches',
    `The number stands for ${several ? 'several shipments' : 'another vehicle'}. Send the VinNo that is meant, one of: ${vins}.`,
  )
}

/** What asking for something that is no id at all may answer besides 404. */
const NOT_FOUND = new Set([400, 404, 405, 410, 422])

/** Asks the service for a shipment by what may be its own number. */
async function askFor(value: string, sending: Sending, service: Service): Promise<UpstreamReply | undefined> {
  const reply = await service.send({ method: 'GET', path: `/v2/shipments/${value}`, namesAnId: true }, sending)
  if (isSuccess(reply.status)) return reply
  if (NOT_FOUND.has(reply.status)) return undefined
  throw refusal(reply)
}

function idOf(reply: UpstreamReply): string | undefined {
  const body = readJson(reply)
  const id: unknown = typeof body === 'object' && body !== null && 'id' in body ? body.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}
