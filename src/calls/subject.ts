import { type GatewayError, gatewayError, RETRY_SOON } from '../language/errors.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import { isPlainId, isUuid, shownText, thingKey } from '../language/text/service-text.ts'
import { refusal } from '../outside/service/failures.ts'
import { idAt, isCanceled, type Shipment, shipmentNamed, shipmentWithId } from '../outside/service/proofs.ts'
import { isNotFound, isSuccess } from '../outside/service/reply.ts'
import { type Sending, shipmentRead } from '../outside/service/service.ts'
import { updateLock } from '../outside/store/locks.ts'
import type { StoredShipment } from '../outside/store/store.ts'
import { SHOWN_AS_GONE } from '../state/bookings/record.ts'
import {
  type Look,
  type Names,
  type RememberedQuote,
  type SeenShipment,
  type Showing,
  valuesOf,
} from '../state/names/names.ts'
import {
  type NameUse,
  type Question,
  type Reference,
  type Resolution,
  type SentName,
  type ShipmentMeant,
  type VinMismatch,
  vehiclesIn,
  vinKey,
} from '../state/names/resolve.ts'
import { namesIn, type Version1 } from './read-request.ts'
import type { AskingCall, AskingRooms, CallRooms } from './verb.ts'

/** The quote or shipment that a call is about, as far as it is known. */
export interface Subject {
  /** The service's id; undefined if the call names nothing. */
  readonly id: string | undefined
  /** The caller's own number for it. */
  readonly own: string | undefined
  /** The quote whose facts the call uses; for a booking, the one that its reference names. */
  readonly quote: RememberedQuote | undefined
  /** True if a booking names its approved quote to the service. */
  readonly sendsQuoteId: boolean
}

/** The subject of a call that names nothing, such as a request for a new quote. */
export const NO_SUBJECT: Subject = { id: undefined, own: undefined, quote: undefined, sendsQuoteId: false }

/** A shipment that a call names. */
export interface ShipmentSubject extends Subject {
  readonly id: string
  readonly meant: ShipmentMeant
  /** The shipment, if the call has read it to find out what is meant. */
  readonly seen: SeenShipment | undefined
  readonly stored: StoredShipment | undefined
}

/** Returns the part of a call that says what it is about; undefined if it names nothing. */
export function referenceOf(request: Version1): Reference | undefined {
  const { target, verb } = request.compiled.action
  const names = target ? namesIn(request, target.namedBy) : []
  if (!target || names.length === 0) return undefined
  return {
    kind: target.kind,
    names,
    vin: vinOf(request),
    use: USES[verb] ?? 'read',
    changesVehicle: request.compiled.vehicleFields.some((field) => request.textOf(field) !== undefined),
  }
}

const USES: Readonly<Partial<Record<string, NameUse>>> = { update: 'update', cancel: 'cancel' }

/** Returns a call's VIN in the form that VINs are compared in; empty if there is none. */
export const vinOf = ({ compiled, sent }: Version1): string =>
  compiled.fields.slots.has('VinNo') ? vinKey(sent('VinNo')) : ''

/** Returns the shipment that a call names; throws if it names none, several, or a vehicle that it does not have. */
export async function shipmentNamedBy(
  reference: Reference,
  { caller: { tenant }, sending }: AskingCall,
  rooms: AskingRooms,
): Promise<ShipmentSubject> {
  const { resolution, stored, seen } = await rooms.names.resolve(reference, tenant, lookFor(tenant, sending, rooms))
  if (resolution.is !== 'shipment') throw notMeant(resolution, reference)
  return shipmentSubject(reference, resolution, stored, seen.get(thingKey(resolution.id)))
}

export function shipmentSubject(
  { names }: Reference,
  meant: ShipmentMeant,
  stored: StoredShipment | undefined,
  seen: SeenShipment | undefined,
): ShipmentSubject {
  const [, sentNumber] = names.find(([field]) => field === 'ShipmentNumber' && meant.field === field) ?? []
  const own = stored?.own || (meant.namedBy === 'service' ? undefined : sentNumber)
  return { ...NO_SUBJECT, id: meant.id, own, meant, seen, stored }
}

/** Returns the quote that a call names; throws if it names none, or several. */
export async function quoteNamedBy(reference: Reference, { caller: { tenant } }: AskingCall, { names }: AskingRooms) {
  const { resolution } = await names.resolve(reference, tenant)
  if (resolution.is !== 'quote') throw notMeant(resolution, reference)
  return quoteSubject(reference, resolution, tenant, names)
}

