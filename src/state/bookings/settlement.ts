import type { Answer } from '../../language/answer.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import type { Draft } from '../../language/mapping/paths.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { headerText, isSameThing, thingKey } from '../../language/text/service-text.ts'
import { toldBy } from '../../outside/store/claim.ts'
import type { AuditEntry, Claim, ClaimState, Quote, Store } from '../../outside/store/store.ts'
import { formerVinsAfter, namesOfShipment } from '../names/names.ts'
import { vehiclesIn } from '../names/resolve.ts'
import { holdersOf, NUMBER_HEADER, numberIn, priceHeader, requestOf } from './bookings.ts'

/** The shipment that a booking made. */
export interface BookedShipment {
  readonly shipment: string
  readonly number: string | undefined
  /**
   * The shipment as the service shows it, for an answer with more than its numbers.
   * @default only the numbers
   */
  readonly body?: Readonly<Draft>
}

/** The operator's decision on a booking with an unknown outcome. */
export type Settlement = 'not-booked' | BookedShipment

/** The result of settling or reopening a booking. */
export type SettlementResult =
  | { readonly outcome: 'changed'; readonly claim: Claim }
  /** The booking is not in a state that allows this, or was changed in the meantime. */
  | { readonly outcome: 'wrong-state'; readonly state: ClaimState }
  /** Another booking holds the shipment. */
  | { readonly outcome: 'taken'; readonly by: string }

/** The dependencies of a settlement. */
export interface SettlementRooms {
  readonly store: Store
  readonly catalog: Catalog
  readonly settings: Settings
  /** The person or gateway that settles, for the audit trail. */
  readonly instance: string
  /**
   * How the gateway found the shipment by itself.
   * @default an operator settles
   */
  readonly healedBy?: HealedBy
}

/** How a gateway finds the shipment of a booking with an unknown outcome: by one of the service's events, or by a sweep. */
export const HEALED_BY = ['webhook', 'sweep'] as const
export type HealedBy = (typeof HEALED_BY)[number]

/** The audit trail's reasons for settlements. A booking can be reopened only if one of them is its last entry. */
const SETTLED_AS_BOOKED = 'settled: booked'
const SETTLED_AS_NOT_BOOKED = 'settled: not booked'
const HEALED = 'healed: '
const REOPENED = 'reopened'

/** Reports whether an operator took back the last settlement. From then on, only an operator settles the booking. */
export const isReopened = (audit: readonly AuditEntry[]): boolean => audit.at(-1)?.why === REOPENED

/** Settles an unknown booking. The caller's next retry is answered from the settlement. */
export function settle(claim: Claim, settlement: Settlement, rooms: SettlementRooms): Promise<SettlementResult> {
  const { store, instance, healedBy: how } = rooms
  return alone(claim, store, async () => {
    if (claim.state !== 'unknown') return { outcome: 'wrong-state', state: claim.state }
    if (settlement === 'not-booked') {
      const change = { state: 'freed', instance, why: SETTLED_AS_NOT_BOOKED } as const
      return resultOf(await store.change(claim, change), claim, store)
    }
    const { shipment } = settlement
    // Two bookings that are settled at the same time must not both find the shipment free.
    return store.exclusive(`settlement ${claim.tenant}\n${thingKey(shipment)}`, WAIT_MS, async () => {
      const holder = (await holdersOf(claim.tenant, shipment, store)).find(({ handle }) => handle !== claim.handle)
      if (holder) return { outcome: 'taken', by: holder.handle }
      // The names come first, because a caller may ask for them once the claim says booked.
      const quote = await giveNames(claim, settlement, store)
      const reply = JSON.stringify(settledAnswer(claim, settlement, quote?.price, rooms))
      const why = how ? HEALED + how : SETTLED_AS_BOOKED
      const settled = await store.change(claim, { state: 'booked', instance, shipment, reply, why })
      if (settled) return { outcome: 'changed', claim: settled }
      // The gateway that sent the booking may have recorded the same shipment meanwhile, and then the names are right.
      const current = await store.claimByHandle(claim.handle)
      if (current?.state !== 'booked' || !isSameThing(current.shipment, shipment))
        await takeBackNames(claim, settlement, store)
      return resultOf(undefined, claim, store)
    })
  })
}

/**
 * Takes back a wrong settlement: the booking is unknown again, and its names mean what they meant before. No other booking can be reopened.
 */
