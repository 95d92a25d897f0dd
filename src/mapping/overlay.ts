import { isStructure, scalarText, setMember } from '../text/json.ts'
import { type Draft, dropAt, placeOf } from './paths.ts'

/** Merges the sent fields into the service's current body, in this entry of its lists; returns a new body. */
export type Overlay = (current: unknown, sent: Draft, entry: number) => Draft

/**
 * Compiles the merge of an update. Every part of the shipment keeps its id, because an update that names a part without
 * its id creates a second one. Places that only the service sets are left out.
 */
export function compileOverlay(setByService: readonly string[]): Overlay {
  const unsendable = setByService.map(placeOf)
  return (current, sent, entry) => {
    const whole = asDraft(copyOf(current))
    for (const place of unsendable) dropAt(whole, place)
    merge(whole, sent, entry)
    return whole
  }
}

/**
 * Returns the index of the list's entry that has this value: the vehicle of a VIN, without regard to case and blanks.
 * Returns 0 if no entry has it.
 */
export function entryWith(list: unknown, key: string, value: string | undefined): number {
  if (!Array.isArray(list) || value === undefined) return 0
  const found = list.findIndex((entry) => bare(scalarText(asDraft(entry)[key]) ?? '') === bare(value))
  return Math.max(found, 0)
}

/** Copies objects and lists; `structuredClone` would lose the digits of numbers. */
function copyOf(value: unknown): unknown {
  if (!isStructure(value)) return value
  if (Array.isArray(value)) return value.map(copyOf)
  const copy = {}
  for (const [name, member] of Object.entries(value)) setMember(copy, name, copyOf(member))
  return copy
}

function bare(text: string): string {
  return text.replace(/\s+/g, '').toUpperCase()
}

function merge(whole: Draft, sent: Draft, entry: number): void {
  for (const [key, value] of Object.entries(sent)) {
    if (Array.isArray(value)) {
      const list = Array.isArray(whole[key]) ? [...whole[key]] : []
      const merged = asDraft(list[entry])
      merge(merged, asDraft(value[0]), 0)
      list[entry] = merged
      whole[key] = list
    } else if (typeof value === 'object' && value !== null) {
      const merged = asDraft(whole[key])
      merge(merged, asDraft(value), 0)
      whole[key] = merged
    } else {
      whole[key] = value
    }
  }
}

/** Returns an object as it is, and an empty one for anything else: nothing can be merged into it. */
function asDraft(value: unknown): Draft {
  return isStructure(value) && !Array.isArray(value) ? (value as Draft) : {}
}
