import type pg from 'pg'
import { thingKey } from '../../../language/text/service-text.ts'
import { afterGathering } from '../../../runtime/collections.ts'
import { claimReason, newlyClaimed } from '../claim.ts'
import { IS_WHOLE } from '../copy.ts'
import {
  inAnyCase,
  keyOf,
  MOST_NAMES_CHARACTERS,
  NAME_KEY,
  namedIn,
  nameKey,
  nameRow,
  nextTurn,
  QUOTE,
  QUOTE_PARTS,
  quoteIn,
  quoteRow,
  SET_NAME,
  SET_QUOTE,
  SET_SHIPMENT,
  SHIPMENT,
  SHIPMENT_PARTS,
  shipmentOfRow,
  shipmentRow,
  withThings,
} from '../names.ts'
import { CLAIMS } from '../schema.ts'
import type {
  Claim,
  ClaimChange,
  ClaimVersion,
  NamesWrite,
  NameWithBearer,
  NewClaim,
  NewName,
  Quote,
  StoredShipment,
  ThingId,
} from '../store.ts'
import { type DatabaseRow, TODAY } from '../work.ts'
import { isNotPrepared, isRolledBack } from './errors.ts'

/* The verbs of calls, each as one statement for many of them. */

/** One batch is at the server while the next one is prepared. */
const CONCURRENT_BATCHES = 2
/** The most calls that share a statement. */
const MAX_BATCH = 256

/** A statement that does the same for many calls. */
interface BatchStatement<T, R> {
  /**
   * The name of a prepared statement, which is planned once per connection. A pooler may give each transaction another session that does
   * not know it; then the statement is planned each time.
   * @default planned each time: a plan made while a table was small reads all of it, and an import makes the table large
   */
  readonly name?: string
  readonly text: string
  /** Returns the parameters. */
  readonly valuesOf: (items: readonly T[]) => readonly unknown[]
  /** Returns the answer to an item from its rows: those with its number, counted from one, in column `nth`. */
  readonly answerOf: (rows: readonly DatabaseRow[], item: T) => R
  /** Returns an item's key. Items with the same key never share a statement. @default any may */
  readonly keyOf?: (item: T) => string
}

interface Waiting<T, R> {
  readonly item: T
  resolve(answer: R): void
  reject(error: unknown): void
}

/**
 * Returns a function whose concurrent calls share statements. Calls that arrive one after the other, or while all batches are busy, share
 * the next statement, and with it a transaction and a round trip.
 */
function inBatches<T, R>(
  pool: pg.Pool,
  { name, text, valuesOf, answerOf, keyOf: keyOfItem }: BatchStatement<T, R>,
): (item: T) => Promise<R> {
  let waiting: Waiting<T, R>[] = []
  let running = 0
  let isGathering = false
  let preparedName = name

  function gather(): void {
    if (isGathering || running >= CONCURRENT_BATCHES || waiting.length === 0) return
    isGathering = true
    afterGathering(waiting, start)
  }

  function start(): void {
    isGathering = false
    running += 1
    void settle(next()).finally(() => {
      running -= 1
      gather()
    })
    gather()
  }

  /** Takes the items of the next batch. */
  function next(): readonly Waiting<T, R>[] {
    const batch: Waiting<T, R>[] = []
    const later: Waiting<T, R>[] = []
    const keys = new Set<string>()
    for (const one of waiting) {
      const key = keyOfItem?.(one.item)
      const isLater = batch.length === MAX_BATCH || (key !== undefined && keys.has(key))
      if (key !== undefined) keys.add(key)
      ;(isLater ? later : batch).push(one)
    }
    waiting = later
    return batch
  }

  async function settle(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const found = Map.groupBy(await ask(batch.map(({ item }) => item)), ({ nth }) => Number(nth) - 1)
      for (const [index, { item, resolve }] of batch.entries()) resolve(answerOf(found.get(index) ?? [], item))
    } catch (error) {
      if (batch.length > 1 && isRolledBack(error)) await settleEach(batch)
      else for (const { reject } of batch) reject(error)
    }
  }

  /** Tries each item by itself: in order if the order may matter, otherwise all at once, because one of them may take long. */
  async function settleEach(batch: readonly Waiting<T, R>[]): Promise<void> {
    if (keyOfItem) await Promise.all(batch.map((one) => settle([one])))
    else for (const one of batch) await settle([one])
  }

  async function ask(items: readonly T[]): Promise<readonly DatabaseRow[]> {
    const query = { text, values: [...valuesOf(items)] }
    const named = preparedName ? { name: preparedName, ...query } : query
    const { rows } = await pool.query<DatabaseRow>(named).catch((error: unknown) => {
      if (!isNotPrepared(error)) throw error
      preparedName = undefined
      return pool.query<DatabaseRow>(query)
    })
    return rows
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    waiting.push({ item, resolve, reject })
    gather()
    return promise
  }
}

