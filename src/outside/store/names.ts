import { hash } from 'node:crypto'
import { isSameThing, thingKey } from '../../language/text/service-text.ts'
import { pages } from './copy.ts'
import type {
  LoadedName,
  LoadResult,
  Name,
  NameOfId,
  NamesWrite,
  NameWithBearer,
  NewName,
  NotedApproval,
  Quote,
  QuoteChange,
  ScannedName,
  ShipmentChange,
  Store,
  StoredShipment,
  ThingId,
  Vehicle,
} from './store.ts'
import { type DatabaseRow, item, now, sql, TODAY, type Work } from './work.ts'

/** The lowest kind number of a name that the service gave. */
const SERVICE_KINDS = 2

/** Returns the stored number for a name's kind and giver; a scan follows the order of these numbers. */
const kindNumber = ({ kind, givenBy }: NameOfId): number =>
  (kind === 'quote' ? 0 : 1) + (givenBy === 'caller' ? 0 : SERVICE_KINDS)

/** The longest name that is its own key, because a PostgreSQL index takes 2,704 bytes. */
const LONGEST_KEY = 400

/** Returns the key that finds a name. For a long name, that is its beginning and a digest, so it is found only in its own case. */
export const nameKey = (name: string): string =>
  name.length <= LONGEST_KEY ? name : name.slice(0, LONGEST_KEY).toWellFormed() + hash('sha256', name)

/** Returns the name that a row keeps next to the key: null if the key is the name. */
const whole = (name: string) => (name.length <= LONGEST_KEY ? null : name)

/** Returns the key of a name's row. */
const partsOf = (name: NameOfId) =>
  [name.tenant, nameKey(name.name), kindNumber(name), name.kind === 'quote' ? '' : thingKey(name.id)] as const

export const NAME_KEY = 'tenant, name, kind, bearer'

/** Returns the key of a name's row as one text. */
export const keyOf = (name: NameOfId): string => JSON.stringify(partsOf(name))

/** The column is null if the id is spelled like its key. */
const spelled = (id: string, key: string) => (id === key ? null : id)

/* Rows of names */

const NAME = `${NAME_KEY}, id, at, whole`
/** Without the tenant, which the call gives. */
const SELECT_NAMES = 'SELECT name, kind, bearer, id, at, whole, turn FROM transload.names'
/** A caller may have spelled a name in more cases than can be read. */
const MOST_IN_OTHER_CASE = 1_000

const inThisCase = (tenant: string, name: string) => `${SELECT_NAMES} WHERE tenant = ${tenant} AND name = ${name}`

/** The rows of a name in another case. */
const inOtherCase = (tenant: string, name: string) => `${SELECT_NAMES} WHERE tenant = ${tenant}
    AND name IN (lower(${name}), upper(${name})) AND name <> ${name}
    UNION ALL ${SELECT_NAMES} WHERE tenant = ${tenant} AND lower(name) = lower(${name}) AND name <> lower(name) AND name <> upper(name) AND name <> ${name}
    LIMIT ${MOST_IN_OTHER_CASE}`

/** The rows of a name in any case. */
export const inAnyCase = (tenant: string, name: string) =>
  `${inThisCase(tenant, name)} UNION ALL SELECT * FROM (${inOtherCase(tenant, name)}) AS others`

/** The columns of quotes and shipments that a write may set. Each is null if it is not known. */
export const QUOTE_PARTS = ['own', 'names', 'facts', 'price', 'approval', 'ids_in_approval']
export const SHIPMENT_PARTS = ['own', 'vehicles', 'former_vins', 'state', 'quote']

/** A quote as one column: JSON with the members of its record. Unknown parts are blank. */
export const QUOTE = `json_build_object('id', coalesce(quote.id, quote.key), 'own', coalesce(quote.own, ''),
  'names', CAST(coalesce(quote.names, '[]') AS json), 'facts', CAST(quote.facts AS json), 'price', coalesce(quote.price, ''),
  'approval', coalesce(quote.approval, ''), 'idsInApproval', CAST(coalesce(quote.ids_in_approval, '[]') AS json), 'at', quote.at)::text AS thing`
/** A shipment's columns, because most calls read one, and JSON takes twice the time. */
export const SHIPMENT =
  'shipment.id AS spelled, shipment.own, shipment.vehicles, shipment.former_vins, shipment.state, shipment.quote, shipment.at AS since'

