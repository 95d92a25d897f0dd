import type { AuditEntry } from '../../../src/outside/store/store.ts'
import { checkAnswer, checkChange, checkWrite, type Report } from './invariants.ts'
import { type CallAnswer, type Job, programOf, REFERENCE, type StoreOperation, VIN } from './programs.ts'
import { type Exchange, type Operation, type Result, runOn } from './replay.ts'
import type { createTables } from './table.ts'
import { isMadePerhaps, type Progress, type Request, textOf, type World } from './world.ts'

/** Observes an exploration. */
export interface Witness {
  readonly report: Report
  readonly onAnswer: (answer: CallAnswer) => void
  readonly onStep: (entry: AuditEntry) => void
}

/**
 * Operations that are combined with the step before them: those on names, which decide nothing, and reads after the claim was read, because
 * the change that follows compares the claim's version.
 */
const TOGETHER: ReadonlySet<string> = new Set([
  'named',
  'quote',
  'shipment',
  'put',
  'unlink',
  'audit',
  'claimsOfShipment',
  'listClaims',
  'eventsOfShipment',
  'read',
])

/** The outcome of a store operation. */
export type StoreEnd = 'done' | 'fails' | 'fails after it was done'

/** A job that ran on, with its exchanges since then, and what it returned if it ended. */
interface JobProgress {
  readonly progress: Progress
  readonly exchanges: readonly Exchange[]
  readonly outcome?: unknown
}

/** Makes the functions that run jobs. Each part of a job runs once for equal circumstances. */
export function createJobs(tables: ReturnType<typeof createTables>, { report, onAnswer, onStep }: Witness) {
  const resumed = new Map<string, JobProgress[]>()
  const progresses = new Map<string, Progress>()
  /** A waiting call keeps nothing from the claims that it has seen before. */
  const waiting = new Map<Job, Progress>()

  function interned(key: string, progress: Omit<Progress, 'id'>): Progress {
    const found = progresses.get(key) ?? { ...progress, id: progresses.size }
    progresses.set(key, found)
    return found
  }

  /** Begins a job, up to its first operation. */
  function begin(world: World, place: string, job: Job): Promise<World> {
    const begun = interned(textOf(job), { job, history: [] })
    return resume({ ...world, jobs: { ...world.jobs, [place]: begun } }, place, undefined)
  }

  /** Gives a job the result of its operation, and runs it up to the next one. */
  async function resume(world: World, place: string, result: Result | undefined): Promise<World> {
    const progress = progressAt(world, place)
    const key = `${progress.id} ${textOf(result)}`
    const known = resumed.get(key) ?? []
    resumed.set(key, known)
    let same = known.find(({ exchanges }) => isSeenIn(world, exchanges))
    if (!same) {
      same = await run(progress, result, world)
      known.push(same)
    }
    let next = world
    for (const exchange of same.exchanges) {
      if (!('effect' in exchange)) continue
      const before = next
      next = exchange.effect(before)
      const written = next.requests.length > before.requests.length && next.requests.at(-1)
      if (written) checkWrite(before, written.handle, report)
    }
    if ('outcome' in same) return withoutOld(finish(next, place, progress.job, same.outcome))
    const after = { ...next, jobs: { ...next.jobs, [place]: same.progress } }
    return TOGETHER.has(operationAt(after, place).name) && result ? perform(after, place, 'done') : after
  }

  async function run(before: Progress, result: Result | undefined, world: World): Promise<JobProgress> {
    const { id, job, history } = before
    const { part, operation, exchanges, ...ended } = await runOn(programOf(job), history, result, world)
    if (!operation) return { progress: before, exchanges, ...ended }
    const own = interned(`${id} ${JSON.stringify(part)}`, { job, history: [...history, part], operation })
    const progress = (operation.name === 'wait' && waiting.get(job)) || own
    if (operation.name === 'wait') waiting.set(job, progress)
    return { progress, exchanges }
  }

  /** Performs the operation that a job waits for, in the store or at the service. */
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
    const answer = outcome as CallAnswer
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

/** Drops the requests that the service has carried out and no job waits for. */
export function withoutOld(world: World): World {
  const isNeeded = ({ handle, done }: Request) => done === 'nothing' || world.jobs[handle] !== undefined
  return world.requests.every(isNeeded) ? world : { ...world, requests: world.requests.filter(isNeeded) }
}

/** Reports whether an operator's statement about the claim is wrong: it was or may be booked, or as another shipment. */
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

/** Reports whether a job would see the same now. */
function isSeenIn(world: World, exchanges: readonly Exchange[]): boolean {
  let now = world
  return exchanges.every((exchange) => {
    if ('look' in exchange) return textOf(exchange.look(now)) === textOf(exchange.value)
    now = exchange.effect(now)
    return true
  })
}
