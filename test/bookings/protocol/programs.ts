import type { Answer } from '../../../src/answer.ts'
import { type Booked, type Booking, type Bookings, createBookings, type Made } from '../../../src/bookings/bookings.ts'
import { createHeartbeat, createLease, endDeadLeases, type IsHeld } from '../../../src/bookings/leases.ts'
import type { Lease } from '../../../src/bookings/protocol.ts'
import {
  type Backlog,
  createBacklog,
  createBookingRecord,
  type EmergencyLog,
  type LateWork,
  type Unrecorded,
} from '../../../src/bookings/record.ts'
import { reopen, settle } from '../../../src/bookings/settlement.ts'
import { commonProfile } from '../../../src/callers/caller.ts'
import { readConfig } from '../../../src/config/config.ts'
import { translationSettings } from '../../../src/config/translation-settings.ts'
import { createProving } from '../../../src/events/healing.ts'
import { legacyError, toGatewayError } from '../../../src/http/answers.ts'
import type { Catalog } from '../../../src/mapping/catalog.ts'
import { createLog } from '../../../src/observe/log.ts'
import { type Account, trusted } from '../../../src/service/account.ts'
import { NoReply } from '../../../src/service/exchange.ts'
import { refusal } from '../../../src/service/failures.ts'
import type { Store } from '../../../src/store/store.ts'
import { createXref } from '../../../src/xref/xref.ts'
import type { Ports, Program } from './replay.ts'

/* The gateway's own code, with ports in place of the store, the service, the clock and the memory of its process. */

/** The tenant, the reference and the VIN of all bookings: they have one key. */
export const TENANT = 'demo'
export const REFERENCE = 'R-1'
export const VIN = '1HGCM82633A004352'

/** Something that runs in a gateway, or beside it. */
export type Job =
  /** A call that books; its handle is unique. */
  | { readonly kind: 'call'; readonly instance: string; readonly handle: string; readonly body: string }
  | { readonly kind: 'heartbeat'; readonly instance: string }
  /** The start of a gateway. */
  | { readonly kind: 'start'; readonly instance: string }
  /** The service has confirmed that a shipment is canceled. */
  | { readonly kind: 'canceled'; readonly instance: string; readonly shipment: string }
  /** An event of the service names a shipment. */
  | { readonly kind: 'event'; readonly instance: string; readonly shipment: string }
  | { readonly kind: 'settle'; readonly shipment: string }
  | { readonly kind: 'settle-as-not-booked' }
  | { readonly kind: 'reopen' }

/** The answer that a call got, by the word that old callers read. */
export interface Answered {
  readonly booked: 'Yes' | 'No' | 'Unknown'
  /** The shipment, or the code of the error. */
  readonly of: string
  readonly isReplay: boolean
}

const log = createLog('silent', { write: () => {} })
const config = readConfig({ V2_BASE_URL: 'http://service.invalid' })
const settings = translationSettings(config)
/** A settlement's answer has the numbers alone: no action declares more. */
const catalog: Catalog = {
  actions: new Map(),
  endpoints: new Map(),
  callbacks: [],
  callbackOf: () => undefined,
  tables: new Map(),
  isVersion1: () => false,
}
const QUOTE_MEMORY_MS = 1_000

/** Returns the program of a job. */
export function programOf(job: Job): Program {
  switch (job.kind) {
    case 'call':
      return (ports) => book(job, ports)
    case 'heartbeat':
      return (ports) => heartbeatOf(job.instance, ports)()
    case 'start':
      return async (ports) => {
        await endDeadLeases({ store: storeOf(ports), log }, (instance) => ports.see('is running', instance) === true)
        await heartbeatOf(job.instance, ports)()
      }
    case 'canceled':
      return (ports) => recordOf(job.instance, ports).canceledLater(TENANT, [job.shipment], async () => true)
    case 'event':
      // The queue of events logs a failure, and tries again.
      return (ports) => lookAt(job, ports).catch(() => undefined)
    case 'settle':
    case 'settle-as-not-booked':
    case 'reopen':
      return (ports) => operate(job, ports)
    default:
      return job satisfies never
  }
}