const quoteOf = (tenant: string, key: string) =>
  `SELECT ${QUOTE} FROM transload.quotes AS quote WHERE quote.tenant = ${tenant} AND quote.key = ${key}`

/** Names with the things that bear them; null if nothing is stored of one. */
export const withThings = (
  tenant: string,
  names: string,
  shipments = 'transload.shipments',
) => `SELECT name.*, ${SHIPMENT},
    CASE name.bearer WHEN '' THEN (${quoteOf(tenant, 'transload.thing_key(name.id)')}) END AS thing
  FROM (${names}) AS name LEFT JOIN ${shipments} AS shipment ON shipment.tenant = ${tenant} AND shipment.key = name.bearer`
const NAMED = withThings('$1', inThisCase('$1', '$2'))
const NAMED_IN_OTHER_CASE = withThings('$1', inOtherCase('$1', '$2'))
const BEARS = 'SELECT 1 AS one FROM transload.names WHERE tenant = $1 AND name = $2 AND kind IN (1, 3) AND bearer = $3'
const FIND_QUOTE = quoteOf('$1', '$2')
const FIND_SHIPMENT = `SELECT ${SHIPMENT} FROM transload.shipments AS shipment WHERE tenant = $1 AND key = $2`

const APPROVALS = `SELECT noted.name, noted.quote, coalesce(quote.own, '') AS own FROM transload.approvals AS noted
  JOIN transload.quotes AS quote ON quote.tenant = noted.tenant AND quote.key = noted.quote
  WHERE noted.tenant = $1 AND noted.name IN (SELECT value FROM transload.each($2)) AND quote.approval <> ''
  ORDER BY noted.turn DESC, noted.quote DESC, noted.name`

const SHIPMENTS_OF_QUOTE = `SELECT key, ${SHIPMENT} FROM transload.shipments AS shipment
  WHERE tenant = $1 AND quote = $2 AND quote <> '' ORDER BY at DESC, key`

/** Returns the name in a row that has all of a name's columns but the tenant. */
function nameOf(tenant: string, row: DatabaseRow): Name {
  const kind = Number(row['kind'])
  return {
    tenant,
    kind: kind % SERVICE_KINDS === 0 ? 'quote' : 'shipment',
    name: String(row['whole'] ?? row['name']),
    givenBy: kind < SERVICE_KINDS ? 'caller' : 'service',
    id: String(row['id'] ?? row['bearer']),
    at: Number(row['at']),
  }
}

/** Returns the quote in a row; undefined if there is none. Only this program writes it. */
export const quoteIn = (tenant: string, { thing }: DatabaseRow): Quote | undefined =>
  typeof thing === 'string' ? { tenant, ...JSON.parse(thing) } : undefined

/** Returns the shipment with a key in a row; undefined if there is none. */
export function shipmentOfRow(tenant: string, key: string, row: DatabaseRow): StoredShipment | undefined {
  const { spelled, own, vehicles, former_vins: formerVins, state, quote, since } = row
  if (since === null) return undefined
  return {
    tenant,
    id: String(spelled ?? key),
    own: String(own ?? ''),
    vehicles: vehicles === null ? [] : JSON.parse(String(vehicles)),
    formerVins: formerVins === null ? {} : JSON.parse(String(formerVins)),
    // Only values of this type are ever written to the column.
    state: (state ?? 'live') as StoredShipment['state'],
    quote: String(quote ?? ''),
    at: Number(since),
  }
}

/**
 * Returns the names in rows with what is stored of their bearers: the caller's own first, then by age, newest first, then by write, latest
 * first. Most names have one bearer, and a database takes longer to sort than to find it.
 */
export function namedIn(tenant: string, rows: readonly DatabaseRow[]): readonly NameWithBearer[] {
  const isServices = ({ kind }: DatabaseRow) => (Number(kind) < SERVICE_KINDS ? 0 : 1)
  const inOrder =
    rows.length < 2
      ? rows
      : rows.toSorted(
          (one, other) =>
            isServices(one) - isServices(other) ||
            Number(other['at']) - Number(one['at']) ||
            Number(other['turn']) - Number(one['turn']),
        )
  return inOrder.map((row) => {
    const name = nameOf(tenant, row)
    if (name.kind === 'quote') return { ...name, quote: quoteIn(tenant, row) }
    return { ...name, shipment: shipmentOfRow(tenant, String(row['bearer']), row) }
  })
}

