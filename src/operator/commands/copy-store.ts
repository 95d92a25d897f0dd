import { createHash } from 'node:crypto'
import { type CopiedTable, MOVED, pages } from '../../outside/store/copy.ts'
import type { Store } from '../../outside/store/store.ts'
import { CommandFailed } from './failures.ts'

/**
 * Copies a store that no gateway uses into an empty one; after an interruption, what is not there yet. Returns the number of
 * rows of each table.
 */
export async function copyStore(
  from: Store,
  to: Store,
  name: string,
  toName: string,
  onProgress: (rows: number) => void,
): Promise<ReadonlyMap<string, number>> {
  async function refuseLive() {
    const [live] = [...(await from.liveInstances()), ...(await to.liveInstances())]
    if (live !== undefined) throw new CommandFailed(`a gateway uses one of the stores: ${live}; stop it first`)
  }
  await refuseLive()
  const mark = `${MOVED}${toName}`
  const before = await from.copiedFrom()
  if (before !== undefined && before !== mark)
    throw new CommandFailed(
      `the store is ${before.startsWith(MOVED) ? before : `a copy of ${before} that has not ended`}`,
    )
  const tables = await from.copiedTables()
  const begun = await to.copiedFrom()
  if (begun === undefined) {
    for (const table of tables) {
      if ((await to.rowsAfter(table, undefined)).length > 0)
        throw new CommandFailed(`the other store has data already (${table.name})`)
    }
    await to.beginCopy(name)
  } else if (begun !== name)
    throw new CommandFailed(
      `a copy of ${begun} into the other store has begun; finish that one, or take an empty store`,
    )
  // From here on it takes no bookings: a gateway that was suspended meanwhile would add what is not copied.
  await from.beginCopy(mark)
  let counts: ReadonlyMap<string, number>
  try {
    counts = await copyRows(from, to, tables, onProgress)
    // One that has started meanwhile writes what is not copied.
    await refuseLive()
  } catch (error) {
    // The other store still counts as half a copy, and so this one may be used again.
    await from.endCopy(await from.turnDay(0))
    throw error
  }
  await to.endCopy(await from.turnDay(0))
  return counts
}

async function copyRows(
  from: Store,
  to: Store,
  tables: Awaited<ReturnType<Store['copiedTables']>>,
  onProgress: (rows: number) => void,
): Promise<Map<string, number>> {
  let rows = 0
  for (const table of tables) {
    for await (const page of pages((last: Row | undefined) => from.rowsAfter(table, last))) {
      await to.addRows(table, page)
      rows += page.length
      onProgress(rows)
    }
  }
  const counts = new Map<string, number>()
  for (const table of tables) {
    const [source, target] = await Promise.all([sumOf(from, table), sumOf(to, table)])
    if (source.hash !== target.hash)
      throw new CommandFailed(
        `${table.name} differs: ${source.count} rows, and ${target.count} in the other store; begin again with an empty one`,
      )
    counts.set(table.name, source.count)
    onProgress(rows)
  }
  return counts
}

/** The values of a row. */
type Row = Awaited<ReturnType<Store['rowsAfter']>>[number]

async function sumOf(store: Store, table: CopiedTable): Promise<{ readonly count: number; readonly hash: string }> {
  const hash = createHash('sha256')
  let count = 0
  for await (const page of pages((last: Row | undefined) => store.rowsAfter(table, last))) {
    hash.update(JSON.stringify(page))
    count += page.length
  }
  return { count, hash: hash.digest('hex') }
}
