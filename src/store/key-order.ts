import type { LinkKey } from './store.ts'

/** The order of the databases: by the bytes of UTF-8, which is not JavaScript's beyond the basic plane. */
export function byBytes(one: string, other: string): number {
  if (one === other) return 0
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** The order of a scan. */
export function byKey(one: LinkKey, other: LinkKey): number {
  return (
    byBytes(one.tenant, other.tenant) ||
    byBytes(one.name, other.name) ||
    byBytes(one.kind, other.kind) ||
    byBytes(one.vin, other.vin)
  )
}
