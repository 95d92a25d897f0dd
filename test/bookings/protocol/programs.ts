import { isDeepStrictEqual } from 'node:util'
import { loadMappings } from '../../../mappings/load.ts'
import { shipmentMade } from '../../../src/calls/book.ts'
import { legacyError, toGatewayError } from '../../../src/edge/answers.ts'
import { commonProfile } from '../../../src/edge/callers/caller.ts'
import type { Answer } from '../../../src/language/answer.ts'
import { readConfig } from '../../../src/language/config/config.ts'
import { translationSettings } from '../../../src/language/config/translation-settings.ts'
import type { Account } from '../../../src/outside/service/account.ts'
import { NoReply } from '../../../src/outside/service/exchange.ts'
import { refusal } from '../../../src/outside/service/failures.ts'
import type { Claim, Store } from '../../../src/outside/store/store.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { type Booking, type Bookings, createBookings, type MadeBooking } from '../../../src/state/bookings/bookings.ts'
import { createHeartbeat, createLease, endDeadLeases, type IsHeld } from '../../../src/state/bookings/leases.ts'
import { NO_LEASE } from '../../../src/state/bookings/protocol.ts'
import { type Backlog, createBookingRecord, type EmergencyLog } from '../../../src/state/bookings/record.ts'
import { reopen, type SettlementRooms, settle } from '../../../src/state/bookings/settlement.ts'
import { createProving } from '../../../src/state/events/healing.ts'
import type { Ports, Program } from './replay.ts'
import { currentOf } from './table.ts'
import { inGateway, type World } from './world.ts'

/* The gateway's own code, with ports in place of the store, the service, the clock and the memory of its process. */

/** The tenant, the reference and the VIN of all bookings: they have one key. */
export const TENANT = 'demo'
export const REFERENCE = 'R-1'
export const VIN = '1HGCM82633A004352'

/** Something that runs in or beside a gateway. */
export type Job =
  /** A call that books; its handle is unique. */
  | {
      readonly kind: 'call'
      readonly instance: string
      readonly handle: string
      readonly body: string
      readonly vin: string
      readonly isLate: boolean
    }
  | { readonly kind: 'heartbeat' | 'start'; readonly instance: string }
  /** The service has confirmed that a shipment is canceled, or an event of the service names it. */
  | { readonly kind: 'canceled' | 'event'; readonly instance: string; readonly shipment: string }
  /** An operator settles the booking, as that shipment or as not booked, or reopens it. */
  | { readonly kind: 'settle'; readonly shipment: string }
  | { readonly kind: 'settle as not booked' | 'reopen' }

/** The answer to a call, as the word that old callers read. */
export interface CallAnswer {
  readonly word: 'Yes' | 'Yes again' | 'No' | 'Unknown'
  /** The shipment, or the code of the error. */
  readonly of: string
  /** True for a late replay that has not looked at the shipment. */
  readonly isUnseen?: boolean
}

const log = createLog('silent', { write: () => {} })
const config = readConfig({ V2_BASE_URL: 'http://service.invalid' })
const settings = translationSettings(config)
const catalog = await loadMappings()

/** Returns the program of a job. */
export function programOf(job: Job): Program {
  switch (job.kind) {
    case 'call':
      return (ports) => book(job, ports)
    case 'heartbeat':
      return (ports) => heartbeatOf(job.instance, ports)()
    case 'start':
      return async (ports) => {
        const isRunning = (instance: string) =>
          ports.see(({ gateways }) => gateways.some((gateway) => gateway.instance === instance))
        await endDeadLeases({ store: storeOf(ports), log }, isRunning)
        await heartbeatOf(job.instance, ports)()
      }
    case 'canceled':
      return (ports) => recordOf(job.instance, ports).freeLater(TENANT, [job.shipment], async () => true)
    case 'event':
      // The event queue logs a failure and tries again.
      return (ports) => lookAt(job.shipment, job.instance, ports).catch(() => undefined)
    case 'settle':
      return (ports) =>
        operate(ports, (claim, deps) => settle(claim, { shipment: job.shipment, number: undefined }, deps))
    case 'settle as not booked':
      return (ports) => operate(ports, (claim, deps) => settle(claim, 'not-booked', deps))
    case 'reopen':
      return (ports) => operate(ports, reopen)
    default:
      return job satisfies never
  }
}

