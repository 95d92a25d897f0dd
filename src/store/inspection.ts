import type { Doubt, Origin } from './doubt.ts'

/** The content of a store, as an operator inspects it. */
export interface Inspection {
  readonly version: number
  /** The version that this program creates and reads. */
  readonly programVersion: number
  /** The faults in the content of the file; empty if it has none, or if the engine cannot tell. */
  readonly faults: readonly string[]
  /** The number of rows, by table. */
  readonly rows: Readonly<Record<string, number>>
  /** The number of bookings, by state. */
  readonly claims: Readonly<Record<string, number>>
  /** Links whose quote or shipment has no remembered data, such as those of an import. */
  readonly linksWithoutThing: number
  /** The store's id; undefined where it has none. */
  readonly id?: string | undefined
  readonly origin: Origin
  readonly doubt: Doubt | undefined
}
