import type pg from 'pg'
import { createBatcher } from '../batch.ts'
import { thingKey } from '../cache.ts'
import type { Kind, Link, LinkKey, LoadResult, Thing, Xref } from '../store.ts'
import { ALL_CHANGED, notificationsOf } from './cache.ts'
import { isInvalidWrite } from './errors.ts'
import { CHANNEL } from './session.ts'

const FORGET_BATCH = 1_000
/** Thousands of links take longer than other queries may. */
const LOAD_TIMEOUT_MS = 60_000
/** One batch is at the server while the next one is prepared. */
const CONCURRENT_BATCHES = 2
/** How many puts share a statement at most. */
const MAX_BATCH = 256

type Put = Parameters<Xref['put']>[0]

const LINK_ROWS = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::int[])
  AS row (tenant, name, kind, vin, id, at, nth)`
// One number of the sequence for each statement, with room for the order inside it.
const ROW_TURN = "(SELECT nextval('transload.turn')) * 100000 + row.nth"
const INSERT_LINKS = `INSERT INTO transload.links AS stored (tenant, name, kind, vin, id, at, turn)
  SELECT row.tenant, row.name, row.kind, row.vin, row.id, row.at, ${ROW_TURN} FROM ${LINK_ROWS}`

const PUT = `WITH put_links AS (${INSERT_LINKS}
    ON CONFLICT (tenant, name, kind, vin) DO UPDATE
    SET id = excluded.id, turn = excluded.turn, at = greatest(excluded.at, stored.at)),
  put_things AS (INSERT INTO transload.things (tenant, id, own, facts, at)
    SELECT * FROM unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[])
    ON CONFLICT (tenant, id) DO UPDATE SET own = excluded.own, facts = excluded.facts, at = excluded.at)
  SELECT pg_notify('${CHANNEL}', payload) FROM unnest($13::text[]) AS payload`

const LOAD_NEW = `${INSERT_LINKS} ON CONFLICT DO NOTHING RETURNING tenant, name, kind, vin`
const LOAD_FOUND = `SELECT stored.* FROM transload.links AS stored JOIN
  unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS row (tenant, name, kind, vin) USING (tenant, name, kind, vin)
  ORDER BY tenant, name, kind, vin FOR UPDATE OF stored`
const LOAD_REPLACED = `UPDATE transload.links AS stored SET id = row.id, at = row.at, turn = ${ROW_TURN} FROM ${LINK_ROWS}
  WHERE (stored.tenant, stored.name, stored.kind, stored.vin) = (row.tenant, row.name, row.kind, row.vin)`

/** Creates a `put` that batches writes: one statement, transaction and round trip for many. */
export function createPut(pool: pg.Pool): (put: Put) => Promise<void> {
  return createBatcher<Put>({
    concurrency: CONCURRENT_BATCHES,
    maxItems: MAX_BATCH,
    isInvalidItem: isInvalidWrite,
    async run(puts) {
      const links = lastLinks(puts.flatMap((put) => put.links))
      const things = lastThings(puts.flatMap((put) => put.thing ?? []))
      await pool.query(PUT, [...linkColumns(links), ...thingColumns(things), notificationsOf(things)])
    },
  })
}

/** Writes many links on a connection inside a transaction. */
export async function load(client: pg.ClientBase, links: readonly Link[], replace: boolean): Promise<LoadResult> {
  // The driver supports a timeout for each query; its types lack it.
  const ask = (text: string, values: unknown[]) => client.query({ text, values, ...{ query_timeout: LOAD_TIMEOUT_MS } })
  const first = new Map<string, Link>()
  for (const link of links) if (!first.has(keyOf(link))) first.set(keyOf(link), link)
  const inserted = await ask(LOAD_NEW, linkColumns([...first.values()]))
  const fresh = new Set(inserted.rows.map(keyOf))
  const others = [...first.values()].filter((link) => !fresh.has(keyOf(link)))
  const { rows } = await ask(LOAD_FOUND, linkColumns(others).slice(0, 4))
  const existing = new Map<string, Link>(rows.map((row) => [keyOf(row), storedLink(row)]))

  const replaced = new Map<string, Link>()
  const conflicts: { asked: Link; found: Link }[] = []
  let same = 0
  for (const asked of links) {
    const key = keyOf(asked)
    const found = existing.get(key)
    if (found && found.id === asked.id) same += 1
    else if (found && !replace) conflicts.push({ asked, found })
    else {
      // The first link of a new key is in the table already.
      if (found) setLast(replaced, key, asked)
      existing.set(key, asked)
    }
  }
  if (replaced.size > 0) await ask(LOAD_REPLACED, linkColumns([...replaced.values()]))
  const written = links.length - same - conflicts.length
  return { written, same, conflicts }
}

/** Drops old facts in batches, to lock few rows at a time. */
export async function forget(pool: pg.Pool, olderThan: number): Promise<number> {
  for (let dropped = 0; ; ) {
    const { rowCount } = await pool.query(
      `WITH old AS (SELECT tenant, id FROM transload.things WHERE facts IS NOT NULL AND at < $1
          LIMIT ${FORGET_BATCH} FOR UPDATE SKIP LOCKED)
        UPDATE transload.things AS thing SET facts = NULL FROM old
        WHERE thing.tenant = old.tenant AND thing.id = old.id`,
      [olderThan],
    )
    dropped += rowCount ?? 0
    if ((rowCount ?? 0) > 0) await pool.query('SELECT pg_notify($1, $2)', [CHANNEL, ALL_CHANGED])
    if ((rowCount ?? 0) < FORGET_BATCH) return dropped
  }
}

/** Returns the link in a row with all its columns. */
export function storedLink(row: { readonly [column: string]: unknown }): Link {
  const kind: Kind = row['kind'] === 'shipment' ? 'shipment' : 'quote'
  const { tenant, name, vin, id } = row
  return { tenant: String(tenant), kind, name: String(name), vin: String(vin), id: String(id), at: Number(row['at']) }
}

/** Keeps the last link of each key, because a statement may change a row only once. */
function lastLinks(links: readonly Link[]): readonly Link[] {
  const last = new Map<string, Link>()
  for (const link of links) {
    const key = keyOf(link)
    const before = last.get(key)
    setLast(last, key, { ...link, at: Math.max(link.at, before?.at ?? link.at) })
  }
  return [...last.values()]
}

/** Sets a key at the end of the map: a later write sorts later. */
function setLast(links: Map<string, Link>, key: string, link: Link): void {
  links.delete(key)
  links.set(key, link)
}

function lastThings(things: readonly Thing[]): readonly Thing[] {
  const last = new Map(things.map((thing) => [thingKey(thing.tenant, thing.id), thing]))
  return [...last.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, thing]) => thing)
}

/** Sorts links by key: batches that lock rows in one order cannot deadlock. */
function inLockOrder(links: readonly Link[]): readonly Link[] {
  return links.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
}

function keyOf({ tenant, name, kind, vin }: LinkKey): string {
  return JSON.stringify([tenant, name, kind, vin])
}

function linkColumns(links: readonly Link[]): unknown[][] {
  const nth = new Map(links.map((link, index) => [link, index]))
  const rows = inLockOrder(links)
  return [
    rows.map(({ tenant }) => tenant),
    rows.map(({ name }) => name),
    rows.map(({ kind }) => kind),
    rows.map(({ vin }) => vin),
    rows.map(({ id }) => id),
    rows.map(({ at }) => at),
    rows.map((link) => nth.get(link)),
  ]
}

function thingColumns(things: readonly Thing[]): unknown[][] {
  return [
    things.map(({ tenant }) => tenant),
    things.map(({ id }) => id),
    things.map(({ own }) => own),
    things.map(({ facts }) => facts && JSON.stringify(facts)),
    things.map(({ at }) => at),
  ]
}
