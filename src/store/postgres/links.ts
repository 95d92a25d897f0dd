import type { Link, LinkKey, NewLink } from '../store.ts'

/** The prefix of `kind` for a name that the service gave. */
const SERVICE_PREFIX = 'v2-'

/** Orders the links of a name: the caller's own first, then the newest first, then the later write first. */
export const LINK_ORDER = `kind LIKE '${SERVICE_PREFIX}%', at DESC, turn DESC`

/** Returns the stored kind of a link, which tells who gave the name. */
export function kindColumn({ kind, givenBy }: Pick<Link, 'kind' | 'givenBy'>): string {
  return givenBy === 'service' ? SERVICE_PREFIX + kind : kind
}

/** Returns the link in a row with all its columns. */
export function storedLink(row: { readonly [column: string]: unknown }): Link {
  const { tenant, name, vin, id, at } = row
  const stored = String(row['kind'])
  return {
    tenant: String(tenant),
    kind: stored.endsWith('shipment') ? 'shipment' : 'quote',
    name: String(name),
    givenBy: stored.startsWith(SERVICE_PREFIX) ? 'service' : 'caller',
    vin: String(vin),
    id: String(id),
    at: Number(at),
  }
}

/** Returns one text for the key of a link. */
export function keyOf(link: LinkKey): string {
  return JSON.stringify([link.tenant, link.name, kindColumn(link), link.vin])
}

/** Keeps the last link of each key, because a statement may change a row only once. */
export function lastLinks(links: readonly NewLink[]): readonly NewLink[] {
  const last = new Map<string, NewLink>()
  for (const link of links) {
    const key = keyOf(link)
    const before = last.get(key)
    setLast(last, key, before ? { ...link, at: laterOf(before.at, link.at) } : link)
  }
  return [...last.values()]
}

/** Sets a key at the end of the map: a later write sorts later. */
export function setLast(links: Map<string, NewLink>, key: string, link: NewLink): void {
  links.delete(key)
  links.set(key, link)
}

/** Returns the later time; undefined is the time of the write. */
function laterOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other)
}

/** Returns the values of links, by column. */
export function linkColumns(links: readonly NewLink[]): unknown[][] {
  const nth = new Map(links.map((link, index) => [link, index]))
  const rows = inLockOrder(links)
  return [
    rows.map(({ tenant }) => tenant),
    rows.map(({ name }) => name),
    rows.map(kindColumn),
    rows.map(({ vin }) => vin),
    rows.map(({ id }) => id),
    rows.map(({ at }) => at ?? null),
    rows.map((link) => nth.get(link)),
  ]
}

/** Sorts links by key: batches that lock rows in one order cannot deadlock. */
function inLockOrder(links: readonly NewLink[]): readonly NewLink[] {
  return links.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
}
