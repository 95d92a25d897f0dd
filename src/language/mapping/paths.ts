import { isObject, isStructure } from '../text/json.ts'

/** A place in a version-2 body, parsed once: `vehicles[0].year` → `['vehicles', 0, 'year']`. */
export type Place = readonly (string | number)[]

/** A version-2 body under construction. */
export type Draft = { [key: string]: unknown }

const STEP = /([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]/y

/** Parses a dotted path; returns undefined if it is not one. */
export function parsePlace(path: string): Place | undefined {
  const steps: (string | number)[] = []
  let at = 0
  while (at < path.length) {
    STEP.lastIndex = at
    const match = STEP.exec(path)
    if (!match) return undefined
    steps.push(match[1] ?? Number(match[2]))
    at = STEP.lastIndex
    if (path[at] === '.' && at + 1 < path.length && path[at + 1] !== '[') at += 1
    else if (at < path.length && path[at] !== '[') return undefined
  }
  return typeof steps[0] === 'string' ? steps : undefined
}

/** Parses a dotted path; throws if it is not one. */
export function placeOf(path: string): Place {
  const place = parsePlace(path)
  if (!place) throw new Error(`${path} is not a place in a body`)
  return place
}

/** Returns the value at a place in a body of any shape; undefined if there is none. */
export function valueAt(body: unknown, place: Place): unknown {
  let value = body
  for (const step of place) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string | number, unknown>)[step]
  }
  return value
}

/** Puts a value at a place in a body under construction, and adds the objects and lists that lead there. */
export function putAt(body: Draft, place: Place, value: unknown): void {
  // Earlier rows put only objects and lists above a place.
  let holder = body as Record<string | number, unknown>
  const last = place.length - 1
  for (let i = 0; i < last; i += 1) {
    const step = place[i] as string | number
    let next = holder[step]
    if (next === undefined) {
      next = typeof place[i + 1] === 'number' ? [] : {}
      holder[step] = next
    }
    holder = next as Record<string | number, unknown>
  }
  holder[place[last] as string | number] = value
}

/** Removes the value at a place, in every entry of each list. */
export function dropAt(holder: unknown, place: Place, at = 0): void {
  const step = place[at]
  if (typeof holder !== 'object' || holder === null || step === undefined) return
  if (typeof step === 'number') {
    // A declared `[0]` stands for every entry of the list.
    if (Array.isArray(holder)) for (const entry of holder) dropAt(entry, place, at + 1)
  } else if (at === place.length - 1) {
    delete (holder as Draft)[step]
  } else {
    dropAt((holder as Draft)[step], place, at + 1)
  }
}

/** The most rows that an explanation lists; further ones are only counted. */
export const MOST_ROWS = 1_000
/** The most characters in all listed paths together, because a path repeats the names of all levels above its leaf. */
const MOST_PATH_CHARACTERS = 64 * 1024

/** The leaves of a body of any shape: those that an explanation lists, and how many others there are. */
interface ListedLeaves {
  readonly listed: readonly (readonly [path: string, value: unknown])[]
  readonly more: number
}

/**
 * Lists the leaves of a body, which may be anything that someone pasted. Empty objects and lists are leaves. The path of a leaf that is not
 * listed is never written as text.
 */
export function listLeaves(body: unknown): ListedLeaves {
  const listed: (readonly [path: string, value: unknown])[] = []
  let more = 0
  let characters = 0
  // Not a generator: each leaf of a deep body would pass through one per level.
  const visit = (value: unknown, path: string): void => {
    if (listed.length === MOST_ROWS) more += countLeaves(value)
    else if (Array.isArray(value) && value.length > 0) {
      for (const [at, entry] of value.entries()) visit(entry, `${path}[${at}]`)
    } else if (isObject(value) && Object.keys(value).length > 0) {
      for (const part of Object.keys(value)) visit(value[part], path === '' ? part : `${path}.${part}`)
    } else if (characters + path.length > MOST_PATH_CHARACTERS) {
      more += 1
    } else if (path !== '') {
      listed.push([path, value])
      characters += path.length
    }
  }
  visit(body, '')
  return { listed, more }
}

function countLeaves(value: unknown): number {
  if (!isStructure(value)) return 1
  let count = 0
  for (const part of Array.isArray(value) ? value : Object.values(value)) count += countLeaves(part)
  return count || 1
}

/** Reports whether a path is this place or is below it; an index in a declared place stands for every entry. */
export const covers = (place: string, path: string): boolean => coveredBy(path)(place)

/** Returns a function that reports whether a path is a given place or is below it. */
export function coveredBy(path: string): (place: string) => boolean {
  const below = general(path)
  return (place) => {
    const above = general(place)
    return below.startsWith(above) && AFTER_PLACE.has(below[above.length])
  }
}

/** After a place, a path ends or continues with a part of the value there. */
const AFTER_PLACE: ReadonlySet<string | undefined> = new Set([undefined, '.', '['])

const general = (text: string) => (text.includes('[') ? text.replace(/\[\d+\]/g, '[]') : text)
