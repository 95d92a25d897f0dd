import { DATE, type Shape } from '../../mappings/service-shapes.ts'
import type { Action } from '../language/mapping/action.ts'
import { isObject, isStructure, scalarText } from '../language/text/json.ts'
import { suggestion } from '../language/text/nearest.ts'
import { vinKey } from '../state/names/resolve.ts'
import { VIN_PLACE } from './explain-plan.ts'

const MOST_ROWS = 100
/** The longest text of a caller that a verdict repeats. */
export const LONGEST_SHOWN = 256
const LONGEST_NAME = 64

/** A difference; `ours` is the value that the gateway would send. */
interface Difference {
  readonly path: string
  readonly theirs?: unknown
  readonly ours?: unknown
  readonly reason: string
}

const NEEDED = 'the gateway always sends it'
const RECOGNIZED = `${NEEDED}; without it, a booking that is sent twice cannot be recognized`
const SENT = 'the gateway sends it'
const WHOLE = 'PUT replaces the whole shipment: read it, change it, and send all of it, with the ids of its parts'
const OTHER_VALUE = 'the gateway sends a different value'

/** Collects where a request differs from its shape and from what the gateway would send. */
export function createFindings(setByService: ReadonlySet<string>, meaning: (name: string) => string | undefined) {
  let status = 200
  const lists = { differences: [] as Difference[], unknown: [] as Difference[], missing: [] as Difference[] }
  let rows = 0
  /** Makes no text beyond the limit. */
  const add = (list: Difference[], row: () => Difference): void => {
    rows += 1
    if (rows <= MOST_ROWS) list.push(row())
  }
  const note = (path: string, theirs: unknown, ours: unknown, reason: string): void =>
    add(lists.differences, () => ({ path, theirs: shown(theirs), ours: shown(ours), reason }))

  /** Notes a difference for which the service would refuse the request. */
  function refuse(because: number, path: string, theirs: unknown, ours: unknown, reason: string): void {
    status = because
    note(path, theirs, ours, reason)
  }

  function compare(
    theirs: unknown,
    ours: unknown,
    shape: Shape,
    path: string,
    action: Action,
    open: readonly string[],
  ): void {
    if (isSame(theirs, ours)) return
    const fault = faultOf(theirs, shape)
    if (fault !== undefined) note(path, theirs, ours, `${path.split('.').at(-1)} ${fault}`)
    else if (shape.kind === 'object' && isObject(theirs)) {
      const { members, required, oneOf } = shape
      const has = (name: string) => Object.hasOwn(theirs, name) && isGiven(theirs[name])
      if (oneOf.length > 0 && !oneOf.some(has))
        add(lists.missing, () => ({
          path: below(path, oneOf[0] ?? ''),
          reason: `${action.verb === 'update' ? `${WHOLE}; a` : 'a'} place has its ${oneOf.join(' or ')}`,
        }))
      for (const name in theirs) {
        if (!Object.hasOwn(members, name)) {
          add(lists.unknown, () => ({ path: below(path, name), reason: whyUnknown(path, name, members, action) }))
        }
      }
      for (const [name, member] of Object.entries(members)) {
        const sent = Object.hasOwn(theirs, name) ? theirs[name] : undefined
        const planned = isObject(ours) ? ours[name] : undefined
        // A new quote or booking may leave out what the gateway itself leaves out: not every caller sends a reference.
        const isNeeded =
          required.includes(name) && (action.verb === 'update' || !isObject(ours) || planned !== undefined)
        if (isGiven(sent, isNeeded && action.verb !== 'update'))
          compare(sent, planned, member, below(path, name), action, open)
        else if (isNeeded || (planned !== undefined && !open.includes(declared(below(path, name))))) {
          const needed = name === 'external_id' ? RECOGNIZED : NEEDED
          const why = action.verb === 'update' ? WHOLE : isNeeded ? needed : SENT
          add(lists.missing, () => ({ path: below(path, name), ours: shown(planned), reason: why }))
        }
      }
    } else if (shape.kind === 'list' && Array.isArray(theirs)) {
      const planned = Array.isArray(ours) ? ours.slice(0, MOST_ROWS) : []
      // The entries of a list have one shape. An update's first entry exists already and has an id; later ones may be new.
      const later = shape.of.kind === 'object' ? { ...shape.of, required: [] } : shape.of
      if (theirs.length === 0) note(path, theirs, ours, `${path} has at least one entry`)
      if (theirs.length > MOST_ROWS) note(path, theirs, ours, `${path} has more entries than are checked`)
      const entries = theirs.slice(0, MOST_ROWS)
      // A VIN says which vehicle is meant, wherever it stands; without VINs, the position does.
      const isPaired = planned.some((one) => entries.some((entry) => isSameVehicle(one, entry)))
      const byPlace = open.includes(VIN_PLACE) ? [] : planned
      const vins = new Set<string>()
      for (const [at, entry] of entries.entries()) {
        const own = isPaired ? planned.find((one) => isSameVehicle(one, entry)) : byPlace[at]
        const given = action.verb === 'book' && isObject(entry) ? entry['vin'] : undefined
        const vin = typeof given === 'string' ? vinKey(given) : ''
        if (vin && vins.has(vin)) note(`${path}[${at}]`, entry, undefined, 'the list has this vehicle twice')
        vins.add(vin)
        compare(entry, own, at === 0 ? shape.of : later, `${path}[${at}]`, action, open)
      }
    } else if (ours !== undefined && !open.includes(declared(path))) note(path, theirs, ours, OTHER_VALUE)
  }

  function whyUnknown(path: string, name: string, members: object, { target }: Action): string {
    const isId = /^(?:id|quote_id|shipment_id)$/.test(name)
    if (isId && target && path === '') return 'the id stands in the path'
    if (isId || setByService.has(declared(below(path, name)))) return `only the service sets ${shown(name)}`
    const old = meaning(name)
    if (old !== undefined) return `this is a version-1 name: ${old}`
    const near = suggestion(name, Object.keys(members))
    // `vehicle_type` of a vehicle is its `type`, and `phone` of a place its `contact_phone`.
    const part = Object.keys(members).find((one) => name.endsWith(`_${one}`) || one.endsWith(`_${name}`))
    return `version 2 has no such field here${near || (part === undefined ? '' : `; did you mean ${part}?`)}`
  }

  return { note, refuse, compare, all: () => ({ status, lists, more: Math.max(0, rows - MOST_ROWS) }) }
}