/** The key of a name's row. */
type NameKey = readonly [tenant: string, name: string, kind: number, bearer: string]

/** Reads from the record of names. UUIDs are found in any case. */
export const nameReads = {
  /**
   * Returns all bearers of a name with what is stored of them: the caller's own names first, then by age, newest first, then by write,
   * latest first. If nothing bears the name, returns those with the name in another case, at most a thousand.
   */
  *named(tenant: string, name: string): Work<readonly NameWithBearer[]> {
    const key = nameKey(name)
    const exact = yield sql(NAMED, tenant, key)
    const isInThisCase = exact.length > 0 || name.toLowerCase() === name.toUpperCase()
    return namedIn(tenant, isInThisCase ? exact : yield sql(NAMED_IN_OTHER_CASE, tenant, key))
  },
  /** Reports whether a shipment bears exactly this name, whoever gave it. */
  *bears(tenant: string, name: string, id: string): Work<boolean> {
    return (yield sql(BEARS, tenant, nameKey(name), thingKey(id))).length > 0
  },
  *quote(tenant: string, id: string): Work<Quote | undefined> {
    const [row] = yield sql(FIND_QUOTE, tenant, thingKey(id))
    return row && quoteIn(tenant, row)
  },
  *shipment(tenant: string, id: string): Work<StoredShipment | undefined> {
    const [row] = yield sql(FIND_SHIPMENT, tenant, thingKey(id))
    return row && shipmentOfRow(tenant, thingKey(id), row)
  },
  /** Returns the quotes whose approvals were noted with one of these names or keys, unless they are taken back; those of a name last noted first. */
  *approvals(tenant: string, names: readonly string[]): Work<readonly NotedApproval[]> {
    const byKey = new Map(names.map((name) => [nameKey(name), name]))
    return (yield sql(APPROVALS, tenant, JSON.stringify([...byKey.keys()]))).map((row) => ({
      name: byKey.get(String(row['name'])) ?? '',
      quote: String(row['quote']),
      own: String(row['own']),
    }))
  },
  /** Returns the shipments that were booked or approved from a quote, newest first. */
  *shipmentsOfQuote(tenant: string, quote: string): Work<readonly StoredShipment[]> {
    return (yield sql(SHIPMENTS_OF_QUOTE, tenant, thingKey(quote))).flatMap(
      (row) => shipmentOfRow(tenant, String(row['key']), row) ?? [],
    )
  },
  *namesAfter(place: NameKey): Work<readonly ScannedName[]> {
    return (yield sql(NAMES_AFTER, ...place)).map((row) => {
      const [vehicle, another]: readonly Vehicle[] = JSON.parse(String(row['vehicles'] ?? '[]'))
      return { ...ofTenant(row), vin: vehicle && !another ? vehicle.vin : '' }
    })
  },
}

/** The number of names in a page. */
const NAMES_AT_ONCE = 500
const NAMES_AFTER = `SELECT name.*, vehicles FROM (SELECT ${NAME} FROM transload.names
    WHERE (${NAME_KEY}) > ($1, $2, $3, $4) ORDER BY ${NAME_KEY} LIMIT ${NAMES_AT_ONCE}) AS name
  LEFT JOIN transload.shipments AS shipment ON shipment.tenant = name.tenant AND shipment.key = name.bearer
  ORDER BY name.tenant, name.name, name.kind, name.bearer`

/** Reads page by page, each in its own read, so that checkpoints and calls can run in between. */
export async function* scan(
  namesAfter: (place: NameKey) => Promise<readonly ScannedName[]>,
  { tenant, after }: Parameters<Store['scan']>[0],
): AsyncGenerator<readonly ScannedName[]> {
  const first: NameKey = after ? partsOf(after) : [tenant ?? '', '', -1, '']
  for await (const names of pages(
    (last: ScannedName | undefined) => namesAfter(last ? partsOf(last) : first),
    NAMES_AT_ONCE,
  )) {
    const wanted = tenant === undefined ? names : names.filter((name) => name.tenant === tenant)
    if (wanted.length > 0) yield wanted
    if (wanted.at(-1) !== names.at(-1)) return
  }
}

/* Writes */

/** A later write of a name has a greater turn. Most names have one bearer, whose turn takes no space. */
export const nextTurn = (tenant: string, name: string, table = 'names'): string =>
  `(SELECT coalesce(max(turn) + 1, 0) FROM transload.${table} WHERE tenant = ${tenant} AND name = ${name})`

