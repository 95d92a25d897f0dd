import { type Draft, type Place, placeOf, putAt, valueAt } from './paths.ts'
import { compileReply } from './reply.ts'
import type { Explanation } from './request.ts'
import type { Row, Settings } from './row.ts'
import { placesOf } from './row-parts.ts'

/** The flat form in which version-1 callers are told of one of the service's events. */
export interface Callback {
  readonly kind: 'callback'
  readonly name: string
  readonly summary: string
  /** The events that have this form; `any` means all that no other callback names. */
  readonly events: readonly string[] | 'any'
  /** Reply rows. Their places are those of `EventNotice`. A row of `changes` or `status` is left out if the event has none. */
  readonly fields: readonly Row[]
  /** An example event, for documentation, the dry run and the test of an endpoint. */
  readonly example: ServiceEvent
}

/** An event as the service sends it. */
export interface ServiceEvent {
  readonly shipment_id: string
  readonly event: string
  readonly event_date: string
  /** The changed fields, each with `old_value` and `new_value`. */
  readonly data?: unknown
}

/** The places that a callback's rows read. */
interface EventNotice {
  readonly event: string
  readonly event_date: string
  readonly shipment_id: string
  /** The service's number for the shipment, or its id if the number is not known. */
  readonly number: string
  /** The caller's own reference; empty if none is known. */
  readonly reference: string
  /** The status from the event, otherwise from a read of the shipment; undefined if neither has one. */
  readonly status: string | undefined
  /** The status from the event itself. */
  readonly told: string | undefined
  /** The new values of changed fields, at their version-2 places. */
  readonly changes: Draft
}

/** The caller's names for an event's shipment. */
export interface ShipmentNames {
  /** The caller's own number. */
  readonly own: string | undefined
  /** The service's number. */
  readonly number: string | undefined
  /** The caller's reference. */
  readonly reference: string | undefined
  /** The status from a read of the shipment, for an event without one. */
  readonly status?: string | undefined
}

/** The names of a shipment that the store does not know. */
export const NO_NAMES: ShipmentNames = { own: undefined, number: undefined, reference: undefined }

export interface CallbackContext {
  readonly settings: Settings
  readonly names: ShipmentNames
  /** Event → status. */
  readonly statuses: Readonly<Record<string, string>>
  /** Receives explanations; absent in a real delivery. */
  readonly explanations?: Explanation[]
}

/** A callback whose rows are compiled. Pure: no clock, no store, no network. */
export interface CompiledCallback {
  readonly callback: Callback
  readonly translate: (event: ServiceEvent, context: CallbackContext) => Readonly<Record<string, string>>
}

/** Declares a callback. */
export const callback = (declaration: Omit<Callback, 'kind'>): Callback => ({ kind: 'callback', ...declaration })

const CHANGES = 'changes.'

/** Compiles a checked declaration. */
export function compileCallback(declared: Callback): CompiledCallback {
  const translate = compileReply(
    declared.fields,
    (row) => changedPlaces(row).length > 0 || placesOf(row).includes('status'),
  )
  const changeable = declared.fields.flatMap(changedPlaces)
  return {
    callback: declared,
    translate: (event, { settings, names, statuses, explanations }) => {
      const notice = noticeOf(event, changeable, names, statuses)
      return translate(notice, { settings, own: names.own, explanations }).reply
    },
  }
}

/** Returns the version-2 places of a row of changes; none for other rows. */
export function changedPlaces(row: Row): readonly string[] {
  return placesOf(row).flatMap((v2) => (v2.startsWith(CHANGES) ? [v2.slice(CHANGES.length)] : []))
}

/** Turns rows of a shipment into rows of its changes. */
export function changed(rows: readonly Row[]): readonly Row[] {
  return rows.flatMap((row): Row[] => {
    if (row.kind === 'move') return [{ ...row, v2: CHANGES + row.v2, required: false }]
    if (row.kind !== 'split') return []
    return [{ ...row, v2: Object.fromEntries(Object.entries(row.v2).map(([part, v2]) => [part, CHANGES + v2])) }]
  })
}

function noticeOf(
  { event, event_date, shipment_id, data }: ServiceEvent,
  changeable: readonly string[],
  { number, reference = '', status: shown }: ShipmentNames,
  statuses: Readonly<Record<string, string>>,
): EventNotice {
  const changes: Draft = {}
  // Only declared places are read: an event's keys are not paths.
  for (const path of changeable) {
    const value = newValueAt(data, path)
    if (value !== undefined) putAt(changes, placeOf(path), value)
  }
  const told = statusTold({ event, data }, statuses)
  const status = told ?? shown
  return { event, event_date, shipment_id, number: number ?? shipment_id, reference, status, told, changes }
}

/** Returns the status that an event contains or that its name implies. */
export function statusTold(
  { event, data }: { readonly event: string; readonly data?: unknown },
  statuses: Readonly<Record<string, string>>,
): string | undefined {
  const told = newValueAt(data, 'status')
  return typeof told === 'string' ? told : Object.hasOwn(statuses, event) ? statuses[event] : undefined
}

/**
 * Returns the new value at a version-2 place; undefined if it has not changed. The service names a changed field by its dotted path. A
 * changed list or object counts as one field.
 */
function newValueAt(data: unknown, path: string): unknown {
  const place = placeOf(path)
  for (let depth = place.length; depth > 0; depth -= 1) {
    const changed = place.slice(0, depth)
    const change = [...keysOf(changed).map((key) => ownValue(data, key)), nestedValue(data, changed)].find(isChange)
    if (!change) continue
    const rest = place.slice(depth)
    const [before, after] = [change.old_value, change.new_value].map((value) => valueAt(value, rest))
    return before === after ? undefined : (after ?? null)
  }
  return undefined
}

/** Returns the keys that a place may have: `vehicles.[0].vin`, `vehicles[0].vin` and `vehicles.0.vin`. */
function keysOf(place: Place): readonly string[] {
  const dotted = place.map((step) => (typeof step === 'number' ? `[${step}]` : step)).join('.')
  return [dotted, dotted.replaceAll('.[', '['), place.join('.')]
}

function ownValue(holder: unknown, key: string | number): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined
  return Reflect.get(holder, key)
}

const nestedValue = (data: unknown, place: Place) => place.reduce<unknown>(ownValue, data)

function isChange(value: unknown): value is { readonly old_value?: unknown; readonly new_value: unknown } {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'new_value')
}
