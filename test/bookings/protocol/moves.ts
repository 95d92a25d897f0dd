import { type Lease, NO_LEASE } from '../../../src/state/bookings/protocol.ts'
import { checkShipments } from './invariants.ts'
import { createJobs, operationAt, type StoreEnd, type Witness, withoutOld } from './jobs.ts'
import { isRead, type Job, VIN } from './programs.ts'
import { type Budget, CALLS, type Scenario, TICK_MS } from './scenarios.ts'
import { createTables } from './table.ts'
import { type Gateway, inGateway, type Progress, type Request, type World } from './world.ts'

/** One thing that may happen next. */
export interface Move {
  readonly label: string
  /** Returns the world after the move. */
  readonly go: () => Promise<World> | World
}

/** The place of what an operator does, one thing at a time. */
const OPERATOR = 'operator'

/** Makes the first world, and the function that returns everything that may happen in a world. */
export async function createMoves({ calls, budget }: Scenario, witness: Witness) {
  const tables = createTables()
  const jobs = createJobs(tables, witness)

  /** Returns the world before anything happened: both gateways run and have renewed their leases. */
  async function first(): Promise<World> {
    const lease: Lease = { ...NO_LEASE, confirmedAt: { monotonic: 0, wall: 0 } }
    const gateways = [0, 1].map((gateway) => ({ instance: instanceName(gateway, 0), lease, backlog: [] }))
    let { empty: table } = tables
    for (const { instance } of gateways) table = (await tables.perform(table, 'renewLease', [instance, 0], 0)).table
    const nothing = { log: [], requests: [], shipments: [], events: [], jobs: {}, begun: [], over: [], recorded: [] }
    return { ...nothing, time: 0, table, gateways, mistakes: 0, left: budget }
  }

  /** Begins a job together with its first operation, where it waits for the store. */
  function* beginnings(world: World, place: string, job: Job): Generator<Move> {
    const go = async (end: StoreEnd, left = (begun: World) => begun) => {
      const begun = left(await jobs.begin(world, place, job))
      return begun.jobs[place] ? jobs.perform(begun, place, end) : begun
    }
    const label = Object.values(job).join(' ')
    yield { label, go: () => go('done') }
    if (world.left.storeFailures > 0 && 'instance' in job) {
      yield { label: `${label}, the store fails`, go: () => go('fails', failing) }
    }
  }

  function* steps(world: World, place: string): Generator<Move> {
    const { name, args } = operationAt(world, place)
    const label = `${place}: ${name}`
    const results = resultsOf(world, name, args)
    if (results) {
      for (const value of results) {
        yield { label: `${label} → ${JSON.stringify(value)}`, go: () => jobs.resume(world, place, { value }) }
      }
      return
    }
    yield { label, go: () => jobs.perform(world, place, 'done') }
    if (world.left.storeFailures === 0 || place === OPERATOR) return
    const ends: readonly StoreEnd[] = isRead(name) ? ['fails'] : ['fails', 'fails after it was done']
    for (const end of ends) yield { label: `${label} ${end}`, go: () => jobs.perform(failing(world), place, end) }
  }

  function* atGateway(world: World, gateway: number, { instance, backlog, lease }: Gateway): Generator<Move> {
    const runs = Object.values(world.jobs).some(isOf(instance))
    if (world.left.crashes > 0 && (runs || backlog.length > 0)) {
      yield { label: `gateway ${gateway} dies and starts`, go: () => restart(world, gateway, instance) }
    }
    if (world.jobs[`start ${gateway}`]) return
    for (const call of CALLS) {
      const isTurn = !('after' in call) || world.over.includes(call.after)
      if (!calls.includes(call.name) || call.gateway !== gateway || world.begun.includes(call.name) || !isTurn) continue
      const begun = { ...world, begun: [...world.begun, call.name].sort() }
      const vin = 'isWithoutVin' in call ? '' : VIN
      const job = { kind: 'call', instance, handle: call.name, body: call.body, vin, isLate: 'isLate' in call } as const
      yield* beginnings(begun, call.name, job)
    }
    const beat = `heartbeat ${gateway}`
    const isDue = lease.confirmedAt?.monotonic !== world.time || backlog.length > 0 || world.log.length > 0
    if (!world.jobs[beat] && (isDue || isAbandoned(world))) {
      yield* beginnings(world, beat, { kind: 'heartbeat', instance })
    }
    for (const { id: shipment, isLive } of world.shipments) {
      if (world.left.events > 0 && !world.jobs['event']) {
        const events = [...world.events, { shipment, receivedAt: world.table.row?.createdAt ?? 0 }]
        yield* beginnings({ ...spend(world, 'events'), events }, 'event', { kind: 'event', instance, shipment })
      }
      if (world.left.cancellations > 0 && !world.jobs['canceled'] && isLive && world.recorded.includes(shipment)) {
        const shipments = world.shipments.map((one) => (one.id === shipment ? { ...one, isLive: false } : one))
        const canceled = { ...spend(world, 'cancellations'), shipments }
        yield* beginnings(canceled, 'canceled', { kind: 'canceled', instance, shipment })
      }
    }
  }

  function restart(world: World, gateway: number, died: string): Promise<World> {
    const isLost = isOf(died)
    const lost = Object.values(world.jobs).filter(isLost)
    const instance = instanceName(gateway, budget.crashes - world.left.crashes + 1)
    const restarted: World = {
      ...inGateway(died, () => ({ instance, lease: NO_LEASE, backlog: [] }))(spend(world, 'crashes')),
      over: [...world.over, ...lost.flatMap(({ job }) => (job.kind === 'call' ? [job.handle] : []))].sort(),
      jobs: Object.fromEntries(Object.entries(world.jobs).filter(([, progress]) => !isLost(progress))),
    }
    return jobs.begin(withoutOld(restarted), `start ${gateway}`, { kind: 'start', instance })
  }

  function* byOperator(world: World): Generator<Move> {
    const { row, settledWhy } = world.table
    if (!row || world.jobs[OPERATOR]) return
    if (world.left.settlements > 0 && row.state === 'unknown') {
      const settling = spend(world, 'settlements')
      yield* beginnings(settling, OPERATOR, { kind: 'settle as not booked' })
      for (const { id: shipment, isLive } of world.shipments) {
        if (isLive) yield* beginnings(settling, OPERATOR, { kind: 'settle', shipment })
      }
    }
    if (world.left.reopenings > 0 && /^(settled|healed): /.test(settledWhy)) {
      yield* beginnings(spend(world, 'reopenings'), OPERATOR, { kind: 'reopen' })
    }
  }

  function* atService(world: World): Generator<Move> {
    for (const { id, isLive } of world.shipments) {
      if (!isLive || world.left.silentCancellations === 0) continue
      const shipments = world.shipments.map((one) => (one.id === id ? { ...one, isLive: false } : one))
      yield { label: `the service cancels ${id}`, go: () => ({ ...spend(world, 'silentCancellations'), shipments }) }
    }
    for (const request of world.requests) {
      const { handle, done, isAccepted } = request
      if (done !== 'nothing') continue
      if (world.left.accepts > 0 && !isAccepted) {
        const accepted = withRequest(spend(world, 'accepts'), { ...request, isAccepted: true })
        yield { label: `the service accepts ${handle}`, go: () => accepted }
      }
      const id = `s-${handle}`
      const made: World = {
        ...withRequest(world, { ...request, done: { made: id } }),
        shipments: [...world.shipments, { id, handle, isLive: true }],
      }
      yield {
        label: `the service books ${handle}`,
        go: () => {
          checkShipments(made, witness.report)
          return made
        },
      }
      yield { label: `the service refuses ${handle}`, go: () => withRequest(world, { ...request, done: 'refused' }) }
    }
  }

  function* movesOf(world: World): Generator<Move> {
    for (const place of Object.keys(world.jobs)) yield* steps(world, place)
    yield* atService(world)
    for (const [at, gateway] of world.gateways.entries()) yield* atGateway(world, at, gateway)
    yield* byOperator(world)
    const isWaiting = Object.keys(world.jobs).length > 0 || world.table.row?.state === 'sending'
    if (world.left.ticks > 0 && isWaiting) {
      yield { label: 'time passes', go: () => ({ ...spend(world, 'ticks'), time: world.time + TICK_MS }) }
    }
  }

  return { first: await first(), movesOf }
}

