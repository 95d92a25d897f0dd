import type pg from 'pg'
import type { Link, LinkKey, LinkToId, LoadResult, NewLink, NewThing, XrefWrite } from '../store.ts'
import { inBatches } from './batches.ts'
import { CLOCK, NOW } from './clock.ts'
import { keyOf, kindColumn, lastLinks, linkColumns, setLast, storedLink } from './links.ts'

const FORGET_BATCH = 1_000
/** The number of links in a page of a scan. */
export const SCAN_PAGE = 1_000
/** Thousands of links take longer than other queries may. */
const LOAD_TIMEOUT_MS = 60_000

/** The rows of parameters, of which the first has this number. */
const linkRows = (first: number) =>
  `unnest(${['text', 'text', 'text', 'text', 'text', 'bigint', 'int'].map((type, index) => `$${first + index}::${type}[]`)})
  AS row (tenant, name, kind, vin, id, at, nth)`
const LINK_ROWS = linkRows(1)
// One number of the sequence for each statement, with room for the order inside it.
const ROW_TURN = "(SELECT nextval('transload.turn')) * 100000 + row.nth"
const ROW_AT = `coalesce(row.at, ${NOW})`
const insertLinks = (rows: string) => `INSERT INTO transload.links AS stored (tenant, name, kind, vin, id, at, turn)
  SELECT row.tenant, row.name, row.kind, row.vin, row.id, ${ROW_AT}, ${ROW_TURN} FROM ${rows}`

/** The steps of a statement (`WITH`, after `CLOCK`) that writes links and things; its parameters for them begin at a number. */
export const putSteps = (first: number) => `put_links AS (${insertLinks(linkRows(first))}
    ON CONFLICT (tenant, name, kind, vin) DO UPDATE
    SET id = excluded.id, turn = excluded.turn, at = greatest(excluded.at, stored.at)),
  put_things AS (INSERT INTO transload.things (tenant, id, own, facts, at)
    SELECT row.*, ${NOW} FROM unnest(${[7, 8, 9, 10].map((index) => `$${first + index}::text[]`)}) AS row
    ON CONFLICT (tenant, id) DO UPDATE SET own = excluded.own, facts = excluded.facts, at = excluded.at)`

/** Returns the parameters of `putSteps`. */
export function putValues(writes: readonly XrefWrite[]): readonly unknown[] {
  const links = lastLinks(writes.flatMap((write) => write.links))
  const things = lastThings(writes.flatMap((write) => write.thing ?? []))
  return [...linkColumns(links), ...thingColumns(things)]
}

const PUT = `WITH ${CLOCK}, ${putSteps(1)} SELECT`

const UNLINK = `DELETE FROM transload.links WHERE (tenant, name, kind, vin, id) IN
  (SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]))`

const LOAD_NEW = `WITH ${CLOCK} ${insertLinks(LINK_ROWS)} ON CONFLICT DO NOTHING RETURNING *`
const LOAD_FOUND = `SELECT stored.* FROM transload.links AS stored JOIN
  unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS row (tenant, name, kind, vin) USING (tenant, name, kind, vin)
  ORDER BY tenant, name, kind, vin FOR UPDATE OF stored`
const LOAD_REPLACED = `WITH ${CLOCK} UPDATE transload.links AS stored SET id = row.id, at = ${ROW_AT}, turn = ${ROW_TURN}
  FROM ${LINK_ROWS}
  WHERE (stored.tenant, stored.name, stored.kind, stored.vin) = (row.tenant, row.name, row.kind, row.vin)`

/** Returns a function that writes names; its calls share statements. */
export const createPut = (pool: pg.Pool): ((write: XrefWrite) => Promise<void>) =>
  inBatches<XrefWrite, void>(pool, { name: 'put', text: PUT, valuesOf: putValues, answersOf: () => () => undefined })

/** Removes links that still stand for these ids. */
export async function unlink(pool: pg.Pool, links: readonly LinkToId[]): Promise<number> {
  const { rowCount } = await pool.query(UNLINK, linkColumns(links).slice(0, 5))
  return rowCount ?? 0
}