export async function quoteSubject(
  { names: sent }: Reference,
  { id, ignored }: { readonly id: string; readonly ignored: readonly SentName[] },
  tenant: string,
  names: Names,
) {
  const meant = sent.filter(([field]) => !ignored.some(([other]) => other === field))
  const quote = await names.quote(tenant, id, valuesOf(meant))
  const [, sentNumber] = meant.find(([field]) => field === 'ShipmentNumber') ?? []
  return { ...NO_SUBJECT, id: quote.id, own: sentNumber ?? quote.own, quote, ignored }
}

/** Makes a call's look at the service. Everything that a read shows is noted. */
export function lookFor(
  tenant: string,
  sending: Sending,
  rooms: AskingRooms,
  nameFields?: CompiledAction['nameFields'],
): Look {
  return {
    ask: async (value) => {
      if (!isPlainId(value)) return undefined
      const reply = await rooms.service.send(shipmentRead(value), sending)
      if (!isSuccess(reply.status)) {
        if (isNotFound(reply) || (!isUuid(value) && (NO_ID.has(reply.status) || reply.mayLackPath))) return undefined
        throw refusal(reply)
      }
      const seen = seenShipment(shipmentNamed(reply, value))
      await noteSeen(tenant, seen, rooms, { asked: [value] })
      return seen
    },
    read: async (id, stored) => {
      const reply = await rooms.service.send(shipmentRead(id), sending)
      if (!isSuccess(reply.status) && !isNotFound(reply)) throw refusal(reply, nameFields)
      // With the id that was asked for: the reply may spell it differently, and a booking is freed by its own.
      const seen = isSuccess(reply.status) ? { ...seenShipment(shipmentWithId(reply, id)), id } : goneShipment(id)
      await noteSeen(tenant, seen, rooms, { stored })
      return seen
    },
  }
}

/** Statuses that the service may return for something that is no UUID, besides the usual ones for what it does not find. */
const NO_ID = new Set([400, 405, 422])

export const seenShipment = ({ id, body }: Shipment): SeenShipment => ({
  id,
  body,
  vehicles: vehiclesIn(body),
  state: isCanceled(body) ? 'canceled' : 'live',
})

export const goneShipment = (id: string): SeenShipment => ({ id, body: undefined, vehicles: [], state: 'gone' })

/** Returns the service's names that an answer about a shipment may show. */
export const namesShownIn = (body: SeenShipment['body']): readonly string[] =>
  body ? ['number', 'external_id'].flatMap((place) => idAt(body, place) ?? []) : []

/** Records what a read has shown: the names that the answer may show, and that a shipment is gone, which frees its booking's key. */
export async function noteSeen(
  tenant: string,
  seen: SeenShipment,
  { names, bookings }: AskingRooms,
  { asked = [], ...showing }: Showing & { readonly asked?: readonly string[] } = {},
): Promise<void> {
  const { id, body, state } = seen
  // First, because it does not fail with the store.
  if (state !== 'live') await bookings.freeLater(tenant, [id], async (own) => own === id, SHOWN_AS_GONE)
  const isKnown = body !== undefined || (await names.shipment(tenant, id)) !== undefined
  if (isKnown) await names.noteShown(tenant, seen, [...asked, ...namesShownIn(body)], showing)
}

/**
 * Records what a read after a refused cancellation has shown: an update without an outcome may have changed the vehicles meanwhile. Returns
 * false if it is not recorded.
 */
export const noteStanding = (tenant: string, { id, body }: Shipment, rooms: AskingRooms): Promise<boolean> =>
  noteSeen(tenant, seenShipment({ id, body }), rooms).then(
    () => true,
    () => false,
  )

/** Records what the reply to an update has shown. If it says that the shipment is canceled, that frees nothing: only a read proves it. */
export const noteReplied = (tenant: string, seen: SeenShipment, { names }: AskingRooms): Promise<void> =>
  names.noteShown(tenant, seen, namesShownIn(seen.body), { isFinal: true })

/**
 * Notes that a shipment, given by its id or the service's number, may be canceled or changed, until a read shows it. The note comes before
 * the request is sent, because the gateway may not outlive it. Returns a function to call after it, which asks for each id whether the
 * request provably changed nothing. If so, it takes back the note; if not, it notes it again, because a read or another request may have
 * come meanwhile. Neither rejects.
 */