/** The new values of a name that exists already, whose row is called `old`, besides its time. */
export const SET_NAME = 'id = excluded.id, turn = excluded.turn, used_day = excluded.used_day'

/** A noted approval keeps its place: approvals that run at the same time wait for those that were noted before them. */
const NOTE_APPROVAL = `INSERT INTO transload.approvals (tenant, name, quote, turn, used_day)
  SELECT $1, value, $3, ${nextTurn('$1', 'value', 'approvals AS other')}, ${TODAY} FROM transload.each($2) WHERE 1 = 1 ORDER BY 2
  ON CONFLICT (tenant, name, quote) DO UPDATE SET used_day = excluded.used_day`
const SEND_APPROVAL = `INSERT INTO transload.quotes AS old (tenant, key, id, approval, at, used_day) VALUES ($1, $2, $3, 'sent', $4, ${TODAY})
  ON CONFLICT (tenant, key) DO UPDATE SET approval = excluded.approval, used_day = excluded.used_day`

const PUT_NAME = `INSERT INTO transload.names AS old (${NAME}, turn, used_day)
  VALUES ($1, $2, $3, $4, $5, $6, $7, ${nextTurn('$1', '$2')}, ${TODAY})
  ON CONFLICT (${NAME_KEY}) DO UPDATE SET ${SET_NAME},
  at = CASE WHEN excluded.at > old.at THEN excluded.at ELSE old.at END`

/** Keeps the parts that are not given. */
const keeping = (parts: readonly string[]) =>
  parts.map((part) => `${part} = coalesce(excluded.${part}, old.${part})`).join(', ')
/** A service that gives one id to every quote must not fill its row. */
export const MOST_NAMES_CHARACTERS = 1_000
/** The service may give a quote again, under another name: it keeps those that it has. */
const ALL_NAMES = `(SELECT json_agg(value ORDER BY value)::text FROM (SELECT value FROM transload.each(coalesce(old.names, '[]'))
  UNION SELECT value FROM transload.each(coalesce(excluded.names, '[]'))) AS name)`
/** The new values of an existing quote or shipment, whose row is called `old`. */
export const SET_QUOTE = `${keeping(QUOTE_PARTS.filter((part) => part !== 'names'))}, used_day = excluded.used_day,
  names = CASE WHEN excluded.names <> old.names AND length(old.names) < ${MOST_NAMES_CHARACTERS} THEN ${ALL_NAMES}
    ELSE coalesce(excluded.names, old.names) END,
  at = CASE WHEN excluded.facts IS NULL THEN old.at ELSE excluded.at END`
const isGone = (state: string) => `coalesce(${state}, 'live') IN ('canceled', 'gone')`
/** A doubt does not change a shipment's age, nor that the service forgets a canceled one. */
export const SET_SHIPMENT = `${keeping(SHIPMENT_PARTS)}, used_day = excluded.used_day,
  at = CASE WHEN excluded.quote IS NULL AND (${isGone('coalesce(excluded.state, old.state)')}) = (${isGone('old.state')})
    THEN old.at ELSE excluded.at END`

const putThing = (table: string, parts: readonly string[], set: string, returning = '') => {
  const columns = ['tenant', 'key', 'id', ...parts, 'at']
  const values = columns.map((column, index) => (column === 'facts' ? `jsonb($${index + 1})` : `$${index + 1}`))
  return `INSERT INTO transload.${table} AS old (${columns.join(', ')}, used_day)
    VALUES (${values.join(', ')}, ${TODAY}) ON CONFLICT (tenant, key) DO UPDATE SET ${set}${returning}`
}
const PUT_QUOTE = putThing('quotes', QUOTE_PARTS, SET_QUOTE, ' RETURNING approval')
const PUT_SHIPMENT = putThing('shipments', SHIPMENT_PARTS, SET_SHIPMENT)

const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value))

/** Returns a name's columns to write, in order. */
export function nameRow(name: NameOfId) {
  const [tenant, text, kind, bearer] = partsOf(name)
  return { tenant, name: text, kind, bearer, id: spelled(name.id, bearer), whole: whole(name.name) }
}

/** Returns a quote's columns to write, in order; those that do not change are null. */
export function quoteRow({ tenant, id, own, names, facts, price, approval, idsInApproval }: QuoteChange) {
  const key = thingKey(id)
  const told = { own: own ?? null, names: json(names), facts: json(facts), price: price ?? null }
  const approved = { approval: approval ?? null, ids_in_approval: json(idsInApproval) }
  return { tenant, key, id: spelled(id, key), ...told, ...approved }
}