async function book({ instance, handle, body }: Extract<Job, { kind: 'call' }>, ports: Ports): Promise<Answered> {
  let isLate = false
  const bookings = createBookings({
    claims: storeOf(ports),
    record: recordOf(instance, ports),
    instance,
    holdLease: createLease(instance, storeOf(ports), leaseState(ports)).hold,
    dedupeWindowMs: 0,
    doubt: () => undefined,
    onUnknown: () => {},
    countBooking: () => {},
    handle: () => handle,
    wait: async () => {
      isLate = (await ports.ask('wait')) === 'late'
    },
  })
  const booking: Booking = {
    tenant: TENANT,
    credential: undefined,
    reference: REFERENCE,
    vin: VIN,
    idempotencyKey: undefined,
    fields: [['body', body]],
    get deadline() {
      return isLate ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
    },
  }
  try {
    const { answer } = await bookOnce(bookings, booking, handle, ports)
    const { 'Transload-Shipment-Id': id, 'Idempotent-Replayed': replayed } = answer.headers
    return { booked: 'Yes', of: String(id), isReplay: replayed !== undefined }
  } catch (thrown) {
    const error = toGatewayError(thrown)
    const { TransportationBooked: word } = JSON.parse(legacyError(error, 'booking', '').body.toString())
    return { booked: word, of: error.code, isReplay: false }
  }
}

/** Claims, sends and records a booking, as a call does. */
async function bookOnce(bookings: Bookings, booking: Booking, handle: string, ports: Ports): Promise<Booked> {
  const claimed = await bookings.claim(booking)
  if ('answer' in claimed) return claimed
  let made: Made
  try {
    made = await send(handle, claimed.isHeld, ports)
  } catch (error) {
    throw await bookings.failed(claimed, error)
  }
  return bookings.made(claimed, made)
}

/** Sends a booking as the service's client does: it looks at the claim once the connection stands. */
async function send(handle: string, isHeld: IsHeld, ports: Ports): Promise<Made> {
  if ((await ports.ask('connect')) !== 'connected') throw new NoReply('unsent')
  if (!isHeld()) throw new NoReply('withdrawn')
  ports.effect('write', handle)
  // The answer of the service, as the calls of `calls/` read it.
  const reply = (await ports.ask('reply', handle)) as { readonly made: string } | 'refused' | 'late'
  if (reply === 'late') throw new NoReply('late')
  if (reply === 'refused') throw refusal({ status: 422, headers: {}, body: Buffer.alloc(0) })
  const id = reply.made
  const answer: Answer = { status: 200, headers: { 'Transload-Shipment-Id': id }, body: '' }
  const record = { kind: 'shipment', id, names: [REFERENCE], vin: VIN, own: undefined, facts: undefined } as const
  return { answer, record }
}

function heartbeatOf(instance: string, ports: Ports): () => Promise<void> {
  const store = storeOf(ports)
  const { catchUp } = recordOf(instance, ports)
  return createHeartbeat(createLease(instance, store, leaseState(ports)), { store, log, catchUp })
}

function recordOf(instance: string, ports: Ports) {
  const store = storeOf(ports)
  return createBookingRecord({
    claims: store,
    xref: createXref(store, QUOTE_MEMORY_MS),
    instance,
    log,
    emergencyLog: emergencyLogOf(ports),
    refusedStatuses: config.BOOKING_REFUSED_STATUSES,
    backlog: backlogOf(ports),
  })
}

const account: Account = {
  origin: 'http://service.invalid',
  prefix: '',
  scheme: 'basic',
  pool: () => undefined,
  acceptance: trusted,
  authorized: (_deadline, attempt) => attempt(''),
  authorization: async () => '',
  learn: () => {},
  isRepeatedIn: () => false,
}

const own = { account, profile: commonProfile({ config, settings }) }