/** The items of a parameter, as rows with these columns. */
const rowsOf = (place: number, columns: string) => `json_to_recordset($${place}::json) AS row (${columns})`

/** Reads the server's clock once per statement (`WITH`), so that all times that it stores agree. */
const CLOCK = 'clock AS MATERIALIZED (SELECT transload.now_ms() AS ms)'
/** The time of `CLOCK`, in milliseconds since 1970. */
const NOW = '(SELECT ms FROM clock)'

// With a limit, as in `find`.
const SHIPMENT_OF_NAME =
  'LATERAL (SELECT * FROM transload.shipments WHERE tenant = row.tenant AND key = name.bearer LIMIT 1)'
export const NAMED = `SELECT nth, thing.* FROM ${rowsOf(1, 'tenant text, name text, nth int')}
  CROSS JOIN LATERAL (${withThings('row.tenant', inAnyCase('row.tenant', 'row.name'), SHIPMENT_OF_NAME)}) AS thing`

/** Finds quotes or shipments by their ids. */
const find = <T extends Quote | StoredShipment>(
  of: 'quote' | 'shipment',
  columns: string,
  thingIn: (tenant: string, key: string, row: DatabaseRow) => T | undefined,
): BatchStatement<ThingId, T | undefined> => ({
  // The limit makes this a lookup by key for each id. A join could be planned as one with the whole table.
  text: `SELECT nth, found.* FROM ${rowsOf(1, 'tenant text, key text, nth int')} CROSS JOIN LATERAL (SELECT ${columns}
    FROM transload.${of}s AS ${of} WHERE ${of}.tenant = row.tenant AND ${of}.key = row.key LIMIT 1) AS found`,
  valuesOf: (all) => [numbered(all.map(({ tenant, id }) => ({ tenant, key: thingKey(id) })))],
  answerOf: ([row], { tenant, id }) => row && thingIn(tenant, thingKey(id), row),
})

/** The part of a statement that writes quotes or shipments. */
const putThings = (table: string, place: number, parts: readonly string[], set: string) => {
  const names = ['tenant', 'key', 'id', ...parts].join(', ')
  return `put_${table} AS (INSERT INTO transload.${table} AS old (${names}, at, used_day)
    SELECT ${names}, coalesce(at, ${NOW}), ${TODAY} FROM ${rowsOf(place, `${names.replaceAll(',', ' text,')} text, at bigint`)}
    ON CONFLICT (tenant, key) DO UPDATE SET ${set} RETURNING *)`
}

/** The parts of a statement (`WITH`, after `CLOCK`) that write names and things; their three parameters start at this number. */
const putSteps = (
  first: number,
) => `put_names AS (INSERT INTO transload.names AS old (${NAME_KEY}, id, whole, at, turn, used_day)
    SELECT ${NAME_KEY}, id, whole, coalesce(at, ${NOW}), (SELECT nextval('transload.turn')) * 100000 + nth, ${TODAY}
    FROM ${rowsOf(first, 'tenant text, name text, kind bigint, bearer text, id text, whole text, at bigint, nth int')}
    ON CONFLICT (${NAME_KEY}) DO UPDATE SET ${SET_NAME}, at = greatest(excluded.at, old.at)),
  ${putThings('quotes', first + 1, QUOTE_PARTS, SET_QUOTE)},
  note_approvals AS (INSERT INTO transload.approvals (tenant, name, quote, turn, used_day)
    SELECT row.tenant, row.name, quote.key, ${nextTurn('row.tenant', 'row.name', 'approvals AS other')}, ${TODAY}
    FROM put_quotes AS quote JOIN ${rowsOf(first, 'tenant text, name text, kind bigint, id text')} ON row.tenant = quote.tenant
      AND row.kind = 0 AND transload.thing_key(row.id) = quote.key WHERE quote.approval <> '' ON CONFLICT DO NOTHING),
  ${putThings('shipments', first + 2, SHIPMENT_PARTS, SET_SHIPMENT)}`

/** The order in which every statement locks or inserts claims, so that statements that meet do not deadlock. */
const IN_LOCK_ORDER = 'ORDER BY tenant COLLATE "C", key COLLATE "C"'

/** A row that another transaction holds for longer holds up only its own call: the others in the batch are retried without it. */
const PATIENCE_MS = 2_000
const PATIENCE = `patience AS MATERIALIZED
  (SELECT CASE WHEN $2::boolean THEN set_config('lock_timeout', '${PATIENCE_MS}', true) END)`