/** Returns a shipment's columns to write, in order; those that do not change are null. */
export function shipmentRow({ tenant, id, own, vehicles, formerVins, state, quote }: ShipmentChange) {
  const key = thingKey(id)
  const shown = { vehicles: json(vehicles), former_vins: json(formerVins), state: state ?? null }
  const of = { quote: quote === undefined ? null : thingKey(quote) }
  return { tenant, key, id: spelled(id, key), own: own ?? null, ...shown, ...of }
}

/** The key columns of the names in `$1`; each name is an array that begins with its key. */
const LOADED_KEY = [item(0), item(1), item(2, 'bigint'), item(3)]
const loadNames = (conflict: string) => `INSERT INTO transload.names AS old (${NAME}, turn, used_day)
  SELECT ${LOADED_KEY.join(', ')}, ${item(4)}, coalesce(${item(5, 'bigint')}, transload.now_ms()), ${item(7)}, ${nextTurn(item(0), item(1))}
    + ${item(6, 'bigint')}, ${TODAY} FROM transload.each($1) WHERE 1 = 1 ORDER BY 1, 2, 3, 4
  ON CONFLICT (${NAME_KEY}) DO ${conflict} RETURNING ${NAME}`
const LOAD_NEW = loadNames('NOTHING')
const LOAD_OVER = loadNames(`UPDATE SET ${SET_NAME}, at = excluded.at WHERE old.id <> excluded.id`)
/** The approval of an imported quote by its id does not know the name. */
const LOAD_APPROVALS = `INSERT INTO transload.approvals (tenant, name, quote, turn, used_day)
  SELECT ${item(0)}, ${item(1)}, transload.thing_key(${item(4)}), 0, ${TODAY} FROM transload.each($1) WHERE 1 = 1
  ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING`
/** An earlier import may have given the name to another quote by mistake. */
const DROP_APPROVALS = `DELETE FROM transload.approvals AS row
  WHERE (tenant, name) IN (SELECT ${item(0)}, ${item(1)} FROM transload.each($1))
    AND NOT EXISTS (SELECT 1 FROM transload.quotes WHERE tenant = row.tenant AND key = row.quote AND approval <> '')`
const LOAD_FOUND = `SELECT ${NAME} FROM transload.names
  WHERE (${NAME_KEY}) IN (SELECT ${LOADED_KEY.join(', ')} FROM transload.each($1))`
const LOAD_VEHICLES = `INSERT INTO transload.shipments AS old (tenant, key, id, vehicles, at, used_day)
  SELECT ${[0, 1, 2, 3].map((index) => item(index)).join(', ')}, transload.now_ms(), ${TODAY}
  FROM transload.each($1) WHERE 1 = 1 ORDER BY 1, 2
  ON CONFLICT (tenant, key) DO UPDATE SET vehicles = excluded.vehicles, used_day = excluded.used_day
  WHERE coalesce(old.vehicles, '[]') = '[]'`