async function book(call: Extract<Job, { kind: 'call' }>, ports: Ports): Promise<CallAnswer> {
  const { instance, handle, vin } = call
  let isTimedOut = false
  let hasLooked = false
  const bookings = createBookings({
    claims: storeOf(ports),
    record: recordOf(instance, ports),
    instance,
    holdLease: leaseOf(instance, ports).hold,
    dedupeWindowMs: 0,
    doubt: () => undefined,
    onUnknown: () => {},
    outcomes: { add: () => {} },
    handle: () => handle,
    wait: async () => {
      isTimedOut = (await ports.ask('wait')) === 'late'
    },
  })
  const booking: Booking = {
    tenant: TENANT,
    credential: undefined,
    reference: REFERENCE,
    vin,
    vehicle: { vin, year: '2023', make: 'FORD', model: 'E450' },
    idempotencyKey: undefined,
    request: { id: 'request', route: [], quote: '', headers: {} },
    body: call.body,
    replayCheckAfterMs: call.isLate ? -1 : Number.POSITIVE_INFINITY,
    look: async (shipment) => {
      hasLooked = true
      const state = await lookOf(shipment, ports)
      if (state !== 'live') {
        await recordOf(instance, ports).freeLater(TENANT, [shipment], async (own) => own === shipment)
      }
      return state
    },
    get deadline() {
      return isTimedOut ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
    },
  }
  try {
    const { headers } = await bookOnce(bookings, booking, handle, ports)
    const { 'Transload-Shipment-Id': id, 'Idempotent-Replayed': replayed } = headers
    const isUnseen = call.isLate && replayed !== undefined && !hasLooked
    return { word: replayed === undefined ? 'Yes' : 'Yes again', of: String(id), ...(isUnseen && { isUnseen }) }
  } catch (thrown) {
    const error = toGatewayError(thrown)
    const { TransportationBooked: word } = JSON.parse(legacyError(error, 'booking', '').body.toString())
    return { word, of: error.code }
  }
}

/** Claims, sends and records a booking, as a call does. */
async function bookOnce(bookings: Bookings, booking: Booking, handle: string, ports: Ports): Promise<Answer> {
  const claimed = await bookings.claim(booking)
  if ('answer' in claimed) return claimed.answer
  const made = await send(handle, claimed.isHeld, ports).catch(async (error: unknown) => {
    throw await bookings.failed(claimed, error)
  })
  return bookings.made(claimed, made)
}

/** Sends a booking as the client of the service does, which looks at the claim once the connection is open. */
async function send(handle: string, isHeld: IsHeld, ports: Ports): Promise<MadeBooking> {
  if ((await ports.ask('connect')) !== 'connected') throw new NoReply('unsent')
  if (!isHeld()) throw new NoReply('withdrawn')
  ports.effect((world) => ({ ...world, requests: [...world.requests, { handle, done: 'nothing' }] }))
  const reply = (await ports.ask('reply', handle)) as
    | { readonly made: string }
    | { readonly accepted: string }
    | 'refused'
    | 'late'
  if (reply === 'late') throw new NoReply('late')
  if (reply === 'refused') throw refusal(replyWith(422, {}))
  const named = 'made' in reply ? replyWith(201, { id: reply.made }) : replyWith(202, { id: reply.accepted })
  const { id } = await shipmentMade(named, async (one) =>
    (await lookOf(one, ports)) === 'live' ? replyWith(200, { id: one }) : replyWith(404, {}),
  )
  const answer: Answer = { status: 200, headers: { 'Transload-Shipment-Id': id }, body: '' }
  const vehicles = [{ vin: VIN, year: '2023', make: 'FORD', model: 'E450' }]
  const record = {
    names: [{ tenant: TENANT, kind: 'shipment', name: REFERENCE, id, givenBy: 'caller' }],
    shipment: { tenant: TENANT, id, vehicles, state: 'live' },
  } as const
  return { answer, shipment: id, record }
}

const replyWith = (status: number, body: unknown) => ({ status, headers: {}, body: Buffer.from(JSON.stringify(body)) })

/** Looks at a shipment as a late replay does; a look may fail. */
async function lookOf(shipment: string, ports: Ports): Promise<'live' | 'canceled'> {
  const state = (await ports.ask('look', shipment)) as 'live' | 'canceled' | 'fails'
  if (state === 'fails') throw new NoReply('late')
  return state
}

function leaseOf(instance: string, ports: Ports) {
  const now = () => ports.see(({ time }) => time)
  return createLease(instance, storeOf(ports), async () => {}, {
    get lease() {
      return ports.see(({ gateways }) => gateways.find((gateway) => gateway.instance === instance)?.lease) ?? NO_LEASE
    },
    set lease(lease) {
      ports.effect(inGateway(instance, (gateway) => ({ ...gateway, lease })))
    },
    now: () => ({ monotonic: now(), wall: 0 }),
    elapsedSince: ({ monotonic }) => now() - monotonic,
  })
}