/** An entry of a trail, as in `claim.ts`. */
const entryOf = (from: string, to: string, by: string) => `json_build_array(${NOW}, ${from}, ${to}, ${by}, why)::text`

/** The columns of a new claim that the server's clock fills. */
const FRESH: Readonly<Record<string, string>> = {
  expires: `CASE WHEN expires_in IS NULL THEN 0 ELSE ${NOW} + expires_in END`,
  created_at: NOW,
  changed_at: NOW,
}
const TYPED = CLAIMS.all.map(({ name, type }) => `${name} ${type === 'TEXT' ? 'text' : 'bigint'}`).join(', ')

/** True if no other claim was made under a claim's reference. The limit makes this a lookup by key. */
const IS_FIRST = `(NOT of_reference OR (SELECT other.key FROM transload.claims AS other WHERE other.tenant = row.tenant
    AND other.key > row.key || '.' AND other.key < row.key || '/' LIMIT 1) IS NULL)`

const CLAIM_NEW = `WITH ${CLOCK}, ${PATIENCE},
  wanted AS (SELECT row.* FROM patience CROSS JOIN
    ${rowsOf(1, `${TYPED}, of_reference boolean, expires_in bigint, why text, nth int`)} WHERE ${IS_FIRST}),
  won AS (INSERT INTO transload.claims (${CLAIMS.names}, used_day, trail)
    SELECT ${CLAIMS.all.map(({ name }) => FRESH[name] ?? name).join(', ')}, ${TODAY}, ${entryOf("'none'", 'state', 'instance')}
    FROM wanted WHERE ${IS_WHOLE} ${IN_LOCK_ORDER} ON CONFLICT DO NOTHING RETURNING tenant, key, changed_at)
  SELECT nth, won.changed_at FROM won JOIN wanted USING (tenant, key)`

/** The columns of a claim after a change, from its row and the change. */
const CHANGED: Readonly<Record<string, string>> = {
  state: 'becomes',
  version: 'version + 1',
  instance: 'by',
  shipment: 'coalesce(made, shipment)',
  reply: 'coalesce(answer, reply)',
  expires: `CASE expires WHEN 0 THEN 0 ELSE expires - CASE state WHEN 'booked' THEN changed_at ELSE created_at END
    + CASE becomes WHEN 'booked' THEN ${NOW} ELSE created_at END END`,
  changed_at: NOW,
}

/**
 * Writes the names as well, even if the claim has another version. The locked rows are written by their key: a join with the table would be
 * planned for the size that it once had.
 */
const CHANGE = `WITH ${CLOCK}, ${PATIENCE},
  before AS (SELECT wanted.nth, wanted.becomes, wanted.by, wanted.made, wanted.answer, wanted.why, claim.* FROM
    (SELECT row.* FROM patience CROSS JOIN ${rowsOf(1, 'tenant text, key text, version bigint, becomes text, by text, made text, answer text, why text, nth int')}
      ${IN_LOCK_ORDER}) AS wanted
    CROSS JOIN LATERAL (SELECT ${CLAIMS.names}, trail FROM transload.claims AS stored WHERE stored.tenant = wanted.tenant
      AND stored.key = wanted.key AND stored.version = wanted.version FOR UPDATE) AS claim),
  changed AS (INSERT INTO transload.claims (${CLAIMS.names}, used_day, trail)
    SELECT ${CLAIMS.all.map(({ name }) => CHANGED[name] ?? name).join(', ')}, ${TODAY},
      trail || ',' || ${entryOf('state', 'becomes', 'by')} FROM before
    ON CONFLICT (tenant, key) DO UPDATE SET used_day = excluded.used_day, trail = excluded.trail,
      ${Object.keys(CHANGED)
        .map((name) => `${name} = excluded.${name}`)
        .join(', ')}
    RETURNING claims.*),
  ${putSteps(3)}
  SELECT nth, ${CLAIMS.all.map(({ name }) => `changed.${name}`).join(', ')} FROM changed JOIN before USING (tenant, key)`

/** A change of a claim that still has a given version, with names to write. */
interface WantedChange {
  readonly claim: ClaimVersion
  readonly change: ClaimChange
  readonly names: NamesWrite | undefined
}

const claimKey = ({ tenant, key }: { readonly tenant: string; readonly key: string }) => `${tenant}\n${key}`

