import { type HealedBy, holdersOf, isReopened, settle } from '../bookings/settlement.ts'
import type { Credentials, OwnCaller } from '../callers/caller.ts'
import { idAt, isSameId, type Shipment, shipmentNamed, shipmentWithId } from '../calls/verify.ts'
import { createBoundedCache } from '../collections/bounded-cache.ts'
import type { Catalog } from '../mapping/catalog.ts'
import type { Logger } from '../observe/log.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, type Service } from '../service/service.ts'
import type { Claim, Store } from '../store/store.ts'
import { thingKey } from '../text/service-text.ts'
import { identityKey, identityOf } from './identity.ts'
import { readShipment } from './read-shipment.ts'
import { ALL, type UnknownBookingsReader } from './unknown-bookings.ts'

/** Settles bookings with an unknown outcome by reads of their shipments. A booking stays unknown if no read proves its outcome. */
export interface Healing {
  /**
   * Reads a shipment that an event named, if a booking may be waiting for it. Rejects if the service cannot be asked now.
   */
  readonly byShipment: (tenant: string, shipment: string, how: HealedBy) => Promise<void>
  /** Asks the service for a shipment by the reference of a booking. Rejects if the service cannot be asked now. */
  readonly byReference: (claim: Claim) => Promise<void>
  /** Tells if a shipment was looked at before, and no booking waits for one with its identity. */
  readonly isKnownStranger: (tenant: string, shipment: string) => Promise<boolean>
}

export interface HealingDeps {
  readonly store: Store
  readonly unknownBookings: UnknownBookingsReader
  readonly credentials: Pick<Credentials, 'ownCaller'>
  readonly service: Pick<Service, 'send'>
  readonly catalog: Catalog
  readonly instance: string
  readonly timeoutMs: number
  readonly log: Logger
  readonly onHealed: (how: HealedBy) => void
}

/** The identity of a shipment that no unknown booking made. */
const NO_BOOKING = ''
const SHIPMENTS_KEPT = 50_000
/** Statuses of a read that may have no other outcome later. */
const NOT_THERE = new Set([400, 404, 405, 410, 422])

/** Makes the healing of one gateway. */
export function createHealing(deps: HealingDeps): Healing {
  const { store, unknownBookings, credentials, log } = deps
  /** The identities of shipments that were looked at. */
  const identities = createBoundedCache<string, string>(SHIPMENTS_KEPT)

  async function byShipment(tenant: string, shipment: string, how: HealedBy): Promise<void> {
    const own = credentials.ownCaller(tenant)
    if (!own || (await unknownBookings.of(tenant)).size === 0) return
    const isHeld = (await holdersOf(tenant, shipment, store)).length > 0
    if (isHeld) return void identities.set(shipmentKey(tenant, shipment), NO_BOOKING)
    const reply = await read(shipment, own)
    if (reply) await recognize(shipmentWithId(reply, shipment), tenant, own, how)
  }

  async function byReference({ tenant, reference }: Claim): Promise<void> {
    const own = credentials.ownCaller(tenant)
    const reply = own && (await read(reference, own))
    if (own && reply) await recognize(shipmentNamed(reply, reference), tenant, own, 'sweep')
  }

  async function read(name: string, own: OwnCaller): Promise<UpstreamReply | undefined> {
    const reply = await readShipment(name, own, deps)
    if (isSuccess(reply.status)) return reply
    if (NOT_THERE.has(reply.status)) return undefined
    throw refusal(reply)
  }

  /** Settles the booking that a shipment belongs to, if exactly one is waiting for it. */
  async function recognize(shipment: Shipment, tenant: string, own: OwnCaller, how: HealedBy): Promise<void> {
    const identity = identityOf(shipment)
    const key = identity ? identityKey(identity) : NO_BOOKING
    identities.set(shipmentKey(tenant, shipment.id), key)
    const [claim, ...others] = (await unknownBookings.of(tenant)).get(key) ?? []
    if (!claim) return
    if (others.length > 0)
      return log.warn({ tenant, shipment: shipment.id }, 'a shipment may belong to several bookings')
    await settleOne(claim, shipment, own, how)
  }

  async function settleOne(
    { handle }: Claim,
    shipment: Shipment,
    { profile }: OwnCaller,
    how: HealedBy,
  ): Promise<void> {
    // As it is before the checks: a booking that changes after them is not settled.
    const claim = await store.claimByHandle(handle)
    if (claim?.state !== 'unknown' || isReopened(await store.audit(handle))) return
    if ((await isOlder(shipment.id, claim)) || (await isSending(claim))) return
    const number = idAt(shipment.body, 'number')
    const { catalog, instance } = deps
    const settled = await settle(
      claim,
      { shipment: shipment.id, number, body: shipment.body },
      { store, catalog, instance, settings: profile.settings, healedBy: how },
    )
    if (settled.outcome !== 'changed') return
    unknownBookings.changed(claim.tenant)
    deps.onHealed(how)
    log.info({ booking: handle, tenant: claim.tenant, shipment: shipment.id, how }, 'an unknown booking was found')
  }

  /** Tells if a shipment existed before a booking was claimed: then another booking made it. */
  async function isOlder(id: string, { tenant, reference, createdAt }: Claim): Promise<boolean> {
    const links = await store.links(tenant, reference)
    if (links.some((link) => link.at < createdAt && isSameId(link.id, id))) return true
    return (await store.eventsOfShipment(tenant, thingKey(id))).some(({ receivedAt }) => receivedAt < createdAt)
  }

  /** Tells if another booking with this identity is under way: the shipment may be its own. */
  async function isSending({ tenant, reference, vin }: Claim): Promise<boolean> {
    const sending = await store.listClaims({ state: 'sending', tenant, limit: ALL })
    return sending.some((other) => other.reference === reference && other.vin === vin)
  }

  return {
    byShipment,
    byReference,
    isKnownStranger: async (tenant, shipment) => {
      const key = identities.get(shipmentKey(tenant, shipment))
      return key !== undefined && !(await unknownBookings.of(tenant)).has(key)
    },
  }
}

const shipmentKey = (tenant: string, shipment: string) => JSON.stringify([tenant, shipment.toLowerCase()])