export async function noteInDoubt(tenant: string, name: string, { names, bookings, store }: CallRooms) {
  const standing = new Set<string>()
  const noted = new Set<string>()
  let isBegun = false
  const write = (work: () => Promise<void>) => bookings.later(tenant, `doubt about ${name}`, work)
  const change = async (id: string, from: string, state: 'live' | 'in-doubt') => {
    const now = (await names.shipment(tenant, id))?.state
    if (now === 'live' || now === 'in-doubt') standing.add(id)
    if (now !== from) return
    await names.write({ shipment: { tenant, id, state } })
    noted.add(id)
  }
  const begin = async () => {
    for (const id of [name, ...(await names.idsNamed(tenant, name))]) await change(id, 'live', 'in-doubt')
    isBegun = true
  }
  await write(begin)
  return async (isRefused: (id: string) => Promise<boolean>): Promise<void> => {
    const refused = new Set<string>()
    for (const id of isBegun ? standing : [name]) if (await isRefused(id)) refused.add(id)
    await write(async () => {
      // The store may have failed before, and this replaces what is to be written later.
      if (!isBegun) await begin()
      for (const id of standing) {
        if (!refused.has(id)) await change(id, 'live', 'in-doubt')
        // An update that is on its way is in doubt by itself.
        else if (noted.has(id) && !(await store.isLocked(updateLock(tenant, id)))) await change(id, 'in-doubt', 'live')
      }
    })
  }
}

/** Returns the error of a call that does not mean exactly one shipment or quote. */
export function notMeant(resolution: Resolution | Question, { kind, names, vin, use }: Reference): GatewayError {
  switch (resolution.is) {
    case 'conflict': {
      const said = resolution.meanings.map(
        ({ field, value, ids }) => `${field} ${shownText(value, SHOWN_CHARACTERS)} is ${ids.join(' or ')}`,
      )
      return gatewayError('numbers-disagree', { kind, meanings: said.join('; ') })
    }
    case 'in-doubt': {
      const { handle: key, state } = resolution.booking
      return state === 'sending' ? unknownWhileUnderWay(key) : gatewayError('outcome-unknown', { key })
    }
    case 'several':
    case 'no-such-vehicle':
      return vinError(resolution, vin, use)
    case 'unknown':
    case 'ask':
    case 'look':
    case 'quote':
    case 'shipment':
      return numberUnknown(kind, names)
    default:
      return resolution satisfies never
  }
}

/** The error of a call about a booking that is being sent. */
export const unknownWhileUnderWay = (key: string): GatewayError =>
  gatewayError('outcome-unknown/under-way', { key }, RETRY_SOON)

/** Returns the error of a call whose VIN, or missing VIN, chooses no vehicle. */
export function vinError({ is, vins: all }: VinMismatch, vin: string, use: NameUse): GatewayError {
  const vins = all.join(', ')
  if (is === 'no-such-vehicle') return gatewayError('number-unknown/vin', { vin, vins })
  if (vin === '') return gatewayError('several-matches', { vins })
  return gatewayError(use === 'cancel' ? 'several-matches/cancel' : 'several-matches/vin', { vin, vins })
}

/** Returns the error of a call whose names are all unknown. */
export function numberUnknown(kind: Reference['kind'], names: readonly SentName[]): GatewayError {
  return gatewayError('number-unknown', {
    kind,
    names: names.map(([field, value]) => `${field} ${value}`).join(' or '),
  })
}

/** Returns an answer's sentences about the names of its shipment. */
export function sentenceOnNames({ vin, use }: Reference, { bearers, ignored }: ShipmentMeant): string {
  const isOneOfSeveral = use === 'read' && bearers > 1 && vin === ''
  const several = isOneOfSeveral ? ` ${bearers} shipments have this number; the newest is shown.` : ''
  return several + ignoredSentence(ignored)
}

/** Returns a sentence about unknown values; empty if there are none. */
export function ignoredSentence(ignored: readonly SentName[]): string {
  if (ignored.length === 0) return ''
  const values = ignored.map(([field, value]) => `${field} ${shownText(value, SHOWN_CHARACTERS)}`).join(', ')
  return ` Unknown and ignored: ${values}.`
}

/** The longest value that a sentence repeats, because the rest of the message has to fit as well. */
const SHOWN_CHARACTERS = 128
