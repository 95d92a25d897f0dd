import type { Credentials, OwnCaller } from '../../edge/callers/caller.ts'
import type { Config } from '../../language/config/config.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import { isStructure, scalarText } from '../../language/text/json.ts'
import { isPlainId, isSameThing, thingKey } from '../../language/text/service-text.ts'
import { refusal } from '../../outside/service/failures.ts'
import {
  idAt,
  isCanceled,
  isGone,
  isSameId,
  type Shipment,
  shipmentIfRead,
  shipmentNamed,
  shipmentWithId,
} from '../../outside/service/proofs.ts'
import { isSuccess, type UpstreamReply } from '../../outside/service/reply.ts'
import { type Sender, type Service, sendingOf, shipmentRead } from '../../outside/service/service.ts'
import { type Claim, isStoredAsGone, type Store } from '../../outside/store/store.ts'
import { createBoundedCache } from '../../runtime/collections.ts'
import type { Logger } from '../../runtime/log.ts'
import { createCounter, gauge } from '../../runtime/metrics.ts'
import { endOfTurn, oneAtATime, within } from '../../runtime/time.ts'
import { holdersOf, requestOf } from '../bookings/bookings.ts'
import type { Leases } from '../bookings/leases.ts'
import { HEALED_BY, type HealedBy, isReopened, settle } from '../bookings/settlement.ts'
import { vinKey } from '../names/resolve.ts'
import { createSweep } from './sweep.ts'

/** The dependencies of healing. */
export interface HealingRooms {
  readonly config: Config
  readonly catalog: Catalog
  readonly store: Store
  readonly service: Service
  readonly callers: Credentials
  readonly leases: Leases
  readonly log: Logger
  /** @default SWEEP_EVERY_MS */
  readonly sweepEveryMs?: number | undefined
}

/** A shipment to read. */
interface PendingRead {
  /** Its id, or a booking's reference. */
  readonly name: string
  /** The handle of the unknown booking that has the reference. */
  readonly booking?: string
  readonly how: HealedBy
  /** True if an event said that it may be canceled. */
  readonly mayBeCanceled: boolean
  /** How many reads have failed. */
  readonly failures: number
}

/** The events after which a booking's shipment may be canceled. If a carrier cancels, another one may take over. */
const CANCELLATIONS: ReadonlySet<string> = new Set(['shipment.canceled', 'shipment.canceled_by_carrier'])

/** The pause between searches for the shipments of unknown bookings. */
const SWEEP_EVERY_MS = 600_000
const TENANTS_AT_ONCE = 4
/** The most concurrent reads for one tenant. */
const READS_AT_ONCE = 4
/** The most looks that may wait. The next sweep takes what has no room. */
const MOST_LOOKS = 10_000
/**
 * The pauses before a failed read is repeated. After them, only the read of a shipment that may be canceled is repeated, once per interval.
 */
const PAUSES_MS: readonly number[] = [5_000, 30_000]
/** After this many failures in a row, the service is left alone for a while. */
const MOST_FAILURES = 3
/** The most shipments that are looked at for one booking: a new shipment's event comes soon after the booking. */
const MOST_SHIPMENTS = 1_000
/** More than a tenant ever has open bookings. */
const ALL = 1_000_000
const SECOND_MS = 1_000

/**
 * Keeps bookings correct by reading their shipments: an unknown booking is settled by the live shipment with its reference and VIN, and a
 * booking whose shipment is gone frees its key. An event only says which shipment to read.
 */
