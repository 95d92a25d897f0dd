import type { LinkKey } from './store.ts'

/** Compares like the databases do, by the bytes of UTF-8; JavaScript differs beyond the basic plane. */
export function compareBytes(one: string, other: string): number {
  if (one === other) return 0
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** Compares by the order of a scan. */
export function compareKeys(one: LinkKey, other: LinkKey): number {
  return (
    compareBytes(one.tenant, other.tenant) ||
    compareBytes(one.name, other.name) ||
    compareBytes(one.givenBy, other.givenBy) ||
    compareBytes(one.kind, other.kind) ||
    compareBytes(one.vin, other.vin)
  )
}
