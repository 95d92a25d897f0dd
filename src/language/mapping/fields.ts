import { LONGEST_TYPED, nearest } from '../text/nearest.ts'
import { isNotKnown, isShortened } from '../text/service-text.ts'

/** A version-1 field that cannot be translated, with the reason. */
export interface Problem {
  /** The field's documented name. */
  readonly field: string
  /** The name of the rule that refused it. */
  readonly code: string
  /** A whole sentence without a closing period, beginning with the field. */
  readonly message: string
}

/** An object or a list where a single value belongs. */
export const NOT_FLAT = Symbol('not flat')
/** A file where text belongs. */
export const IS_FILE = Symbol('is file')
/** A field's value as it was sent; `null` if it was blank. */
export type FieldValue = string | null | typeof NOT_FLAT | typeof IS_FILE
export type Entry = readonly [name: string, value: FieldValue]

/** A field's value for the rows: text, nothing, or a value that is already refused. */
export type Value = string | undefined | typeof REFUSED
/** Marks a field that was sent and cannot be used; a problem says why. */
const REFUSED = Symbol('refused')

/** An action's fields, each with the slot of its value. */
export interface FieldIndex {
  /** The documented names; a field's position is its slot. */
  readonly names: readonly string[]
  /** The slots of the documented names, and of their loose forms. */
  readonly slots: ReadonlyMap<string, number>
  readonly slotOf: (name: string) => number | undefined
}

/** A caller's fields, sorted into the slots of an action. */
export interface Fields {
  readonly values: readonly Value[]
  /** The slots of fields that were sent blank. */
  readonly blank: readonly number[]
  /** The sent names that the action does not know. */
  readonly unknown: readonly string[]
  /** Those of the unknown names that were sent with a value, each once. */
  readonly ignored: readonly string[]
  /** Those of the ignored names that an action may refuse: `N/A` for a second vehicle says that there is none. */
  readonly refusable: readonly string[]
  readonly problems: readonly Problem[]
}

export const VALUE_LIMIT_BYTES = 4096
/** Shorter text needs no counting, because UTF-8 takes at most three bytes for each UTF-16 unit. */
const SURELY_SHORT_CHARACTERS = VALUE_LIMIT_BYTES / 3

/** Returns the same key for all spellings of a field: PHP turns the trailing period into `_`, and others drop it. */
export function looseName(name: string): string {
  return name.toLowerCase().replace(/[._]$/, '')
}

/** Too many names begin with a shorter one. */
const SHORTEST_BEGINNING = 4

/** Returns the documented field that an unknown name may mean: one that differs in a few letters, or is longer or shorter at the end. */
export function meantField(name: string, fields: readonly string[]): string | undefined {
  if (name.length > LONGEST_TYPED) return undefined
  const typed = looseName(name)
  const near = nearest(typed, fields.map(looseName))
  const known = near === undefined ? undefined : fields.find((field) => looseName(field) === near)
  if (known !== undefined || typed.length < SHORTEST_BEGINNING) return known
  const longer = fields.filter((field) => looseName(field).startsWith(typed))
  const [shorter] = fields
    .filter((field) => field.length >= SHORTEST_BEGINNING && typed.startsWith(looseName(field)))
    .sort((one, other) => other.length - one.length)
  return shorter ?? (longer.length === 1 ? longer[0] : undefined)
}

/** A field's problems before any rule reads it, by code; `docs/wire.md` shows them. */
export const fieldProblems = {
  'not-flat': 'must be a single value, not an object or a list',
  'is-file': 'must be text, not a file',
  'not-text': 'must not contain a NUL or an incomplete character',
  'too-long': `must not be longer than ${VALUE_LIMIT_BYTES} bytes`,
  disagree: 'is sent twice with different values',
  shortened: 'was shortened by a spreadsheet; send all its digits',
} as const

/** Indexes documented names. A field is found by its exact name first, then by its loose one. */
export function indexFields(names: readonly string[]): FieldIndex {
  const slots = new Map<string, number>()
  for (const [slot, name] of names.entries()) slots.set(looseName(name), slot)
  for (const [slot, name] of names.entries()) slots.set(name, slot)
  return { names, slots, slotOf: (name) => slots.get(name) ?? slots.get(looseName(name)) }
}

/** Sorts the sent fields into slots, and collects the unknown and the unusable ones. In a form, `VinNo[]` is a list of VINs. */
export function sortFields(index: FieldIndex, entries: readonly Entry[]): Fields {
  const values = new Array<Value>(index.names.length).fill(undefined)
  const blank: number[] = []
  const unknown: string[] = []
  const ignored: string[] = []
  const refusable: string[] = []
  const problems: Problem[] = []
  const refuse = (slot: number, code: keyof typeof fieldProblems) => {
    if (values[slot] === REFUSED) return
    values[slot] = REFUSED
    const field = index.names[slot] ?? ''
    problems.push({ field, code, message: `${field} ${fieldProblems[code]}` })
  }
  for (const [name, value] of entries) {
    const slot = index.slots.get(name) ?? index.slots.get(looseName(name))
    const listed = slot === undefined && name.endsWith(']') ? index.slotOf(name.slice(0, name.indexOf('['))) : undefined
    if (listed !== undefined && value !== null) refuse(listed, 'not-flat')
    else if (slot === undefined) {
      unknown.push(name)
      if (value !== null && !ignored.includes(name)) ignored.push(name)
      const isKnown = value !== null && !(typeof value === 'string' && isNotKnown(value))
      if (isKnown && !refusable.includes(name)) refusable.push(name)
    } else if (value === null) blank.push(slot)
    else if (value === NOT_FLAT) refuse(slot, 'not-flat')
    else if (value === IS_FILE) refuse(slot, 'is-file')
    else if (!isText(value)) refuse(slot, 'not-text')
    else if (value.length > SURELY_SHORT_CHARACTERS && Buffer.byteLength(value) > VALUE_LIMIT_BYTES)
      refuse(slot, 'too-long')
    else if (isShortened(value)) refuse(slot, 'shortened')
    else if (values[slot] === undefined) values[slot] = value
    else if (values[slot] !== value) refuse(slot, 'disagree')
  }
  return {
    values,
    blank: blank.filter((slot) => values[slot] === undefined),
    unknown,
    ignored,
    refusable,
    problems,
  }
}

/** A store and a header cannot hold a NUL or half a surrogate pair. */
export function isText(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

/** A body's fields as they were sent. */
export interface FlatBody {
  readonly entries: readonly Entry[]
  readonly format: 'json' | 'form'
  /** The whole decoded body, without byte order mark or surrounding blanks. */
  readonly text: string
}