export function createHealing(rooms: HealingRooms) {
  const { store, callers, sweepEveryMs = SWEEP_EVERY_MS, log } = rooms
  const healed = createCounter(
    'transload_bookings_healed_total',
    'Bookings with an unknown outcome whose shipment was found.',
    ['how'],
    HEALED_BY.map((how) => [how]),
  )
  const proving = createProving({
    ...rooms,
    instance: rooms.leases.instance,
    timeoutMs: rooms.config.UPSTREAM_TIMEOUT_MS,
    onHealed: (how) => healed.add(1, how),
  })
  const waiting = new Map<string, Map<string, PendingRead>>()
  const pauses = new Set<NodeJS.Timeout>()
  /** How many reads in a row have failed, by tenant. */
  const failures = new Map<string, number>()
  /** The number of waiting looks. */
  let open = 0
  let isFull = false
  let isClosed = false

  function add(tenant: string, look: PendingRead): void {
    if (isClosed) return
    const looks = waiting.get(tenant) ?? new Map<string, PendingRead>()
    const key = JSON.stringify([look.name, look.booking])
    const known = looks.get(key)
    if (!known && open >= MOST_LOOKS) {
      if (!isFull) log.warn('too many shipments are waiting to be read; the next sweep reads the others')
      isFull = true
      return
    }
    isFull = false
    if (!known) open += 1
    looks.set(key, { ...look, mayBeCanceled: look.mayBeCanceled || known?.mayBeCanceled === true })
    waiting.set(tenant, looks)
    reads.wake(tenant)
  }

  const reads = createSweep(TENANTS_AT_ONCE, async (tenant) => {
    const looks = waiting.get(tenant)
    waiting.delete(tenant)
    if (!looks) return
    const own = callers.ownCaller(tenant)
    // One list is enough for all these events: it has the bookings that became unknown before them.
    const bookings = own && (await proving.unknownBookings(tenant).catch(noteFailure))
    const next = looks.values()
    const read = async () => {
      for (const look of next) {
        open -= 1
        if (isClosed || !own) continue
        const failed = failures.get(tenant) ?? 0
        if (!bookings || failed >= MOST_FAILURES) {
          later(tenant, look)
          continue
        }
        try {
          await proving.lookAt(look, tenant, own, bookings)
          failures.delete(tenant)
        } catch (err) {
          failures.set(tenant, failed + 1)
          log.warn({ tenant, shipment: look.name, booking: look.booking, err }, 'a shipment could not be looked up')
          later(tenant, { ...look, failures: look.failures + 1 })
        }
      }
    }
    await Promise.all(Array.from({ length: READS_AT_ONCE }, read))
  })

  const noteFailure = (err: unknown) => void log.warn({ err }, 'unknown bookings could not be looked up')

  function later(tenant: string, look: PendingRead): void {
    const pauseMs = PAUSES_MS[Math.max(0, look.failures - 1)] ?? (look.mayBeCanceled ? sweepEveryMs : undefined)
    // A look for a booking's reference is left to the next sweep.
    if (pauseMs === undefined || look.booking !== undefined || isClosed) return
    open += 1
    const timer = setTimeout(() => {
      pauses.delete(timer)
      open -= 1
      failures.delete(tenant)
      add(tenant, look)
    }, pauseMs)
    pauses.add(timer)
  }

  /** Looks at the shipments that events named since a booking was claimed. */
  async function lookAtEvents(
    tenant: string,
    since: number,
    how: HealedBy,
    isStranger?: (shipment: string) => boolean,
  ) {
    for (const name of await store.shipmentsWithEvents(tenant, since, MOST_SHIPMENTS))
      if (!isStranger?.(name)) add(tenant, { name, how, mayBeCanceled: false, failures: 0 })
  }

  /** The last booking that a sweep looked for; the next sweep continues after it. */
  let last: string | undefined
  let timer: NodeJS.Timeout | undefined
  const searches = oneAtATime(() => lookForAll().catch(noteFailure))

  function sweep(): void {
    failures.clear()
    void searches.run()
  }

  async function lookForAll(): Promise<void> {
    const unknown = (await store.listClaims({ state: 'unknown', limit: ALL })).filter(
      (claim) => hasReference(claim) && callers.ownCaller(claim.tenant) !== undefined,
    )
    const wanted = new Set(unknown.map((claim) => claim.tenant + identityKey(claim)))
    const looked = new Set<string>()
    const from = unknown.findIndex(({ handle }) => handle === last) + 1
    for (const claim of [...unknown.slice(from), ...unknown.slice(0, from)]) {
      // Reads of the embedded store never yield, so this does: callers come first.
      await endOfTurn()
      if (isClosed || open >= MOST_LOOKS) return
      const { handle, tenant, reference, createdAt } = claim
      last = handle
      // Bookings of the same second share a look, because an outage makes thousands of them unknown.
      const since = Math.floor(createdAt / SECOND_MS) * SECOND_MS
      if (looked.size < looked.add(`${tenant} ${since}`).size)
        await lookAtEvents(tenant, since, 'sweep', (shipment) => {
          const identity = proving.knownIdentity(tenant, shipment)
          return identity !== undefined && !wanted.has(tenant + identity)
        })
      if (isPlainId(reference))
        add(tenant, { name: reference, booking: handle, how: 'sweep', mayBeCanceled: false, failures: 0 })
    }
  }

  return {
    /** Looks at a stored event's shipment. */
    onEvent: (tenant: string, name: string, event: string): void =>
      add(tenant, { name, how: 'webhook', mayBeCanceled: CANCELLATIONS.has(event), failures: 0 }),
    /** Looks for the shipment of a booking that became unknown: its event may have come before that. */
    onUnknown: ({ tenant, createdAt }: Claim): void => {
      if (callers.ownCaller(tenant)) lookAtEvents(tenant, createdAt, 'webhook').catch(noteFailure)
    },
    metrics: [
      healed.metric,
      gauge('transload_webhook_reads_waiting', 'Shipments of events, waiting to be read.', () => open),
    ],
    /** Looks for the shipments of all unknown bookings, now and once per interval. */
    start: (): void => {
      timer = setInterval(sweep, sweepEveryMs)
      sweep()
    },
    /** Resolves when nothing is under way, at the latest after `graceMs`, because a read may wait for the service. */
    close: async (graceMs: number): Promise<void> => {
      isClosed = true
      clearInterval(timer)
      for (const one of pauses) clearTimeout(one)
      await within(graceMs, Promise.all([reads.close(), searches.current()]))
    },
  }
}