/** Writes many links on a connection inside a transaction. */
export async function load(client: pg.ClientBase, links: readonly NewLink[], replace: boolean): Promise<LoadResult> {
  // The driver supports a timeout for each query; its types lack it.
  const ask = (text: string, values: unknown[]) => client.query({ text, values, ...{ query_timeout: LOAD_TIMEOUT_MS } })
  const first = new Map<string, NewLink>()
  for (const link of links) if (!first.has(keyOf(link))) first.set(keyOf(link), link)
  const inserted = byKey((await ask(LOAD_NEW, linkColumns([...first.values()]))).rows)
  const others = [...first.values()].filter((link) => !inserted.has(keyOf(link)))
  const existing = byKey((await ask(LOAD_FOUND, linkColumns(others).slice(0, 4))).rows)

  const replaced = new Map<string, NewLink>()
  const conflicts: { asked: NewLink; found: Link }[] = []
  let same = 0
  for (const asked of links) {
    const key = keyOf(asked)
    const found = existing.get(key)
    if (found && found.id === asked.id) same += 1
    else if (found && !replace) conflicts.push({ asked, found })
    else {
      // The first link of a new key is in the table already.
      const fresh = inserted.get(key)
      if (found) setLast(replaced, key, asked)
      existing.set(key, { ...asked, at: asked.at ?? fresh?.at ?? 0 })
    }
  }
  if (replaced.size > 0) await ask(LOAD_REPLACED, linkColumns([...replaced.values()]))
  const written = links.length - same - conflicts.length
  return { written, same, conflicts }
}

const byKey = (rows: readonly { readonly [column: string]: unknown }[]) =>
  new Map<string, Link>(rows.map(storedLink).map((link) => [keyOf(link), link]))

/** Drops old facts in batches, to lock few rows at a time; and locks that were never released. */
export async function forget(pool: pg.Pool, olderThanMs: number): Promise<number> {
  await pool.query(`DELETE FROM transload.locks WHERE until_ms < transload.now_ms()`)
  for (let dropped = 0; ; ) {
    const { rowCount } = await pool.query(
      `WITH ${CLOCK}, old AS (SELECT tenant, id FROM transload.things WHERE facts IS NOT NULL AND at < ${NOW} - $1::bigint
          LIMIT ${FORGET_BATCH} FOR UPDATE SKIP LOCKED)
        UPDATE transload.things AS thing SET facts = NULL FROM old
        WHERE thing.tenant = old.tenant AND thing.id = old.id`,
      [olderThanMs],
    )
    dropped += rowCount ?? 0
    if ((rowCount ?? 0) < FORGET_BATCH) return dropped
  }
}

/** Returns the links after a key, in the order of a scan; fewer than a page are the last ones. */
export async function linksAfter(
  pool: pg.Pool,
  tenant: string | undefined,
  after: LinkKey | undefined,
): Promise<readonly Link[]> {
  const values: unknown[] = [SCAN_PAGE]
  const place = (value: unknown): string => `$${values.push(value)}`
  const filters = ['true']
  if (tenant !== undefined) filters.push(`tenant = ${place(tenant)}`)
  if (after) {
    const key = [after.tenant, after.name, kindColumn(after), after.vin].map(place).join(', ')
    filters.push(`(tenant, name, kind, vin) > (${key})`)
  }
  const { rows } = await pool.query(
    `SELECT * FROM transload.links WHERE ${filters.join(' AND ')} ORDER BY tenant, name, kind, vin LIMIT $1`,
    values,
  )
  return rows.map(storedLink)
}

/** Keeps the last thing of each key, in lock order. */
function lastThings(things: readonly NewThing[]): readonly NewThing[] {
  const last = new Map(things.map((thing) => [`${thing.tenant}\n${thing.id}`, thing]))
  return [...last.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, thing]) => thing)
}

function thingColumns(things: readonly NewThing[]): unknown[][] {
  return [
    things.map(({ tenant }) => tenant),
    things.map(({ id }) => id),
    things.map(({ own }) => own),
    things.map(({ facts }) => facts && JSON.stringify(facts)),
  ]
}