export function reopen(
  claim: Claim,
  { store, instance }: { readonly store: Store; readonly instance: string },
): Promise<SettlementResult> {
  return alone(claim, store, async () => {
    const why = (await store.audit(claim.handle)).at(-1)?.why ?? ''
    if (why !== SETTLED_AS_BOOKED && why !== SETTLED_AS_NOT_BOOKED && !why.startsWith(HEALED)) {
      return { outcome: 'wrong-state', state: claim.state }
    }
    // The names come first, so that an interrupted attempt can be repeated.
    await takeBackNames(claim, { shipment: claim.shipment, number: numberIn(claim) }, store)
    const change = { state: 'unknown', instance, shipment: '', reply: '', why: REOPENED } as const
    return resultOf(await store.change(claim, change), claim, store)
  })
}

/** How long a settlement waits for another one of the same booking or shipment. */
const WAIT_MS = 10_000

/** Runs work on a claim while no other settlement of it runs, unless the claim was changed since it was read. */
function alone(claim: Claim, store: Store, work: () => Promise<SettlementResult>): Promise<SettlementResult> {
  return store.exclusive(`settlement ${claim.handle}`, WAIT_MS, async () => {
    const current = await store.claimByHandle(claim.handle)
    return current?.version === claim.version ? work() : resultOf(undefined, claim, store)
  })
}

async function resultOf(changed: Claim | undefined, before: Claim, store: Store): Promise<SettlementResult> {
  if (changed) return { outcome: 'changed', claim: changed }
  const current = await store.claimByHandle(before.handle)
  return { outcome: 'wrong-state', state: current?.state ?? before.state }
}

/** Returns the answer that the booking would have had. */
function settledAnswer(
  claim: Claim,
  { shipment, number, body = { id: shipment, ...(number && { number }) } }: BookedShipment,
  quotedPrice: string | undefined,
  { catalog, settings }: SettlementRooms,
): Answer {
  const reply = catalog.firstOf('book')?.reply(body, { settings, own: undefined }).reply ?? {}
  return {
    status: 200,
    headers: {
      'Transload-Shipment-Id': headerText(shipment),
      ...(number && { [NUMBER_HEADER]: headerText(number) }),
      ...priceHeader(quotedPrice, body),
      ...requestOf(claim).headers,
    },
    body: JSON.stringify(reply),
  }
}

/** Gives a booking's reference and its shipment's number to that shipment, in one durable step. Returns the booking's quote. */
async function giveNames(
  claim: Claim,
  { shipment: id, number, body }: BookedShipment,
  store: Store,
): Promise<Quote | undefined> {
  const { tenant, reference } = claim
  // The reference may name a newer quote by now, but a claim of an earlier version tells nothing else.
  const named = async () => (await store.named(tenant, reference)).find(({ kind }) => kind === 'quote')?.id ?? ''
  const { quote: from = reference === '' ? '' : await named() } = requestOf(claim)
  const quote = from === '' ? undefined : await store.quote(tenant, from)
  const shown = body ? vehiclesIn(body) : []
  const { vin, year = '', make = '', model = '' } = toldBy(claim)
  const vehicles = shown.length > 0 ? shown : [{ vin, year, make, model }]
  // A booking that was merged into it may have changed its VIN.
  const formerVins = formerVinsAfter(await store.shipment(tenant, id), vehicles)
  await store.put({
    names: namesOf(claim, id, number),
    shipment: {
      tenant,
      id,
      own: quote?.own ?? '',
      vehicles,
      formerVins,
      state: 'live',
      quote: from,
      // It was sent then: what is gone since is not older.
      at: claim.createdAt,
    },
  })
  return quote
}

/**
 * Takes a booking's names away from the shipment that a settlement gave them to, except those that it has since the approval of its quote.
 */
async function takeBackNames(claim: Claim, { shipment: id, number }: BookedShipment, store: Store): Promise<void> {
  if (id === '') return
  const { tenant } = claim
  const approved = await approvedQuoteOf(id, tenant, store)
  const kept = approved?.own ? [approved.own] : (approved?.names ?? [])
  await store.unlink(namesOf(claim, id, number).filter(({ name }) => !kept.includes(name)))
  await store.put({ shipment: { tenant, id, quote: approved?.id ?? '' } })
}

/** Returns the quote whose approval made a shipment: it has the quote's id, or one that the approval's reply named. */
async function approvedQuoteOf(id: string, tenant: string, store: Store): Promise<Quote | undefined> {
  const itself = await store.quote(tenant, id)
  if (itself?.approval) return itself
  const from = (await store.shipment(tenant, id))?.quote
  const quote = from ? await store.quote(tenant, from) : undefined
  return quote?.approval === 'approved' && quote.idsInApproval.includes(id) ? quote : undefined
}

const namesOf = ({ tenant, reference }: Claim, id: string, number: string | undefined) =>
  namesOfShipment(tenant, id, reference === '' ? [] : [reference], number)
