import { isDeepStrictEqual } from 'node:util'
import type { Lease } from '../../../src/bookings/protocol.ts'
import type { LateWork } from '../../../src/bookings/record.ts'
import type { AuditEntry } from '../../../src/store/store.ts'
import { checkAnswer, checkChange, checkWrite, type Report } from './invariants.ts'
import { type Answered, type Job, programOf, REFERENCE, type StoreOperation, VIN } from './programs.ts'
import { type Effect, type Exchange, type Operation, type Reached, type Result, runOn } from './replay.ts'
import { type createTables, failureNamed } from './table.ts'
import { type Gateway, isMadePerhaps, type Progress, type Request, textOf, type World } from './world.ts'

/** Learns what happens in an exploration. */
export interface Witness {
  readonly report: Report
  readonly onAnswer: (answer: Answered) => void
  readonly onStep: (entry: AuditEntry) => void
}

/**
 * Operations that are taken together with the step before them: names, which decide nothing, and reads after the claim was
 * read, whose version the change that follows them compares.
 */
const TOGETHER: ReadonlySet<string> = new Set([
  'links',
  'thing',
  'put',
  'unlink',
  'audit',
  'claimsOfShipment',
  'listClaims',
  'eventsOfShipment',
  'read',
])

/** How an operation of the store goes. */
export type StoreEnd = 'done' | 'fails' | 'fails after it was done'

/** A job that runs on, with its exchanges so far. */
interface Resumed {
  readonly progress: Progress
  readonly exchanges: readonly Exchange[]
  readonly ended?: { readonly outcome: unknown }
}

/** Makes the functions that run jobs. Each part of a job runs once for equal circumstances. */
export function createJobs(tables: ReturnType<typeof createTables>, { report, onAnswer, onStep }: Witness) {
  const resumed = new Map<string, Resumed[]>()
  const progresses = new Map<string, Progress>()
  /** A call that waits knows nothing of the claims that it has seen before. */
  const waiting = new Map<string, Progress>()

  function interned(key: string, make: (id: number) => Progress): Progress {
    const found = progresses.get(key)
    if (found) return found
    const made = make(progresses.size)
    progresses.set(key, made)
    return made
  }

  const begun = (job: Job): Progress => interned(textOf(job), (id) => ({ id, job, history: [] }))

  function reachedBy({ id, job, history }: Progress, { part, operation }: Reached): Progress {
    const key = `${id} ${JSON.stringify(part)}`
    const progress = interned(key, (own) => ({
      id: own,
      job,
      history: [...history, part],
      ...(operation && { operation }),
    }))
    if (operation?.name !== 'wait') return progress
    const first = waiting.get(textOf(job)) ?? progress
    waiting.set(textOf(job), first)
    return first
  }

  /** Begins a job, up to its first operation. */
  function begin(world: World, place: string, job: Job): Promise<World> {
    return resume({ ...world, jobs: { ...world.jobs, [place]: begun(job) } }, place, undefined)
  }

  /** Gives a job the result of its operation, and runs it up to the next one. */
  async function resume(world: World, place: string, result: Result | undefined): Promise<World> {
    const progress = progressAt(world, place)
    const { job } = progress
    const key = `${progress.id} ${textOf(result)}`
    const known = resumed.get(key) ?? []
    resumed.set(key, known)
    const same = known.find(({ exchanges }) => isSeenIn(world, job, exchanges))
    let next = world
    const apply = (effect: Effect) => {
      if (effect.name === 'write') checkWrite(next, String(effect.value), report)
      next = affected(next, job, effect)
    }
    for (const exchange of same?.exchanges ?? []) if (exchange.kind === 'effect') apply(exchange.effect)
    const { progress: reached, ended } = same ?? (await run())
    if (ended) return withoutOld(finish(next, place, job, ended.outcome))
    const after = { ...next, jobs: { ...next.jobs, [place]: reached } }
    const isFirst = result === undefined
    return TOGETHER.has(operationAt(after, place).name) && !isFirst ? perform(after, place, 'done') : after

    async function run(): Promise<Resumed> {
      const see = (name: string, args: readonly unknown[]) => seen(next, job, name, args)
      const ran = await runOn(programOf(job), progress.history, result, { see, effect: apply }, failureNamed)
      const { exchanges, operation, outcome } = ran
      const made = operation
        ? { progress: reachedBy(progress, ran), exchanges }
        : { progress, exchanges, ended: { outcome } }
      known.push(made)
      return made
    }
  }

  /** Does what a job waits for in the store, at the service, or nowhere. */
  async function perform(world: World, place: string, end: StoreEnd): Promise<World> {
    const { name, args } = operationAt(world, place)
    if (name === 'read') return resume(world, place, { value: shownBy(world, String(args[0])) })
    if (name === 'eventsOfShipment') {
      return resume(world, place, { value: world.events.filter(({ shipment }) => shipment === args[1]) })
    }
    if (end === 'fails') return resume(world, place, { failure: name })
    // All others are operations of the store.
    const { table, result, entries } = await tables.perform(world.table, name as StoreOperation, args, world.time)
    const changed = table === world.table ? world : afterChange(world, table, entries)
    return resume(changed, place, end === 'done' ? result : { failure: name })
  }

  function afterChange(before: World, table: World['table'], entries: readonly AuditEntry[]): World {
    const { row } = table
    const isMistake = entries.some(({ why }) => row && isWrong(before, why, row.shipment))
    const isNewlyBooked = row?.state === 'booked' && !before.recorded.includes(row.shipment)
    const after = {
      ...before,
      table,
      recorded: isNewlyBooked ? [...before.recorded, row.shipment] : before.recorded,
      mistakes: before.mistakes + Number(isMistake),
    }
    checkChange(before, after, entries, report)
    entries.forEach(onStep)
    return after
  }

  function finish({ jobs, ...world }: World, place: string, job: Job, outcome: unknown): World {
    const { [place]: _, ...others } = jobs
    if (job.kind !== 'call') return { ...world, jobs: others }
    // The program of a call returns this.
    const answer = outcome as Answered
    const after = { ...world, jobs: others, over: [...world.over, job.handle].sort() }
    checkAnswer(after, job.handle, answer, report)
    onAnswer(answer)
    return after
  }

  return { begin, resume, perform }
}

