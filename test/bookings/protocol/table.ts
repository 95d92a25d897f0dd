import { createMemoryStore } from '../../../src/outside/store/sqlite/sqlite.ts'
import type { AuditEntry, Claim, Store } from '../../../src/outside/store/store.ts'
import { isRead, REFERENCE, type StoreOperation, TENANT } from './programs.ts'
import type { Result } from './replay.ts'
import { textOf } from './world.ts'

/*
 * The store in a state of the exploration: the real one in memory, which is rebuilt from its writes when it is needed.
 */

/** A state of the store, the same for all ways to it. */
export interface Table {
  readonly id: number
  /** The one claim that is not free, because all bookings are of one vehicle, with its VIN or without. */
  readonly row: Claim | undefined
  /** The reason for the last change if an operator made it or a gateway healed the booking; otherwise empty. */
  readonly settledWhy: string
  /** When each instance renewed its lease, in milliseconds. */
  readonly renewals: Readonly<Record<string, number>>
  /** A way to this state. */
  readonly writes: readonly Write[]
}

interface Write {
  readonly name: StoreOperation
  readonly args: readonly unknown[]
  readonly time: number
  readonly wall: number
}

/** The end of an operation. */
interface OperationEnd {
  readonly table: Table
  readonly result: Result
  /** The entries that it added to the trail of the claim. */
  readonly entries: readonly AuditEntry[]
}

/** Makes the states of a store. */
export function createTables() {
  const known = new Map<string, Table>()
  const performed = new Map<string, OperationEnd>()
  const empty: Table = { id: 0, row: undefined, settledWhy: '', renewals: {}, writes: [] }

  async function perform(
    before: Table,
    name: StoreOperation,
    args: readonly unknown[],
    time: number,
  ): Promise<OperationEnd> {
    const key = `${before.id}|${time}|${name}|${textOf(args)}`
    const found = performed.get(key)
    if (found) return found
    // Every claim is later than everything before it, as with a real clock; nothing else is compared.
    const wall = (before.row?.createdAt ?? 0) + (name === 'claim' ? 1 : 0)
    const clock = { time: 0, wall: 0 }
    const store = createMemoryStore({ now: () => clock.wall, monotonicNow: () => clock.time })
    const call = (write: Write): Promise<unknown> => {
      Object.assign(clock, write)
      // The programs called the store with these arguments.
      const operation = store[write.name] as (...args: readonly unknown[]) => Promise<unknown>
      return operation(...write.args)
    }
    for (const write of before.writes) await call(write).catch(() => undefined)
    const earlier = await trailOf(store)
    const write = { name, args, time, wall }
    const result = await call(write).then(
      (value) => ({ value }),
      (error: unknown) => ({ failure: String(error) }),
    )
    const { audits } = await trailOf(store)
    // A new claim has one entry, whatever happened to its handle on this way to the state.
    const entries = [...audits].flatMap(([handle, audit]) => audit.slice(earlier.audits.get(handle)?.length ?? -1))
    const table = isRead(name) ? before : await stateOf(store, before, write)
    const done = { table, result, entries }
    performed.set(key, done)
    return done
  }

  /**
   * Two ways lead to one state if nothing can distinguish them: only the trail's last reason is read, an owner matters only while a claim
   * is in progress, and only a replay reads an answer, for its shipment.
   */
  async function stateOf(store: Store, before: Table, write: Write): Promise<Table> {
    const { rows, row, audits } = await trailOf(store)
    const audit = (row && audits.get(row.handle)) ?? []
    const last = audit.at(-1)?.why ?? ''
    const settledWhy = /^(settled|healed|reopened)/.test(last) ? last : ''
    const names = (await store.named(TENANT, REFERENCE)).map(({ id, shipment }) => [id, shipment?.state])
    const renewals = renewalsAfter(before.renewals, write)
    const told = rows.map((one) => {
      const owner = one.state === 'sending' ? one.instance : ''
      return [one.handle, one.state, one.version, one.body, one.shipment, one.createdAt, owner]
    })
    const content = JSON.stringify([told, settledWhy, names, Object.entries(renewals).sort()])
    const writes = [...before.writes, write]
    const table = known.get(content) ?? { id: known.size + 1, row, settledWhy, renewals, writes }
    known.set(content, table)
    return table
  }

  return { empty, perform }
}

/** Returns the claim that is not free; otherwise the newest, which only a claim or a reopening changes. */
export function currentOf(claims: readonly Claim[]): Claim | undefined {
  const held = claims.find(({ state }) => state !== 'freed' && state !== 'refused')
  return held ?? claims.toSorted((one, other) => one.createdAt - other.createdAt).at(-1)
}

async function trailOf(store: Store) {
  const rows = await store.listClaims({})
  const audits = new Map<string, readonly AuditEntry[]>()
  for (const { handle } of rows) audits.set(handle, await store.audit(handle))
  return { rows, row: currentOf(rows), audits }
}

function renewalsAfter(renewals: Table['renewals'], { name, args, time }: Write): Table['renewals'] {
  const instance = String(args[0])
  if (name === 'renewLease') return { ...renewals, [instance]: time }
  if (name !== 'endLease') return renewals
  const { [instance]: _, ...others } = renewals
  return others
}