/** Writes things before names, as the `put` of PostgreSQL does, which runs its steps from the last: two orders could deadlock. */
export const nameWrites = {
  /**
   * Writes names, and the given parts of a quote and a shipment, in one durable step. The last write of a quote's name is the newest,
   * whatever its `at`. A name's `at` never goes back.
   */
  *put({ names = [], quote, shipment }: NamesWrite): Work<void> {
    const at = yield* now()
    if (shipment) yield sql(PUT_SHIPMENT, ...Object.values({ ...shipmentRow(shipment), at: shipment.at ?? at }))
    const [stored] = quote ? yield sql(PUT_QUOTE, ...Object.values(quoteRow(quote)), at) : []
    // The service may give an approved quote again, under another number.
    if (quote && stored?.['approval']) {
      const isOfQuote = (name: NewName) =>
        name.kind === 'quote' && name.tenant === quote.tenant && isSameThing(name.id, quote.id)
      const called = [...new Map(names.map((name) => [keyOf(name), name])).values()].filter(isOfQuote)
      const keys = JSON.stringify(called.map(({ name }) => nameKey(name)))
      yield sql(NOTE_APPROVAL, quote.tenant, keys, thingKey(quote.id))
    }
    for (const name of names) {
      const [tenant, text, kind, bearer] = partsOf(name)
      yield sql(PUT_NAME, tenant, text, kind, bearer, spelled(name.id, bearer), name.at ?? at, whole(name.name))
    }
  },
  /** Notes with a quote, its id, and names that may mean newer quotes by now, that its approval is sent, in one durable step. */
  *noteApproval({ tenant, id }: ThingId, names: readonly string[]): Work<void> {
    const key = thingKey(id)
    yield sql(SEND_APPROVAL, tenant, key, spelled(id, key), yield* now())
    yield sql(NOTE_APPROVAL, tenant, JSON.stringify([...new Set([...names.map(nameKey), key])]), key)
  },
  /** Removes names in one durable step, except quotes' names that mean another id by now; returns how many. */
  *unlink(names: readonly NameOfId[]): Work<number> {
    let dropped = 0
    for (const name of names) dropped += (yield sql(DROP_NAME, ...partsOf(name), thingKey(name.id))).length
    return dropped
  },
  /**
   * Writes many names in one durable step. A quote's name that means another id is kept and listed, unless `replace`: then the newest of
   * `names` counts, and of two with one `at` the later one.
   */
  *load(names: readonly LoadedName[], { replace }: { readonly replace: boolean }): Work<LoadResult> {
    const vehicles = vehiclesOf(names)
    if (vehicles.length > 0) yield sql(LOAD_VEHICLES, JSON.stringify(vehicles))
    // Of several names with the same key, the one that stays.
    const chosen = new Map<string, LoadedName>()
    for (const name of names) {
      const earlier = chosen.get(keyOf(name))
      if (!earlier || (replace && isAsNew(name, earlier))) chosen.set(keyOf(name), name)
    }
    const written = byKey((yield sql(replace ? LOAD_OVER : LOAD_NEW, rowsOf([...chosen.values()]))).map(ofTenant))
    const quotes = rowsOf([...chosen].flatMap(([key, name]) => (name.kind === 'quote' && written.has(key) ? name : [])))
    if (quotes !== '[]') {
      if (replace) yield sql(DROP_APPROVALS, quotes)
      yield sql(LOAD_APPROVALS, quotes)
    }
    const others = [...chosen].flatMap(([key, name]) => (written.has(key) ? [] : name))
    const kept = byKey((yield sql(LOAD_FOUND, rowsOf(others))).map(ofTenant))
    const conflicts: { asked: LoadedName; found: Name }[] = []
    let same = 0
    for (const asked of names) {
      const key = keyOf(asked)
      if (written.has(key) && chosen.get(key) === asked) continue
      const found = written.get(key) ?? kept.get(key)
      if (found && (asked.kind === 'shipment' || found.id === asked.id)) same += 1
      else if (found && !replace) conflicts.push({ asked, found })
    }
    return { written: names.length - same - conflicts.length, same, conflicts }
  },
}

/** A name without a time is of now. */
const isAsNew = ({ at: one = Number.POSITIVE_INFINITY }: LoadedName, { at = Number.POSITIVE_INFINITY }: LoadedName) =>
  one >= at

const DROP_NAME = `DELETE FROM transload.names
  WHERE tenant = $1 AND name = $2 AND kind = $3 AND bearer = $4 AND (bearer <> '' OR transload.thing_key(id) = $5) RETURNING 1`

const ofTenant = (row: DatabaseRow): Name => nameOf(String(row['tenant']), row)

const byKey = (names: readonly Name[]) => new Map(names.map((name) => [keyOf(name), name]))

const rowsOf = (names: readonly LoadedName[]): string =>
  JSON.stringify(
    names.map((name, index) => {
      const parts = partsOf(name)
      return [...parts, spelled(name.id, parts[3]), name.at ?? null, index, whole(name.name)]
    }),
  )

/** Returns a row for each shipment for which names contain a VIN; if there are several, the first. */
function vehiclesOf(names: readonly LoadedName[]) {
  const rows = new Map<string, readonly (string | null)[]>()
  for (const { tenant, kind, id, vin } of names) {
    const key = thingKey(id)
    const place = JSON.stringify([tenant, key])
    if (kind !== 'shipment' || vin === '' || rows.has(place)) continue
    const vehicles: readonly Vehicle[] = [{ vin, year: '', make: '', model: '' }]
    rows.set(place, [tenant, key, spelled(id, key), JSON.stringify(vehicles)])
  }
  return [...rows.values()]
}
