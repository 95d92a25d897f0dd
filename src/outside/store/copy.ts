import { isRenewed, SILENT_FOR_MS } from './instance.ts'
import { StoreDown } from './store.ts'
import { type DatabaseRow, item, sql, type Work } from './work.ts'

/** A value in a table that is copied. */
type Value = string | number | null
/** The values of a row, in the order of its columns. */
export type CopiedRow = readonly Value[]

export interface CopiedTable {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly isText: boolean }[]
  /** The columns of its key. */
  readonly key: readonly string[]
}

/** The tables that belong to one store only. */
const NOT_COPIED: ReadonlySet<unknown> = new Set(['version', 'calendar', 'instances', 'locks'])

/** The number of rows in a page. */
const ROWS_AT_ONCE = 500
const MARK = 'store copy'
/** The beginning of the mark of a store that was copied to another one. */
export const MOVED = 'moved to '

const rowOf = ({ columns }: CopiedTable, row: DatabaseRow): CopiedRow =>
  columns.map(({ name, isText }) => {
    const value = row[name]
    return value === null || value === undefined ? null : isText ? String(value) : Number(value)
  })

/** The values of a row's key. */
const keyOf = ({ columns, key }: CopiedTable, row: CopiedRow): readonly Value[] =>
  key.map((name) => row[columns.findIndex((column) => column.name === name)] ?? null)

/** True, in SQL, for a store that bookings may rely on: no copy into it is unfinished, and it was not copied to another one. */
export const IS_WHOLE = `NOT EXISTS (SELECT 1 FROM transload.locks WHERE key = '${MARK}')`

/**
 * Rejects a claim in a store that is being or was copied. Each claim checks this in its own transaction, because a gateway that was
 * suspended during the copy does not know about it.
 */
export function* demandWhole(): Work<void> {
  const mark = yield* copyReads.copiedFrom()
  if (mark !== undefined)
    throw new StoreDown(
      `The store accepts no bookings: it is ${mark.startsWith(MOVED) ? mark : `an unfinished copy of ${mark}`}.`,
    )
}

/** Accepts a store with the mark of a copy as it is. */
export function* dropMark(): Work<void> {
  yield sql('DELETE FROM transload.locks WHERE key = $1', MARK)
}

/** Reads whole rows, for a copy from one store to another. */
export const copyReads = {
  /** Returns the tables to copy, as the database describes them. */
  *copiedTables(): Work<readonly CopiedTable[]> {
    const rows = yield sql('SELECT * FROM transload.columns ORDER BY of_table, place')
    return [...Map.groupBy(rows, (row) => row['of_table'])].flatMap(([name, columns]) => {
      if (NOT_COPIED.has(name)) return []
      const inKey = columns
        .filter((column) => Number(column['key_place']) > 0)
        .sort((one, other) => Number(one['key_place']) - Number(other['key_place']))
      return {
        name: String(name),
        // SQLite has no booleans.
        columns: columns.map((column) => ({ name: String(column['name']), isText: Boolean(column['is_text']) })),
        key: inKey.map((column) => String(column['name'])),
      }
    })
  },
  /** Returns the rows after a given one, in the order of their key. */
  *rowsAfter(table: CopiedTable, after: CopiedRow | undefined): Work<readonly CopiedRow[]> {
    const key = table.key.join(', ')
    const where = after ? ` WHERE (${key}) > (${table.key.map((_, index) => `$${index + 1}`).join(', ')})` : ''
    const columns = table.columns.map((column) => (column.name === 'facts' ? 'facts::text AS facts' : column.name))
    const text = `SELECT ${columns.join(', ')} FROM transload.${table.name}${where} ORDER BY ${key} LIMIT ${ROWS_AT_ONCE}`
    return (yield sql(text, ...(after ? keyOf(table, after) : []))).map((row) => rowOf(table, row))
  },
  /** Returns the gateways that use the store now. */
  *liveInstances(): Work<readonly string[]> {
    const text = `SELECT instance FROM transload.instances WHERE ${isRenewed(String(SILENT_FOR_MS))}`
    return (yield sql(text)).map(({ instance }) => String(instance))
  },
  /** Returns the store from which an unfinished copy into this one has begun. */
  *copiedFrom(): Work<string | undefined> {
    const [row] = yield sql('SELECT holder FROM transload.locks WHERE key = $1', MARK)
    return row && String(row['holder'])
  },
}

export const copyWrites = {
  /** Adds rows with the columns of one of the other store's tables. */
  *addRows({ name, columns }: CopiedTable, rows: readonly CopiedRow[]): Work<void> {
    const values = columns.map(({ isText }, index) => item(index, isText ? 'text' : 'bigint'))
    yield sql(
      `INSERT INTO transload.${name} (${columns.map((column) => column.name).join(', ')})
        SELECT ${values.join(', ')} FROM transload.each($1) WHERE 1 = 1 ON CONFLICT DO NOTHING`,
      JSON.stringify(rows),
    )
  },
  /** Marks a store; resolves when every later claim meets the mark and every earlier one can be copied. */
  *beginCopy(from: string): Work<void> {
    yield sql(
      `INSERT INTO transload.locks (key, holder, until_ms) VALUES ($1, $2, ${Number.MAX_SAFE_INTEGER}) ON CONFLICT DO NOTHING`,
      MARK,
      from,
    )
  },
  /** Ends a copy; the calendar continues from this day. */
  *endCopy(day: number): Work<void> {
    yield sql('UPDATE transload.calendar SET day = $1', day)
    yield* dropMark()
  },
}

/** Reads pages of `size` rows, one after the other. */
export async function* pages<Row>(
  rowsAfter: (last: Row | undefined, size: number) => Promise<readonly Row[]>,
  size = ROWS_AT_ONCE,
): AsyncGenerator<readonly Row[]> {
  for (let last: Row | undefined; ; ) {
    const page = await rowsAfter(last, size)
    if (page.length > 0) yield page
    if (page.length < size) return
    last = page.at(-1)
    await new Promise(setImmediate)
  }
}