/** A tenant's unknown bookings, by what identifies their shipments. */
type UnknownBookings = ReadonlyMap<string, readonly Claim[]>

const SHIPMENTS_KEPT = 50_000
/** Statuses of a read that will not change if it is repeated. */
const FINAL_REFUSALS = new Set([400, 404, 405, 410, 422])
/** The identity of a shipment that cannot belong to an unknown booking. */
const NO_BOOKING = ''

/** Makes the reads that prove what became of bookings. Without proof, a booking does not change. */
export function createProving({
  store,
  service,
  catalog,
  instance,
  timeoutMs,
  log,
  onHealed,
}: {
  readonly store: Store
  readonly service: Sender
  readonly catalog: Catalog
  readonly instance: string
  readonly timeoutMs: number
  readonly log: Logger
  readonly onHealed: (how: HealedBy) => void
}) {
  /** The identities of shipments that were read, so that a sweep skips those that no booking waits for. */
  const identities = createBoundedCache<string, string>(SHIPMENTS_KEPT)

  async function unknownBookings(tenant: string): Promise<UnknownBookings> {
    const claims = await store.listClaims({ state: 'unknown', tenant, limit: ALL })
    // A booking without a reference has none at the service, either, so its shipment cannot be recognized.
    return Map.groupBy(claims.filter(hasReference), identityKey)
  }

  /** Rejects if the service cannot be asked now. */
  async function lookAt(look: PendingRead, tenant: string, own: OwnCaller, bookings: UnknownBookings): Promise<void> {
    const { name, booking, how, mayBeCanceled } = look
    if (bookings.size === 0 && !mayBeCanceled) return
    if (booking !== undefined) {
      if ((await store.claimByHandle(booking))?.state !== 'unknown') return
      const reply = await finalRead(name, own)
      if (isSuccess(reply.status)) await recognize(shipmentNamed(reply, name), tenant, own, bookings, how)
      return
    }
    const holders = await holdersOf(tenant, name, store)
    if (holders.length > 0) {
      identities.set(shipmentKey(tenant, name), NO_BOOKING)
      if (mayBeCanceled) for (const claim of holders) await freeIfGone(claim, own)
    } else {
      // The event may spell the id in capitals, and a service that distinguishes case does not know it that way.
      const known = await store.shipment(tenant, name)
      let reply = await finalRead(known?.id ?? name, own)
      if (!known && !isSuccess(reply.status) && thingKey(name) !== name) reply = await finalRead(thingKey(name), own)
      const shipment = isSuccess(reply.status) ? shipmentWithId(reply, name) : undefined
      // For a booking that made this shipment and is not recorded yet.
      if (mayBeCanceled && isGone(reply, name)) await noteGone(tenant, shipment?.id ?? name, shipment)
      if (shipment) await recognize(shipment, tenant, own, bookings, how)
    }
  }

  const read = (name: string, { account }: OwnCaller) => service.send(shipmentRead(name), sendingOf(account, timeoutMs))

  /** Rejects if a later read may have another outcome. */
  async function finalRead(name: string, own: OwnCaller): Promise<UpstreamReply> {
    const reply = await read(name, own)
    if (isSuccess(reply.status) || FINAL_REFUSALS.has(reply.status)) return reply
    throw refusal(reply)
  }

  const noteGone = (tenant: string, id: string, shown: Shipment | undefined) =>
    store.put({ shipment: { tenant, id, state: shown ? 'canceled' : 'gone' } })

  /** Frees a booking's key if a read shows that its shipment is gone. From then on, the shipment no longer has its names. */
  async function freeIfGone(claim: Claim, own: OwnCaller): Promise<void> {
    const { handle: booking, tenant, shipment } = claim
    // The claim's spelling, because the event may spell the id in another case than the service knows.
    const reply = await read(shipment, own)
    if (!isGone(reply, shipment)) {
      if (isSuccess(reply.status)) return
      throw refusal(reply)
    }
    await noteGone(tenant, shipment, shipmentIfRead(reply, shipment))
    const freed = await store.change(claim, { state: 'freed', instance, why: 'canceled' })
    if (freed) log.info({ booking, tenant, shipment }, 'a booking was canceled at the service')
  }

  /** Settles the booking that a shipment belongs to, if exactly one waits for it. */
  async function recognize(
    shipment: Shipment,
    tenant: string,
    { profile }: OwnCaller,
    bookings: UnknownBookings,
    how: HealedBy,
  ): Promise<void> {
    const key = identityIn(shipment)
    identities.set(shipmentKey(tenant, shipment.id), key)
    const [listed, ...others] = bookings.get(key) ?? []
    if (!listed) return
    if (others.length > 0)
      return log.warn({ tenant, shipment: shipment.id }, 'a shipment may belong to several bookings')
    const { handle } = listed
    // Read before the checks, so that a booking that changes after them is not settled.
    const claim = await store.claimByHandle(handle)
    if (claim?.state !== 'unknown' || isReopened(await store.audit(handle))) return
    if ((await isOlder(shipment.id, claim)) || (await isSending(claim))) return
    const found = { shipment: shipment.id, number: idAt(shipment.body, 'number'), body: shipment.body }
    const settled = await settle(claim, found, { store, catalog, instance, settings: profile.settings, healedBy: how })
    if (settled.outcome !== 'changed') return
    onHealed(how)
    log.info({ booking: handle, tenant, shipment: shipment.id, how }, 'an unknown booking was found')
  }

  /**
   * Reports whether a shipment existed before a booking was claimed, which means that another booking made it, unless the booking was merged
   * into it.
   */
  async function isOlder(id: string, claim: Claim): Promise<boolean> {
    const { tenant, reference, createdAt } = claim
    if (await mayBeMerged(id, claim)) return false
    const bearers = await store.named(tenant, reference)
    if (bearers.some((one) => one.name === reference && one.at < createdAt && isSameId(one.id, id))) return true
    return (await store.eventsOfShipment(tenant, thingKey(id))).some(({ receivedAt }) => receivedAt < createdAt)
  }

  /**
   * Reports whether a shipment with a booking's reference and VIN is of its quote, or of an approved one with its name, so that the booking
   * may have been merged into it.
   */
  async function mayBeMerged(id: string, claim: Claim): Promise<boolean> {
    const { tenant, reference, vin } = claim
    const { quote = '' } = requestOf(claim)
    if (quote === '' || vin === '') return false
    const stored = await store.shipment(tenant, id)
    if (isStoredAsGone(stored)) return false
    for (const one of new Set([id, stored?.quote || id])) {
      if (isSameThing(one, quote)) return true
      const other = await store.quote(tenant, one)
      if (other && other.approval !== '' && [other.own, ...other.names].includes(reference)) return true
    }
    return false
  }

  /** Reports whether another booking with this identity is under way, because the shipment may be that booking's. */
  async function isSending({ tenant, reference, vin }: Claim): Promise<boolean> {
    const sending = await store.listClaims({ state: 'sending', tenant, limit: ALL })
    return sending.some((other) => other.reference === reference && other.vin === vin)
  }

  const knownIdentity = (tenant: string, shipment: string) => identities.get(shipmentKey(tenant, shipment))

  return { unknownBookings, lookAt, knownIdentity }
}

const shipmentKey = (tenant: string, shipment: string) => JSON.stringify([tenant, shipment.toLowerCase()])

const hasReference = ({ reference }: Claim) => reference !== ''

const identityKey = ({ reference, vin }: { readonly reference: string; readonly vin: string }): string =>
  JSON.stringify([reference, vin])

/**
 * Returns the identity of a shipment like those that bookings make: live, with a reference and one vehicle. Any other shipment proves
 * nothing about a booking.
 */
function identityIn({ body }: Shipment): string {
  const reference = scalarText(body['external_id'])?.trim() ?? ''
  const vehicles = body['vehicles']
  const [vehicle, ...others]: readonly unknown[] = Array.isArray(vehicles) ? vehicles : []
  if (isCanceled(body) || reference === '' || !isStructure(vehicle) || others.length > 0) return NO_BOOKING
  const given = 'vin' in vehicle ? (vehicle.vin ?? '') : ''
  const vin = given === '' ? '' : idAt(vehicle, 'vin')
  return vin === undefined ? NO_BOOKING : identityKey({ reference, vin: vinKey(vin) })
}