type Proving = ReturnType<typeof createProving>

/** The reads of each instance, and the ports of the run that uses them: their cache is large, and decides nothing here. */
const provings = new Map<string, { ports: Ports; readonly proving: Proving }>()

async function lookAt({ instance, shipment }: Extract<Job, { kind: 'event' }>, ports: Ports): Promise<void> {
  const { lookAt: look, unknownBookings } = provingOf(instance, ports)
  const event = { name: shipment, how: 'webhook', mayBeCanceled: false, failures: 0 } as const
  await look(event, TENANT, own, await unknownBookings(TENANT))
}

function provingOf(instance: string, ports: Ports): Proving {
  const found = provings.get(instance)
  if (found) {
    found.ports = ports
    return found.proving
  }
  const current: Ports = {
    ask: (...args) => made.ports.ask(...args),
    see: (...args) => made.ports.see(...args),
    effect: (...args) => made.ports.effect(...args),
  }
  const made = { ports, proving: newProving(instance, current) }
  provings.set(instance, made)
  return made.proving
}

function newProving(instance: string, ports: Ports): Proving {
  return createProving({
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
}

/** Settles or reopens as the commands do: with the booking as a list shows it. */
async function operate(job: Extract<Job, { kind: 'settle' | 'settle-as-not-booked' | 'reopen' }>, ports: Ports) {
  const store = storeOf(ports)
  const [claim] = await store.listClaims({ tenant: TENANT })
  if (!claim) return
  const deps = { store, catalog, settings, instance: 'operator' }
  if (job.kind === 'reopen') return reopen(claim, deps)
  return settle(claim, job.kind === 'settle' ? { shipment: job.shipment, number: undefined } : 'not-booked', deps)
}

/** The operations of the store that the protocol uses, each asked of the world. */
const OPERATIONS = [
  'put',
  'unlink',
  'links',
  'thing',
  'claim',
  'change',
  'findClaim',
  'claimByHandle',
  'claimsOfShipment',
  'listClaims',
  'audit',
  'renewLease',
  'endLease',
  'orphanClaims',
  'eventsOfShipment',
] as const satisfies readonly (keyof Store)[]

export type StoreOperation = (typeof OPERATIONS)[number]

/**
 * Returns a store that asks the world. Its locks lock nothing: the lock of a process that is paused for long enough is free
 * for others, so claims must not need it.
 */
function storeOf(ports: Ports): Store {
  const asked = OPERATIONS.map((name) => [name, (...args: unknown[]) => ports.ask(name, ...args)])
  return {
    engine: 'sqlite',
    exclusive: (_key: string, _waitMs: number, work: (isHeld: () => boolean) => unknown) => work(() => true),
    ...Object.fromEntries(asked),
  }
}

function leaseState(ports: Ports) {
  return {
    get lease() {
      return ports.see('lease') as Lease
    },
    set lease(lease: Lease) {
      ports.effect('lease', lease)
    },
    now: () => ({ monotonic: Number(ports.see('time')), wall: 0 }),
    elapsedSince: ({ monotonic }: { readonly monotonic: number }) => Number(ports.see('time')) - monotonic,
  }
}

/** The backlog of the process, as it is in this part of the run. */
function backlogOf(ports: Ports): Backlog {
  const entries = () => ports.see('backlog') as readonly (readonly [string, LateWork])[]
  return {
    ...createBacklog(),
    entries,
    find: (key) => entries().find(([one]) => one === key)?.[1],
    add: (key, work) => ports.effect('backlog add', [key, work]),
    remove: (key, work) => ports.effect('backlog remove', [key, work]),
  }
}

/** The emergency log, which the gateways share and which survives them. */
function emergencyLogOf(ports: Ports): EmergencyLog {
  let read: readonly Unrecorded[] = []
  return {
    write: (entry) => ports.effect('log write', entry),
    read: () => {
      read = ports.see('log') as readonly Unrecorded[]
      return read
    },
    clear: () => ports.effect('log clear', read),
  }
}
