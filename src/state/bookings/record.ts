import { accessSync, appendFileSync, constants, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../../language/answer.ts'
import type { StatusSet } from '../../language/config/values.ts'
import { thingKey } from '../../language/text/service-text.ts'
import {
  type Claim,
  type ClaimChange,
  type Claims,
  type NamesWrite,
  type Store,
  StoreDown,
} from '../../outside/store/store.ts'
import type { Logger } from '../../runtime/log.ts'
import { makeFolder } from '../../runtime/make-folder.ts'
import { oneAtATime } from '../../runtime/time.ts'
import type { MadeBooking } from './bookings.ts'
import { afterAnother, isOpen, type Outcome, proofOf } from './protocol.ts'

/**
 * Frees the keys of the bookings whose shipment has one of these ids, in any spelling. `isGone` gets the id as the claim spells it, because
 * a service that distinguishes case knows no other. `why` is `SHOWN_AS_GONE` if only a read shows it.
 */
export type FreeKeys = (
  tenant: string,
  ids: readonly string[],
  isGone: (id: string) => Promise<boolean>,
  why?: 'canceled' | typeof SHOWN_AS_GONE,
) => Promise<void>

/** The reason for a key that a read has freed. The shipment may have been gone for long, and the same may have been booked again since. */
export const SHOWN_AS_GONE = 'gone'

/**
 * Writes a change that a tenant's bookings depend on, and retries with every heartbeat while the store fails, even after a restart if the
 * emergency log keeps it. A later write with the same name replaces an earlier one. Never rejects; returns false if it is not recorded yet.
 */
type WriteLater = (
  tenant: string,
  name: string,
  write: () => Promise<void>,
  keep?: () => Promise<KeptChange | undefined>,
) => Promise<boolean>

/** Records the outcome of claimed bookings; what the store cannot record now is retried later. */
export type BookingRecord = ReturnType<typeof createBookingRecord>

/** The dependencies of the record of bookings. */
interface RecordRooms {
  readonly claims: Claims & Pick<Store, 'put'>
  readonly instance: string
  readonly log: Logger
  readonly emergencyLog: EmergencyLog
  /** The service's statuses that prove that nothing was booked. */
  readonly refusedStatuses: StatusSet
  /**
   * Called with a claim whose outcome was recorded as unknown.
   * @default does nothing
   */
  readonly onUnknown?: (claim: Claim) => void
  /**
   * The work that is not recorded yet.
   * @default none yet
   */
  readonly backlog?: Backlog
}

/** Makes the record of bookings. */
export function createBookingRecord(deps: RecordRooms) {
  const { claims, instance, log, backlog = createBacklog() } = deps

  async function made(claim: Claim, { answer, shipment, record }: MadeBooking): Promise<void> {
    const entry = { booking: claim.handle, tenant: claim.tenant, answer, shipment, record }
    try {
      await recordMade(claim, entry)
    } catch (err) {
      deps.emergencyLog.write(entry)
      backlog.add(claim.handle, { kind: 'made', entry })
      log.error({ booking: claim.handle, shipment, err }, 'a booking was made but could not be recorded')
      throw err
    }
  }

  async function recordMade(claim: Claim, { answer, shipment, record }: UnrecordedBooking): Promise<void> {
    const reply = JSON.stringify(answer)
    const change = { state: 'booked', instance, shipment, reply, why: 'made' } as const
    // Written together: once the claim says booked, a retry gets the names and may ask for them.
    if (!(await changeClaim(claim, change, record)))
      throw new Error(`the claim ${claim.handle} was changed by somebody else`)
  }

  async function changeClaim(claim: Claim, change: ClaimChange, names?: NamesWrite): Promise<Claim | undefined> {
    const changed = await claims.change(claim, change, names)
    if (changed || change.state === 'unknown') return changed
    const current = await claims.claimByHandle(claim.handle)
    const course = afterAnother(current, change)
    if (!current || course === 'lost') return undefined
    return course === 'override' ? claims.change(current, change) : current
  }

  async function recordLate(entry: UnrecordedBooking): Promise<void> {
    const { booking, shipment, record } = entry
    const claim = await claims.claimByHandle(booking)
    if (claim && isOpen(claim)) await recordMade(claim, entry)
    else await claims.put(record)
    const line = { booking, shipment, was: claim?.state }
    if (claim && claim.state !== 'freed') log.info(line, 'a booking was recorded late')
    else log.error(line, 'a booking was made although its key is free: there may be a second one')
  }

  async function failed(claim: Claim, error: unknown): Promise<Outcome> {
    const { state, why } = proofOf(error, deps.refusedStatuses)
    const change = { state, why, instance }
    try {
      await recordFailed(claim, change)
    } catch (err) {
      log.error({ booking: claim.handle, err }, 'the outcome of a booking could not be recorded yet')
      backlog.add(claim.handle, { kind: 'failed', claim, change })
    }
    if (state === 'unknown') {
      log.error({ booking: claim.handle, tenant: claim.tenant, why }, 'the outcome of a booking is not known')
    }
    return state
  }

  async function recordFailed(claim: Claim, change: ClaimChange): Promise<void> {
    const changed = await changeClaim(claim, change)
    if (changed?.state === 'unknown') deps.onUnknown?.(changed)
  }

  async function recordNeverSent(handle: string): Promise<void> {
    const claim = await claims.claimByHandle(handle)
    if (claim && isOpen(claim)) await changeClaim(claim, { state: 'freed', why: 'never sent', instance })
  }

  const canceled: FreeKeys = async (tenant, ids, isGone, why = 'canceled') => {
    for (const shipment of new Set(ids.map(thingKey))) {
      for (const claim of await claims.claimsOfShipment(tenant, shipment)) {
        if (claim.state !== 'booked' || !(await isGone(claim.shipment))) continue
        await claims.change(claim, { state: 'freed', instance, why })
      }
    }
  }

  const later: WriteLater = async (tenant, name, write, keep = async () => undefined) => {
    const booking = `${name} of ${tenant}`
    const before = backlog.find(booking)
    const keptBefore = before?.kind === 'other' ? before.kept : undefined
    const keepOnce = async () => {
      const kept = await keep().catch(() => undefined)
      if (kept && !isDeepStrictEqual(kept, keptBefore)) deps.emergencyLog.write({ change: booking, ...kept })
      return kept
    }
    try {
      await write()
      // The log has an older version.
      if (keptBefore) await keepOnce()
      if (before) backlog.remove(booking, before)
      return true
    } catch (err) {
      log.warn({ booking, err }, 'a change of bookings could not be recorded yet')
      backlog.add(booking, { kind: 'other', tenant, write, kept: await keepOnce() })
      return false
    }
  }

  const freeLater: FreeKeys = async (tenant, ids, isGone, why) => {
    const all = [...new Set(ids)]
    await later(
      tenant,
      `canceled ${all.join(' ')}`,
      () => canceled(tenant, all, isGone, why),
      async () => {
        const areGone = await Promise.all(all.map(isGone))
        const gone = all.filter((_, at) => areGone[at])
        return gone.length > 0 ? { tenant, gone } : undefined
      },
    )
  }

  function perform(work: LateWork): Promise<void> {
    switch (work.kind) {
      case 'made':
        return recordLate(work.entry)
      case 'failed':
        return recordFailed(work.claim, work.change)
      case 'never-sent':
        return recordNeverSent(work.handle)
      case 'other':
        return work.write()
      default:
        return work satisfies never
    }
  }

  function workOf(entry: EmergencyEntry): LateWork {
    if ('booking' in entry) return { kind: 'made', entry }
    const { change, ...kept } = entry
    const { tenant, record, gone = [] } = kept
    const write = () => (record ? claims.put(record) : canceled(tenant, gone, async (id) => gone.includes(id)))
    return { kind: 'other', tenant, write, kept }
  }

  /** Entries that are recorded but still in the log because of others. They must not overwrite later changes. */
  const recorded = new Set<string>()

  /** Work that the store refuses although it is up. No call may wait for it. */
  const refused = new WeakSet<LateWork>()
  const catching = oneAtATime(catchUpOnce)

  async function changesRecorded(tenant: string): Promise<void> {
    const isWaiting = () =>
      backlog.entries().some(([, work]) => work.kind === 'other' && work.tenant === tenant && !refused.has(work))
    // One that runs already may have begun before the last change was added.
    for (let tries = 0; tries < 2 && isWaiting(); tries += 1) await catching.run()
    if (isWaiting()) throw new StoreDown('an earlier cancellation or approval is not recorded yet')
  }

  /** Adds what the emergency log keeps to the backlog; returns the last entry of each name. */
  function load(): ReadonlyMap<string, EmergencyEntry> {
    const last = new Map(deps.emergencyLog.read().map((entry) => [nameOf(entry), entry]))
    for (const [name, entry] of last)
      if (!backlog.find(name) && !recorded.has(JSON.stringify(entry))) backlog.add(name, workOf(entry))
    return last
  }

  async function catchUpOnce(): Promise<void> {
    const last = load()
    for (const [booking, work] of backlog.entries()) {
      // Recorded meanwhile.
      if (!backlog.find(booking)) continue
      try {
        await perform(work)
        backlog.remove(booking, work)
        const entry = last.get(booking)
        if (entry) recorded.add(JSON.stringify(entry))
      } catch (err) {
        log.warn({ booking, err }, 'a change of a booking could still not be recorded')
        // If the store is down, the others would fail too; any other error concerns this change alone.
        if (err instanceof StoreDown) return
        refused.add(work)
      }
    }
    if (backlog.entries().length > 0) return
    deps.emergencyLog.clear()
    recorded.clear()
  }

  return {
    /** The service made the booking. Rejects if that could not be recorded; then the answer must not report success. */
    made,
    /** The booking failed; returns the outcome that the error proves. */
    failed,
    /** The claim may or may not be stored, and nothing is sent for it. */
    neverSent: (handle: string) => backlog.add(handle, { kind: 'never-sent', handle }),
    /** Reports whether a booking was made and is not recorded yet. */
    isUnrecorded: (handle: string) => backlog.find(handle)?.kind === 'made',
    /** Reports whether anything about a claim is not recorded yet. */
    isWaiting: (handle: string) => backlog.find(handle) !== undefined,
    canceled,
    /** Does the same as `canceled`, and retries with every heartbeat while the store fails. */
    freeLater,
    later,
    /** Records what is left over from this run and earlier ones; called periodically. */
    catchUp: catching.run,
    /** Reads the emergency log, for a start while the store is down. */
    load,
    /**
     * Records what is left over of a tenant's cancellations and approvals, which its next booking must see. Rejects if the store cannot
     * record it.
     */
    changesRecorded,
  }
}

/** A change of bookings that the store could not record yet. */
export type LateWork =
  /** The service made a booking. */
  | { readonly kind: 'made'; readonly entry: UnrecordedBooking }
  /** A booking failed. */
  | { readonly kind: 'failed'; readonly claim: Claim; readonly change: ClaimChange }
  /** Nothing is sent for a claim that may or may not be stored. */
  | { readonly kind: 'never-sent'; readonly handle: string }
  /** A shipment is canceled, or a quote approved. */
  | {
      readonly kind: 'other'
      readonly tenant: string
      readonly write: () => Promise<void>
      readonly kept?: KeptChange | undefined
    }

/** The work that is retried with every heartbeat, by its key: a claim's handle, or text about a shipment. */
export interface Backlog {
  readonly add: (key: string, work: LateWork) => void
  readonly find: (key: string) => LateWork | undefined
  readonly entries: () => readonly (readonly [key: string, work: LateWork])[]
  /** Removes finished work, unless its key has other work by now. */
  readonly remove: (key: string, work: LateWork) => void
}

/** Creates an empty backlog. */
function createBacklog(): Backlog {
  const works = new Map<string, LateWork>()
  return {
    add: (key, work) => void works.set(key, work),
    find: (key) => works.get(key),
    entries: () => [...works],
    remove: (key, work) => {
      if (works.get(key) === work) works.delete(key)
    },
  }
}

/** A booking that the service made and the store could not record. */
interface UnrecordedBooking {
  /** The claim's handle. */
  readonly booking: string
  readonly tenant: string
  readonly answer: Answer
  readonly shipment: string
  readonly record: NamesWrite
}

/** A change that the store could not record: shipments that are gone, in the service's spelling, or what to write. */
interface KeptChange {
  readonly tenant: string
  readonly gone?: readonly string[]
  readonly record?: NamesWrite
}

/** An entry of the emergency log. */
export type EmergencyEntry = UnrecordedBooking | (KeptChange & { readonly change: string })

/** Returns the name of an entry's work. */
export const nameOf = (entry: EmergencyEntry): string => ('booking' in entry ? entry.booking : entry.change)

/** A file for bookings that the store cannot record. The gateways on one machine may share it. */
export interface EmergencyLog {
  readonly write: (entry: EmergencyEntry) => void
  /** Returns the entries of this run, earlier runs, and other gateways. */
  readonly read: () => readonly EmergencyEntry[]
  /** Removes the entries that were read and are now recorded. */
  readonly clear: () => void
}

/** The file names vehicles and orders, so other users of the machine must not read it. */
const OWNER_ONLY = 0o600

/** Returns why a file at a path, or one next to it, cannot be written; undefined if they can. Creates nothing. */
export function unwritableReason(path: string): string | undefined {
  // Node's own permissions apply, too; without `--permission` there are none.
  const { permission }: { readonly permission?: typeof process.permission } = process
  if (permission?.has('fs.write', path) === false) return `Node needs --allow-fs-write=${path}`
  try {
    if (existsSync(path)) accessSync(path, constants.W_OK)
    let folder = dirname(path)
    while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
    if (!statSync(folder).isDirectory()) return `${folder} is not a folder`
    accessSync(folder, constants.W_OK)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return undefined
}

/** Opens the emergency log at a path. The file is made when it is first needed. Without a path, nothing is kept. */
export function openEmergencyLog(path: string | undefined): EmergencyLog {
  if (path === undefined) return { write: () => {}, read: () => [], clear: () => {} }
  let readBytes = 0
  return {
    // Synchronous, because the process may end at any moment.
    write: (entry) => {
      try {
        makeFolder(dirname(path))
        // A crash may have cut off the previous line.
        appendFileSync(path, `\n${JSON.stringify(entry)}\n`, { flush: true, mode: OWNER_ONLY })
      } catch {
        // The caller also writes a log line.
      }
    },
    read: () => {
      try {
        // A pipe would be read until somebody writes to it.
        const bytes = statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0)
        readBytes = bytes.length
        return bytes.toString('utf8').split('\n').flatMap(entryIn)
      } catch {
        readBytes = 0
        return []
      }
    },
    clear: () => {
      // Lines added since are read the next time.
      if (readBytes > 0 && statSync(path, { throwIfNoEntry: false })?.size === readBytes) rmSync(path, { force: true })
      readBytes = 0
    },
  }
}

/** Returns a line's entry; an empty list for a line that a crash cut off. */
function entryIn(line: string): EmergencyEntry[] {
  try {
    const {
      booking,
      change,
      tenant,
      answer,
      shipment,
      record,
      gone,
    }: Partial<UnrecordedBooking> & Partial<KeptChange & { change: string }> = JSON.parse(line) ?? {}
    if (change && tenant && (record || Array.isArray(gone)))
      return [{ change, tenant, ...(record ? { record } : { gone: gone ?? [] }) }]
    return booking && tenant && answer && shipment && record ? [{ booking, tenant, answer, shipment, record }] : []
  } catch {
    return []
  }
}