function heartbeatOf(instance: string, ports: Ports): () => Promise<void> {
  const { catchUp } = recordOf(instance, ports)
  return createHeartbeat(leaseOf(instance, ports), { store: storeOf(ports), log, catchUp })
}

function recordOf(instance: string, ports: Ports) {
  const record = createBookingRecord({
    claims: storeOf(ports),
    instance,
    log,
    emergencyLog: emergencyLogOf(ports),
    refusedStatuses: config.BOOKING_REFUSED_STATUSES,
    backlog: backlogOf(instance, ports, (key) =>
      record.canceled(TENANT, [key.replace('canceled ', '')], async () => true),
    ),
  })
  return record
}

async function lookAt(name: string, instance: string, ports: Ports): Promise<void> {
  const proving = createProving({
    store: storeOf(ports),
    service: {
      send: async ({ path }) => {
        const shipment = await ports.ask('read', path)
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(shipment)) }
      },
    },
    catalog,
    instance,
    timeoutMs: 1,
    log,
    onHealed: () => {},
  })
  const event = { name, how: 'webhook', mayBeCanceled: false, failures: 0 } as const
  // The service of the exploration ignores the account.
  const own = { account: {} as Account, profile: commonProfile({ config, settings }) }
  await proving.lookAt(event, TENANT, own, await proving.unknownBookings(TENANT))
}

/** Settles or reopens as the commands do, with the booking from a list. */
async function operate(ports: Ports, act: (claim: Claim, deps: SettlementRooms) => Promise<unknown>) {
  const store = storeOf(ports)
  const claim = currentOf(await store.listClaims({ tenant: TENANT }))
  if (claim) await act(claim, { store, catalog, settings, instance: 'operator' })
}

/** The store operations that the protocol uses, each asked of the world: those that change nothing, and the others. */
const READS = [
  'named',
  'quote',
  'shipment',
  'findClaim',
  'claimByHandle',
  'claimsOfShipment',
  'listClaims',
  'audit',
  'liveInstances',
] as const
const WRITES = ['put', 'unlink', 'claim', 'change', 'renewLease', 'endLease', 'orphanClaims'] as const

export type StoreOperation = (typeof READS | typeof WRITES)[number]

/** Reports whether an operation changes nothing. */
export const isRead = (name: string): boolean => READS.some((read) => read === name)

/**
 * Returns a store that asks the world. Its locks have no effect: others can take the lock of a process that is paused for long enough, so
 * claims must not need it.
 */
function storeOf(ports: Ports): Store {
  const names = [...READS, ...WRITES, 'eventsOfShipment']
  const asked = names.map((name) => [name, (...args: unknown[]) => ports.ask(name, ...args)])
  return {
    engine: 'sqlite',
    // Later than every booking, so that only a call decides whether it is late.
    now: () => Number.MAX_SAFE_INTEGER,
    exclusive: (_key: string, _waitMs: number, work: (isHeld: () => boolean) => unknown) => work(() => true),
    ...Object.fromEntries(asked),
  }
}

/**
 * The process's backlog in this part of the run. A write is a function of the run that added it, so a later run makes it again by its key.
 */
function backlogOf(instance: string, ports: Ports, write: (key: string) => Promise<void>): Backlog {
  type Backlogged = World['gateways'][number]['backlog']
  const entries = () => {
    const seen = ports.see(({ gateways }) => gateways.find((gateway) => gateway.instance === instance)?.backlog) ?? []
    return seen.map(
      ([key, work]) => [key, work.kind === 'other' ? { ...work, write: () => write(key) } : work] as const,
    )
  }
  const change = (changed: (backlog: Backlogged) => Backlogged) =>
    ports.effect(inGateway(instance, (gateway) => ({ ...gateway, backlog: changed(gateway.backlog) })))
  return {
    entries,
    find: (key) => entries().find(([one]) => one === key)?.[1],
    add: (key, work) => change((backlog) => [...backlog.filter(([other]) => other !== key), [key, work]]),
    remove: (...done) => change((backlog) => backlog.filter((entry) => JSON.stringify(entry) !== JSON.stringify(done))),
  }
}

/** The emergency log, which the gateways share and which survives them. */
function emergencyLogOf(ports: Ports): EmergencyLog {
  let read: World['log'] = []
  return {
    write: (entry) => ports.effect((world) => ({ ...world, log: [...world.log, entry] })),
    read: () => {
      read = ports.see((world) => world.log)
      return read
    },
    clear: () => {
      const done = read
      // Lines that were written since then stay.
      ports.effect((world) => (isDeepStrictEqual(world.log, done) ? { ...world, log: [] } : world))
    },
  }
}
