/** A version-1 field that cannot be translated, and why. */
export interface Problem {
  /** The field's documented name. */
  readonly field: string
  /** The rule that refused it. */
  readonly code: string
  /** A whole sentence without a closing period, beginning with the field. */
  readonly message: string
}

/** An object or a list where a single value belongs. */
export const NOT_FLAT = Symbol('not flat')
/** A field as it was sent; `null`: without a value. */
export type FieldValue = string | null | typeof NOT_FLAT
export type Entry = readonly [name: string, value: FieldValue]

/** What a field holds for the rows: text, nothing, or something that has been refused already. */
export type Value = string | undefined | typeof REFUSED
/** The field was sent and cannot be used; a problem says why. */
const REFUSED = Symbol('refused')

/** The fields of an action: every spelling of each, and the place of its value. */
export interface FieldIndex {
  /** Documented names; a field's position here is its slot. */
  readonly names: readonly string[]
  readonly slotOf: (name: string) => number | undefined
}

/** A caller's fields, sorted into an action's slots. */
export interface Fields {
  readonly values: readonly Value[]
  /** Slots of fields that were sent without a value. */
  readonly blank: readonly number[]
  /** Names that the action does not know, as they were sent. */
  readonly unknown: readonly string[]
  readonly problems: readonly Problem[]
}

const VALUE_LIMIT_BYTES = 4096
/** UTF-8 takes at most three bytes for each UTF-16 unit, so that shorter text needs no counting. */
const SURELY_SHORT_CHARACTERS = VALUE_LIMIT_BYTES / 3

/** One key for all the spellings of a field: PHP turns the closing period into `_`, others drop it. */
export function spelling(name: string): string {
  return name.toLowerCase().replace(/[._]$/, '')
}

/** Indexes documented names so that a field is found as written, then by its loose spelling. */
export function indexFields(names: readonly string[]): FieldIndex {
  const slots = new Map<string, number>()
  for (const [slot, name] of names.entries()) slots.set(spelling(name), slot)
  for (const [slot, name] of names.entries()) slots.set(name, slot)
  return { names, slotOf: (name) => slots.get(name) ?? slots.get(spelling(name)) }
}

/** Sorts what was sent into slots; collects what is unknown and what cannot be used. */
export function sortFields(index: FieldIndex, entries: readonly Entry[]): Fields {
  const values = new Array<Value>(index.names.length).fill(undefined)
  const blank: number[] = []
  const unknown: string[] = []
  const problems: Problem[] = []
  const refuse = (slot: number, code: string, what: string) => {
    if (values[slot] === REFUSED) return
    values[slot] = REFUSED
    const field = index.names[slot] ?? ''
    problems.push({ field, code, message: `${field} ${what}` })
  }
  for (const [name, value] of entries) {
    const slot = index.slotOf(name)
    if (slot === undefined) unknown.push(name)
    else if (value === null) blank.push(slot)
    else if (value === NOT_FLAT) refuse(slot, 'not-flat', 'must be a single value, not an object or a list')
    else if (!isText(value)) refuse(slot, 'not-text', 'must be text without NUL or halves of characters')
    else if (tooLong(value)) refuse(slot, 'too-long', `must not be longer than ${VALUE_LIMIT_BYTES} bytes`)
    else if (values[slot] === undefined) values[slot] = value
    else if (values[slot] !== value) refuse(slot, 'disagree', 'is sent twice with different values')
  }
  return { values, blank: blank.filter((slot) => values[slot] === undefined), unknown, problems }
}

/** Neither a store nor a header keeps a NUL or half a surrogate pair as it is. */
function isText(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

function tooLong(value: string): boolean {
  return value.length > SURELY_SHORT_CHARACTERS && Buffer.byteLength(value) > VALUE_LIMIT_BYTES
}
