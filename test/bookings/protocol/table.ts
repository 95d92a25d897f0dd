import { createMemoryStore } from '../../../src/store/sqlite/sqlite.ts'
import { type AuditEntry, type Claim, type Store, StoreDown } from '../../../src/store/store.ts'
import { REFERENCE, type StoreOperation, TENANT } from './programs.ts'
import type { Result } from './replay.ts'
import { textOf } from './world.ts'

/*
 * The store in the state of the exploration: the real one in memory, which is made again from its writes where it is needed.
 */

/** A state of the store, equal for all ways to it. */
export interface Table {
  readonly id: number
  /** The one claim, because all bookings have one key. */
  readonly row: Claim | undefined
  /** Why an operator, or a gateway that healed it, made the last change; empty for any other change. */
  readonly settledWhy: string
  /** When each instance renewed its lease, in milliseconds. */
  readonly renewals: Readonly<Record<string, number>>
  /** A way to this state. */
  readonly writes: readonly Write[]
}

/** The end of an operation. */
export interface Performed {
  readonly table: Table
  readonly result: Result
  /** The entries that it added to the trail of the claim. */
  readonly entries: readonly AuditEntry[]
}

interface Write {
  readonly name: StoreOperation
  readonly args: readonly unknown[]
  readonly time: number
  readonly wall: number
}

/** The operations that change nothing. */
const READS: ReadonlySet<StoreOperation> = new Set([
  'links',
  'thing',
  'findClaim',
  'claimByHandle',
  'claimsOfShipment',
  'listClaims',
  'audit',
])

/** Tells if an operation changes nothing. */
export const isRead = (name: StoreOperation): boolean => READS.has(name)

/** The error of a failed operation, by its name. */
export const failureNamed = (name: string): Error => new StoreDown(name)

/** Makes the states of a store. */
export function createTables() {
  const known = new Map<string, Table>()
  const performed = new Map<string, Performed>()
  const empty: Table = { id: 0, row: undefined, settledWhy: '', renewals: {}, writes: [] }

  function intern(table: Omit<Table, 'id'>, content: string): Table {
    const found = known.get(content)
    if (found) return found
    const made = { ...table, id: known.size + 1 }
    known.set(content, made)
    return made
  }

  async function perform(
    before: Table,
    name: StoreOperation,
    args: readonly unknown[],
    time: number,
  ): Promise<Performed> {
    const key = `${before.id}|${time}|${name}|${textOf(args)}`
    const found = performed.get(key)
    if (found) return found
    // Every claim is later than all that was before it, as in a real clock; nothing else is compared.
    const wall = (before.row?.createdAt ?? 0) + (name === 'claim' ? 1 : 0)
    const clock = { time: 0, wall: 0 }
    const store = createMemoryStore({ now: () => clock.wall, monotonicNow: () => clock.time })
    for (const write of before.writes) {
      Object.assign(clock, write)
      await call(store, write).catch(() => undefined)
    }
    const asked = { name, args, time, wall }
    Object.assign(clock, asked)
    const earlier = await trailOf(store)
    const result = await call(store, asked).then(
      (value) => ({ value }),
      (error: unknown) => ({ failure: String(error) }),
    )
    const { handle, audit } = await trailOf(store)
    // A new claim has one entry, whatever its handle has done on this way to the state.
    const entries = audit.slice(handle === earlier.handle ? earlier.audit.length : -1)
    const table = isRead(name) ? before : await stateOf(store, before, asked)
    const done = { table, result, entries }
    performed.set(key, done)
    return done
  }

  /**
   * Two ways lead to one state if nothing can tell them apart: the trail is read for its last reason alone, an owner counts
   * while a claim is under way, and nothing reads an answer but a replay, for its shipment.
   */
  async function stateOf(store: Store, before: Table, write: Write): Promise<Table> {
    const { row, audit } = await trailOf(store)
    const last = audit.at(-1)?.why ?? ''
    const settledWhy = /^(settled|healed|reopened)/.test(last) ? last : ''
    const links = await store.links(TENANT, REFERENCE)
    const names = row && (await store.thing(TENANT, `names of ${row.handle}`))
    const renewals = renewalsAfter(before.renewals, write)
    const told = row && [row.handle, row.state, row.version, row.body, row.shipment, row.createdAt]
    const owner = row?.state === 'sending' ? row.instance : ''
    const content = JSON.stringify([told, owner, settledWhy, links, names?.own, Object.entries(renewals).sort()])
    return intern({ row, settledWhy, renewals, writes: [...before.writes, write] }, content)
  }

  return { empty, perform }
}

async function trailOf(store: Store) {
  const [row] = await store.listClaims({})
  return { row, handle: row?.handle, audit: row ? await store.audit(row.handle) : [] }
}

function renewalsAfter(renewals: Table['renewals'], { name, args, time }: Write): Table['renewals'] {
  const instance = String(args[0])
  if (name === 'renewLease') return { ...renewals, [instance]: time }
  if (name !== 'endLease') return renewals
  const { [instance]: _, ...others } = renewals
  return others
}

function call(store: Store, { name, args }: Pick<Write, 'name' | 'args'>): Promise<unknown> {
  // The programs called the store with these arguments.
  const operation = store[name] as (...args: readonly unknown[]) => Promise<unknown>
  return operation(...args)
}
