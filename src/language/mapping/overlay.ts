import { isObject, isStructure, scalarText, setMember } from '../text/json.ts'
import { FIELD_LIMIT, shownText } from '../text/service-text.ts'
import { type Draft, dropAt, listLeaves, placeOf, putAt, valueAt } from './paths.ts'
import { compileReply, encoded } from './reply.ts'
import { decode } from './request.ts'
import type { Row, Settings } from './row.ts'
import { fieldsOf, placesOf } from './row-parts.ts'

/** Merges the sent fields into the service's current body, in the given entry of its lists; returns a new body. */
type Overlay = (current: unknown, sent: Draft, entry: number) => Draft

/**
 * Compiles an update's merge. Every part of the shipment keeps its id, because an update that names a part without its id creates a second
 * one. Places that only the service sets are left out.
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

/** Copies objects and lists; `structuredClone` would lose the digits of numbers. */
function copyOf(value: unknown): unknown {
  if (!isStructure(value)) return value
  if (Array.isArray(value)) return value.map(copyOf)
  const copy = {}
  for (const [name, member] of Object.entries(value)) setMember(copy, name, copyOf(member))
  return copy
}

/** An update's fields, compared with those that a read of the shipment shows. */
export interface Changes {
  /** The sent places, without those whose value is already there. */
  readonly places: Draft
  /** The fields that differ. */
  readonly fields: readonly string[]
  /** The fields that were sent as a read shows them, even if they cannot be translated. */
  readonly standing: ReadonlySet<string>
  /** The sent fields that mean nothing that can be written, such as a phone number without digits. */
  readonly unused: readonly string[]
  /** Every field as a read shows it. */
  readonly shown: Readonly<Record<string, string>>
}

/** Compares what was sent with the given entry of the service's current body; `textOf` returns a field as it was sent. */
type Compare = (
  current: unknown,
  sent: Draft,
  entry: number,
  textOf: (field: string) => string | undefined,
  settings: Settings,
) => Changes

/**
 * Compiles the comparison. A field that means what a read shows leaves the service's value unchanged, because version 1 may show less than
 * the service has.
 */
export function compileCompare(rows: readonly Row[]): Compare {
  const shownRows = rows.filter((row) => row.kind === 'move' || row.kind === 'split')
  const parts = rows.map((row) => ({ fields: fieldsOf(row), places: placesOf(row).map(placeOf) }))
  const show = compileReply(shownRows)
  const fieldsAt = new Map(rows.flatMap((row) => placesOf(row).map((place) => [place, fieldsOf(row)] as const)))
  return (current, sent, entry, textOf, settings) => {
    const now = entryOf(current, entry)
    const { reply: shown } = show(now, { settings, own: undefined })
    const standing = new Set<string>()
    const kept = new Set<string>()
    for (const row of shownRows) {
      const text = textOf(row.v1)
      if (text === undefined) continue
      const before = (shown[row.v1] ?? '').trim()
      if (text === before) standing.add(row.v1)
      for (const place of text === before ? placesOf(row) : keptPlaces(row, text, before, now, sent)) kept.add(place)
    }
    const places: Draft = {}
    const fields = new Set<string>()
    for (const [path, value] of listLeaves(sent).listed) {
      const place = placeOf(path)
      if (kept.has(path) || scalarText(valueAt(now, place)) === scalarText(value)) continue
      putAt(places, place, value)
      for (const field of fieldsAt.get(path) ?? []) if (textOf(field) !== undefined) fields.add(field)
    }
    const unused: string[] = []
    for (const part of parts) {
      let isUsed = false
      for (const place of part.places) isUsed ||= valueAt(sent, place) !== undefined
      if (isUsed) continue
      for (const field of part.fields) if (textOf(field) !== undefined && !standing.has(field)) unused.push(field)
    }
    return { places, fields: [...fields], standing, unused, shown }
  }
}

/** Returns the places of a row that keep their value although the field's text differs from what a read shows. */
function keptPlaces(
  row: Extract<Row, { kind: 'move' | 'split' }>,
  text: string,
  before: string,
  body: unknown,
  sent: Draft,
): readonly string[] {
  const meant = before === '' ? undefined : decode({ notes: [], problems: [] }, row.v1, row.codec, before)
  if (row.kind === 'move') {
    const isSame = scalarText(meant) !== undefined && scalarText(meant) === scalarText(valueAt(sent, placeOf(row.v2)))
    return isSame ? [row.v2] : []
  }
  const parts = Object.entries(row.v2).map(([part, place]) => {
    const now = shownText(scalarText(valueAt(body, placeOf(place))) ?? '', FIELD_LIMIT).trim()
    return { part, place, now, after: scalarText(valueAt(sent, placeOf(place))) }
  })
  // If filling in the absent parts is enough for a read to show the new text, only those take it. Otherwise the parts that the old text
  // stood for take it, too.
  const filled = parts.flatMap(({ part, now, after }) => (now || after ? [[part, now || after]] : []))
  const isEnough = encoded(row.codec, Object.fromEntries(filled)) === text
  const stoodFor = (part: string) => (isStructure(meant) ? valueAt(meant, [part]) : undefined)
  return parts.filter(({ part, now }) => now && (isEnough || now !== stoodFor(part))).map(({ place }) => place)
}

/** Returns what was sent, without the places where the given entry of the service's current body keeps its value. */
export function withoutKnown(
  sent: Draft,
  isKept: (path: string, has: string) => boolean,
  current: unknown,
  entry: number,
): Draft {
  const now = entryOf(current, entry)
  const rest: Draft = {}
  for (const [path, value] of listLeaves(sent).listed) {
    const place = placeOf(path)
    const has = scalarText(valueAt(now, place))
    if (!has || !isKept(path, has)) putAt(rest, place, value)
  }
  return rest
}

/** Returns a body whose lists begin with the given entry. */
function entryOf(current: unknown, entry: number): unknown {
  const members = Object.entries(asDraft(current))
  return Object.fromEntries(members.map(([name, value]) => [name, Array.isArray(value) ? value.slice(entry) : value]))
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

/** Returns an object unchanged, and an empty one for anything else, because nothing can be merged into that. */
function asDraft(value: unknown): Draft {
  return isObject(value) ? value : {}
}