const instanceName = (gateway: number, start: number): string => `gateway-${gateway}-${start}`

/** Reports whether the gateway of a claim in progress has not renewed its lease now. */
function isAbandoned({ table: { row, renewals }, time }: World): boolean {
  return row?.state === 'sending' && renewals[row.instance] !== time
}

const isOf =
  (instance: string) =>
  ({ job }: Progress): boolean =>
    'instance' in job && job.instance === instance

const failing = (world: World) => spend(world, 'storeFailures')

function spend(world: World, what: keyof Budget): World {
  return { ...world, left: { ...world.left, [what]: world.left[what] - 1 } }
}

function withRequest(world: World, changed: Request): World {
  return withoutOld({
    ...world,
    requests: world.requests.map((one) => (one.handle === changed.handle ? changed : one)),
  })
}

/** Returns the possible results of an operation outside the store; undefined for store operations. */
function resultsOf(world: World, name: string, [handle]: readonly unknown[]): readonly unknown[] | undefined {
  if (name === 'connect') return ['connected', 'unreachable']
  if (name === 'wait') return ['look again', 'late']
  if (name === 'look') {
    const isLive = world.shipments.some(({ id, isLive: lives }) => lives && id === handle)
    return [isLive ? 'live' : 'canceled', 'fails']
  }
  if (name !== 'reply') return undefined
  const { done = 'nothing', isAccepted } = world.requests.find((request) => request.handle === handle) ?? {}
  if (isAccepted) return [{ accepted: `s-${String(handle)}` }, 'late']
  return done === 'nothing' ? ['late'] : [done, 'late']
}