export type Findings = ReturnType<typeof createFindings>

/** Returns a path as declarations and dry runs write it. */
const declared = (path: string): string => path.replace(/\[\d+\]/g, '[0]')

/** Reports whether the first vehicle of one body is among those of the other. */
export const haveSameVehicle = (one: unknown, other: unknown): boolean => {
  const [ours, theirs] = [one, other].map((body) => (isObject(body) ? body['vehicles'] : undefined))
  return (
    Array.isArray(ours) &&
    Array.isArray(theirs) &&
    theirs.slice(0, MOST_ROWS).some((entry) => isSameVehicle(ours[0], entry))
  )
}

const isSameVehicle = (one: unknown, other: unknown): boolean =>
  isObject(one) && isObject(other) && isGiven(one['vin'], true) && isSame(one['vin'], other['vin'])

/** Reports whether a member has a value; a needed one must not be blank. */
const isGiven = (value: unknown, isNeeded = false): boolean =>
  value !== undefined && value !== null && !(isNeeded && typeof value === 'string' && value.trim() === '')

const below = (path: string, name: string): string => {
  const short = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name
  return path === '' ? short : `${path}.${short}`
}

/** Returns a stranger's value, shortened for a verdict. */
export function shown(value: unknown): unknown {
  if (isStructure(value)) return Array.isArray(value) ? '(a list)' : '(an object)'
  return typeof value === 'string' && value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value
}

/** Reports whether two values are equal, in any spelling of numbers. */
function isSame(one: unknown, other: unknown): boolean {
  if (isNumber(one) && isNumber(other)) return Number(scalarText(one)) === Number(scalarText(other))
  if (typeof one === 'string' && typeof other === 'string') return one.trim() === other.trim()
  return one === other
}

const isNumber = (value: unknown) => typeof value === 'number' || JSON.isRawJSON(value)

/** Says how a value that does not fit its shape should look, as the end of a sentence that begins with its name. */
function faultOf(value: unknown, shape: Shape): string | undefined {
  switch (shape.kind) {
    case 'any':
      return undefined
    case 'object':
      return isObject(value) ? undefined : 'is an object'
    case 'list':
      return Array.isArray(value) ? undefined : 'is a list'
    case 'flag':
      return typeof value === 'boolean' ? undefined : 'is true or false'
    case 'choice':
      return value === '' || (typeof value === 'string' && shape.values.includes(value))
        ? undefined
        : `is one of ${shape.values.join(', ')}`
    case 'date':
      return typeof value === 'string' && (value === '' || DATE.test(value))
        ? undefined
        : 'has a time and an offset without a colon: 2026-03-01T08:00:00-0500'
    case 'text':
      if (typeof value !== 'string') return 'is a string'
      return !shape.form || shape.form.pattern.test(value.trim()) ? undefined : shape.form.says
    case 'number':
      if (!isNumber(value)) return shape.form?.says ?? 'is a number'
      return !shape.form || shape.form.pattern.test(String(Number(scalarText(value)))) ? undefined : shape.form.says
    default:
      return shape satisfies never
  }
}
