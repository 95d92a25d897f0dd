import { type CopyReads, pages } from './copy.ts'
import type { Link, LinkKey, Named, NameReads, NameWrites, NewLink, Thing, Xref } from './store.ts'
import { type DatabaseRow, item, now, sql, TODAY, type WorkOf } from './work.ts'

/** The first number of a name that the service gave. */
const SERVICE_KINDS = 2

/** Returns the stored number of a link's kind and giver; their order is that of a scan. */
export function kindNumber({ kind, givenBy }: Pick<Link, 'kind' | 'givenBy'>): number {
  return (kind === 'quote' ? 0 : 1) + (givenBy === 'caller' ? 0 : SERVICE_KINDS)
}

/** Returns the key of a link, as its row has it. */
const partsOf = (link: LinkKey) => [link.tenant, link.name, kindNumber(link), link.vin] as const

export const LINK_KEY = 'tenant, name, kind, vin'

const LINK = `${LINK_KEY}, id, at`
const FIND_LINKS = `SELECT ${LINK}, turn FROM transload.links WHERE tenant = $1 AND name = $2`
/** A caller may write a name in more cases than can be read. */
const MOST_IN_OTHER_CASE = 1_000

/** The links of a name in another case of its letters. */
const inOtherCase = (tenant: string, name: string) => {
  const of = `SELECT ${LINK}, turn FROM transload.links WHERE tenant = ${tenant}`
  return `${of} AND name IN (lower(${name}), upper(${name})) AND name <> ${name}
    UNION ALL ${of} AND lower(name) = lower(${name}) AND name <> lower(name) AND name <> upper(name) AND name <> ${name}
    LIMIT ${MOST_IN_OTHER_CASE}`
}
const withThings = (links: string) => `SELECT link.*, own, facts::text AS facts, thing.at AS thing_at
  FROM (${links}) AS link LEFT JOIN transload.things AS thing ON thing.tenant = link.tenant AND thing.id = link.id`

/** The links of a name in any case of its letters. */
export const inAnyCase = (tenant: string, name: string) =>
  `SELECT ${LINK}, turn FROM transload.links WHERE tenant = ${tenant} AND name = ${name}
    UNION ALL SELECT * FROM (${inOtherCase(tenant, name)}) AS others`
const NAMED = withThings(FIND_LINKS)
const NAMED_IN_OTHER_CASE = withThings(inOtherCase('$1', '$2'))
// Facts take a sixth less as SQLite's JSONB. PostgreSQL has batches of its own for things, and refuses some text in its `jsonb`.
const FIND_THING =
  'SELECT tenant, id, own, facts::text AS facts, at FROM transload.things WHERE tenant = $1 AND id = $2'

/** Returns the link in a row with all its columns. */
function linkOf(row: DatabaseRow): Link {
  const kind = Number(row['kind'])
  return {
    tenant: String(row['tenant']),
    kind: kind % SERVICE_KINDS === 0 ? 'quote' : 'shipment',
    name: String(row['name']),
    givenBy: kind < SERVICE_KINDS ? 'caller' : 'service',
    vin: String(row['vin']),
    id: String(row['id']),
    at: Number(row['at']),
  }
}

/**
 * Returns rows of links in their order: the caller's own first, then the newest first, then the later write first. Most
 * names have one, for which a database that sorts takes longer than to find it.
 */
function inOrder(rows: readonly DatabaseRow[]): readonly DatabaseRow[] {
  if (rows.length < 2) return rows
  const isServices = ({ kind }: DatabaseRow) => (Number(kind) < SERVICE_KINDS ? 0 : 1)
  return rows.toSorted(
    (one, other) =>
      isServices(one) - isServices(other) ||
      Number(other['at']) - Number(one['at']) ||
      Number(other['turn']) - Number(one['turn']),
  )
}

/** Returns the links in rows that have the things of their ids, too, in their order. */
export function namedIn(rows: readonly DatabaseRow[]): readonly Named[] {
  const named: Named[] = []
  for (const row of inOrder(rows)) {
    const { own, facts, thing_at: at } = row
    const thing = at === null ? undefined : { own: String(own), facts: factsOf(facts), at: Number(at) }
    named.push({ ...linkOf(row), thing })
  }
  return named
}

/** Facts are stored as JSON, which escapes unstorable text. */
const factsOf = (facts: unknown): Thing['facts'] => (typeof facts === 'string' ? JSON.parse(facts) : null)

/** Returns the thing in a row with all its columns. */
export function thingOf(row: DatabaseRow): Thing {
  const { tenant, id, own, facts, at } = row
  return {
    tenant: String(tenant),
    id: String(id),
    own: String(own),
    facts: factsOf(facts),
    at: Number(at),
  }
}

export const nameReads: WorkOf<NameReads> = {
  *links(tenant, name) {
    return inOrder(yield sql(FIND_LINKS, tenant, name)).map(linkOf)
  },
  *named(tenant, name) {
    const exact = yield sql(NAMED, tenant, name)
    const isOfOneCase = name.toLowerCase() === name.toUpperCase()
    return namedIn(exact.length > 0 || isOfOneCase ? exact : yield sql(NAMED_IN_OTHER_CASE, tenant, name))
  },
  *thing(tenant, id) {
    return (yield sql(FIND_THING, tenant, id)).map(thingOf)[0]
  },
}

