import { type Draft, dropAt, placeOf } from './paths.ts'

/** Lays the sent fields over the whole that the service has, in this entry of its lists; gives a new body. */
export type Overlay = (current: unknown, sent: Draft, entry: number) => Draft

/**
 * Compiles the laying-over of an update: every id that the parts of the shipment have stays, for an update that names
 * a part without its id creates a second one, and what only the service sets is left out.
 */
export function compileOverlay(serverSets: readonly string[]): Overlay {
  const closed = serverSets.map(placeOf)
  return (current, sent, entry) => {
    const whole = asDraft(structuredClone(current))
    for (const place of closed) dropAt(whole, place)
    lay(whole, sent, entry)
    return whole
  }
}

/**
 * Which entry of a list carries this value: the vehicle that a VIN means, in whatever case and with whatever blanks.
 * The first where none does.
 */
export function entryWith(list: unknown, key: string, value: string | undefined): number {
  if (!Array.isArray(list) || value === undefined) return 0
  const found = list.findIndex((entry) => bare(String(asDraft(entry)[key] ?? '')) === bare(value))
  return Math.max(found, 0)
}

function bare(text: string): string {
  return text.replace(/\s+/g, '').toUpperCase()
}

function lay(whole: Draft, sent: Draft, entry: number): void {
  for (const [key, value] of Object.entries(sent)) {
    if (Array.isArray(value)) {
      const list = Array.isArray(whole[key]) ? [...whole[key]] : []
      const merged = asDraft(list[entry])
      lay(merged, asDraft(value[0]), 0)
      list[entry] = merged
      whole[key] = list
    } else if (typeof value === 'object' && value !== null) {
      const merged = asDraft(whole[key])
      lay(merged, asDraft(value), 0)
      whole[key] = merged
    } else {
      whole[key] = value
    }
  }
}

/** An object as it is; anything else, which nothing can be laid over, as an empty one. */
function asDraft(value: unknown): Draft {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Draft) : {}
}