function progressAt({ jobs }: World, place: string): Progress {
  const progress = jobs[place]
  if (!progress) throw new Error(`Nothing runs at ${place}.`)
  return progress
}

/** Returns the operation that a job waits for. */
export function operationAt(world: World, place: string): Operation {
  const { operation } = progressAt(world, place)
  if (!operation) throw new Error(`The job at ${place} waits for nothing.`)
  return operation
}

function gatewayOf({ gateways }: World, job: Job): Gateway | undefined {
  return 'instance' in job ? gateways.find(({ instance }) => instance === job.instance) : undefined
}

/** Drops the requests that the service has carried out and no job waits for. */
export function withoutOld(world: World): World {
  const isNeeded = ({ handle, done }: Request) => done === 'nothing' || world.jobs[handle] !== undefined
  return world.requests.every(isNeeded) ? world : { ...world, requests: world.requests.filter(isNeeded) }
}

/** Tells if an operator's word about the claim is wrong: it was or may be booked, or as another shipment. */
function isWrong(before: World, why: string, shipment: string): boolean {
  const handle = before.table.row?.handle ?? ''
  if (why === 'settled: not booked') return isMadePerhaps(before, handle)
  return why === 'settled: booked' && before.shipments.some((one) => one.id === shipment && one.handle !== handle)
}

/** The shipment as the service shows it. */
function shownBy({ shipments }: World, path: string) {
  const found = shipments.find(({ id }) => path.endsWith(`/${id}`))
  const status = found?.isLive ? 'created' : 'canceled'
  return { id: found?.id, external_id: REFERENCE, vehicles: [{ vin: VIN }], status }
}

/** Tells if a job would see the same now. */
function isSeenIn(world: World, job: Job, exchanges: readonly Exchange[]): boolean {
  let now = world
  for (const exchange of exchanges) {
    if (exchange.kind === 'effect') now = affected(now, job, exchange.effect)
    else if (textOf(seen(now, job, exchange.name, exchange.args)) !== textOf(exchange.value)) return false
  }
  return true
}

function seen(world: World, job: Job, name: string, [first]: readonly unknown[]): unknown {
  if (name === 'time') return world.time
  if (name === 'log') return world.log
  if (name === 'is running') return world.gateways.some(({ instance }) => instance === first)
  const gateway = gatewayOf(world, job)
  if (name === 'lease') return gateway?.lease
  if (name === 'backlog') return gateway?.backlog
  throw new Error(`Nobody can see ${name}.`)
}

/** Returns the world after a job changed its process, or wrote a request. */
function affected(world: World, job: Job, { name, value }: Effect): World {
  const inGateway = (change: (gateway: Gateway) => Gateway): World => {
    const own = gatewayOf(world, job)
    return { ...world, gateways: world.gateways.map((gateway) => (gateway === own ? change(gateway) : gateway)) }
  }
  switch (name) {
    case 'write':
      return { ...world, requests: [...world.requests, { handle: String(value), done: 'nothing' }] }
    case 'lease':
      return inGateway((gateway) => ({ ...gateway, lease: value as Lease }))
    case 'backlog add': {
      const [key, work] = value as readonly [string, LateWork]
      return inGateway((gateway) => ({
        ...gateway,
        backlog: [...gateway.backlog.filter(([other]) => other !== key), [key, work]],
      }))
    }
    case 'backlog remove':
      return inGateway((gateway) => ({
        ...gateway,
        backlog: gateway.backlog.filter((entry) => !isDeepStrictEqual(entry, value)),
      }))
    case 'log write':
      return { ...world, log: [...world.log, value as World['log'][number]] }
    case 'log clear':
      // Lines that were written since then stay.
      return isDeepStrictEqual(world.log, value) ? { ...world, log: [] } : world
    default:
      throw new Error(`Nothing is affected by ${name}.`)
  }
}