/** Reads page by page, each by itself, which lets checkpoints and calls run in between. */
export async function* scan(
  rowsAfter: CopyReads['rowsAfter'],
  { tenant, after }: Parameters<Xref['scan']>[0],
): AsyncGenerator<readonly Link[]> {
  const from = after ? partsOf(after) : [tenant ?? '', '', -1, '']
  for await (const rows of pages(rowsAfter, 'links', from)) {
    // In the order of the columns.
    const links = rows.map(([of, name, kind, vin, id, at]) => linkOf({ tenant: of, name, kind, vin, id, at }))
    const wanted = tenant === undefined ? links : links.filter((link) => link.tenant === tenant)
    if (wanted.length > 0) yield wanted
    if (wanted.length > 0 && wanted.at(-1) !== links.at(-1)) return
  }
}

/** The later write of a name has the greater turn; most names have one link, whose turn takes no space. */
const nextTurn = (tenant: string, name: string) =>
  `(SELECT coalesce(max(turn) + 1, 0) FROM transload.links WHERE tenant = ${tenant} AND name = ${name})`

const PUT_LINK = `INSERT INTO transload.links AS old (tenant, name, kind, vin, id, at, turn, used_day)
  VALUES ($1, $2, $3, $4, $5, $6, ${nextTurn('$1', '$2')}, ${TODAY})
  ON CONFLICT (${LINK_KEY}) DO UPDATE SET id = excluded.id, turn = excluded.turn, used_day = excluded.used_day,
  at = CASE WHEN excluded.at > old.at THEN excluded.at ELSE old.at END`
const PUT_THING = `INSERT INTO transload.things (tenant, id, own, facts, at, used_day)
  VALUES ($1, $2, $3, jsonb($4), $5, ${TODAY})
  ON CONFLICT (tenant, id) DO UPDATE SET own = excluded.own, facts = excluded.facts, at = excluded.at,
  used_day = excluded.used_day`

/** The items of `$1` as links; each is an array, with its key first. */
const LOADED_KEY = [item(0), item(1), item(2, 'bigint'), item(3)]
const loadLinks = (
  conflict: string,
) => `INSERT INTO transload.links AS old (tenant, name, kind, vin, id, at, turn, used_day)
  SELECT ${LOADED_KEY.join(', ')}, ${item(4)}, coalesce(${item(5, 'bigint')}, transload.now_ms()), ${nextTurn(item(0), item(1))}
    + ${item(6, 'bigint')}, ${TODAY} FROM transload.each($1) WHERE 1 = 1 ORDER BY 1, 2, 3, 4
  ON CONFLICT (${LINK_KEY}) DO ${conflict} RETURNING ${LINK}`
const LOAD_NEW = loadLinks('NOTHING')
const LOAD_OVER = loadLinks(`UPDATE SET id = excluded.id, at = excluded.at, turn = excluded.turn,
  used_day = excluded.used_day WHERE old.id <> excluded.id`)
const LOAD_FOUND = `SELECT ${LINK} FROM transload.links
  WHERE (${LINK_KEY}) IN (SELECT ${LOADED_KEY.join(', ')} FROM transload.each($1))`

export const nameWrites: WorkOf<NameWrites> = {
  *put({ links, thing }) {
    const at = yield* now()
    for (const link of links) {
      yield sql(PUT_LINK, ...partsOf(link), link.id, link.at ?? at)
    }
    if (!thing) return
    yield sql(PUT_THING, thing.tenant, thing.id, thing.own, thing.facts && JSON.stringify(thing.facts), at)
  },
  *unlink(links) {
    let dropped = 0
    for (const link of links) dropped += (yield sql(DROP_LINK, ...partsOf(link), link.id)).length
    return dropped
  },
  *load(links, { replace }) {
    // Of several with one key, the one that stays.
    const chosen = new Map<string, NewLink>()
    for (const link of links) if (replace || !chosen.has(keyOf(link))) chosen.set(keyOf(link), link)
    const written = byKey((yield sql(replace ? LOAD_OVER : LOAD_NEW, rowsOf([...chosen.values()]))).map(linkOf))
    const others = [...chosen].flatMap(([key, link]) => (written.has(key) ? [] : link))
    const kept = byKey((yield sql(LOAD_FOUND, rowsOf(others))).map(linkOf))
    const conflicts: { asked: NewLink; found: Link }[] = []
    let same = 0
    for (const asked of links) {
      const key = keyOf(asked)
      if (written.has(key) && chosen.get(key) === asked) continue
      const found = written.get(key) ?? kept.get(key)
      if (found?.id === asked.id) same += 1
      else if (found && !replace) conflicts.push({ asked, found })
    }
    return { written: links.length - same - conflicts.length, same, conflicts }
  },
}

const DROP_LINK = `DELETE FROM transload.links
  WHERE tenant = $1 AND name = $2 AND kind = $3 AND vin = $4 AND id = $5 RETURNING 1`

/** Returns one text for the key of a link. */
export const keyOf = (link: LinkKey): string => JSON.stringify(partsOf(link))

const byKey = (links: readonly Link[]) => new Map(links.map((link) => [keyOf(link), link]))

const rowsOf = (links: readonly NewLink[]): string =>
  JSON.stringify(links.map((link, index) => [...partsOf(link), link.id, link.at ?? null, index]))