/** Returns the verbs that calls use, on a pool of connections. */
export const createBatches = (pool: pg.Pool) => ({
  named: inBatches<{ readonly tenant: string; readonly name: string }, readonly NameWithBearer[]>(pool, {
    text: NAMED,
    valuesOf: (all) => [numbered(all.map(({ tenant, name }) => ({ tenant, name: nameKey(name) })))],
    answerOf(rows, { tenant, name }) {
      const exact = rows.filter((row) => row['name'] === nameKey(name))
      return namedIn(tenant, exact.length > 0 ? exact : rows)
    },
  }),
  quote: inBatches(
    pool,
    find('quote', QUOTE, (tenant, _key, row) => quoteIn(tenant, row)),
  ),
  shipment: inBatches(pool, find('shipment', SHIPMENT, shipmentOfRow)),
  put: inBatches<NamesWrite, void>(pool, {
    name: 'put',
    text: `WITH ${CLOCK}, ${putSteps(1)} SELECT`,
    valuesOf: putValues,
    answerOf: () => undefined,
  }),
  /** Inserts a claim; returns undefined if the key or the handle is taken. */
  claim: inBatches<NewClaim, Claim | undefined>(pool, {
    name: 'claim',
    text: CLAIM_NEW,
    keyOf: claimKey,
    valuesOf: (all) => [
      numbered(
        all.map((wanted) => {
          const claim = newlyClaimed(wanted, undefined, 0)
          const columns = CLAIMS.all.map(({ name, property }) => [name, claim[property]])
          return {
            ...Object.fromEntries(columns),
            of_reference: wanted.isOfReference,
            expires_in: wanted.expiresInMs,
            why: claimReason(wanted),
          }
        }),
      ),
      all.length > 1,
    ],
    answerOf: ([row], wanted) => row && newlyClaimed(wanted, undefined, Number(row['changed_at'])),
  }),
  /** Changes a claim; returns undefined if it has another version. */
  change: inBatches<WantedChange, Claim | undefined>(pool, {
    name: 'change',
    text: CHANGE,
    keyOf: ({ claim }) => claimKey(claim),
    valuesOf: (all) => [
      numbered(
        all.map(({ claim: { tenant, key, version }, change: { state, instance, shipment, reply, why } }) => ({
          tenant,
          key,
          version,
          becomes: state,
          by: instance,
          made: shipment,
          answer: reply,
          why,
        })),
      ),
      all.length > 1,
      ...putValues(all.flatMap(({ names }) => names ?? [])),
    ],
    answerOf: (rows) => rows.map(CLAIMS.of)[0],
  }),
})

/** Returns items as JSON, each with its place. */
const numbered = (items: readonly object[]): string =>
  JSON.stringify(items.map((one, index) => ({ ...one, nth: index + 1 })))

/** Returns the parameters of `putSteps`. A statement may change a row only once, and all statements lock rows in the same order. */
function putValues(writes: readonly NamesWrite[]): readonly string[] {
  const names = new Map<string, NewName>()
  for (const name of writes.flatMap(({ names = [] }) => names)) {
    const key = keyOf(name)
    const before = names.get(key)
    // Added at the end, so that a later write sorts later. Its time never goes back; undefined means the time of the write.
    names.delete(key)
    const isOlder = before && name.at !== undefined && (before.at === undefined || before.at > name.at)
    names.set(key, isOlder ? { ...name, at: before.at } : name)
  }
  const nameRows = [...names].map(([key, name], nth) => ({ key, row: { ...nameRow(name), at: name.at, nth } }))
  const quoteRows = merged(writes.flatMap(({ quote }) => (quote ? quoteRow(quote) : [])))
  const shipmentRows = merged(
    writes.flatMap(({ shipment }) => (shipment ? { ...shipmentRow(shipment), at: shipment.at ?? null } : [])),
  )
  return [nameRows, quoteRows, shipmentRows].map((rows) => JSON.stringify(rows.toSorted(byKey).map(({ row }) => row)))
}

/** A row of a quote or shipment; `names` are a quote's, as JSON. */
interface ThingRow {
  readonly tenant: string
  readonly key: string
  readonly names?: string | null
}

/** Merges the rows of each thing: a later row overrides where it has a value. A quote keeps its names, as in `SET_QUOTE`. */
function merged(rows: readonly ThingRow[]) {
  const all = new Map<string, Partial<ThingRow>>()
  for (const row of rows) {
    const key = JSON.stringify([row.tenant, row.key])
    const before = all.get(key)
    const given = Object.entries(row).filter(([, value]) => value !== null)
    const earlier = before?.names && before.names.length < MOST_NAMES_CHARACTERS ? before.names : undefined
    const names = earlier && row.names ? [earlier, row.names].flatMap((list) => JSON.parse(list)) : undefined
    all.set(key, {
      ...before,
      ...Object.fromEntries(given),
      ...(names && { names: JSON.stringify([...new Set(names)]) }),
    })
  }
  return [...all].map(([key, row]) => ({ key, row }))
}

const byKey = (one: { readonly key: string }, other: { readonly key: string }) => (one.key < other.key ? -1 : 1)
