import { type GatewayError, gatewayError } from '../errors.ts'
import type { Problem } from '../mapping/fields.ts'
import { vinKey } from '../xref/xref.ts'
import type { Version1 } from './read-request.ts'

/** A field that names something, and its value. */
export type Name = readonly [field: string, value: string]

/** A name of the caller's that a message may repeat. */
export const PLAIN_NAME = /^[\w .-]{1,64}$/

/** The names by which a call refers to a quote or a shipment. */
export interface Naming {
  /** In order of preference; never empty. */
  readonly names: readonly Name[]
  readonly vin: string | undefined
  /** True if the newest of several things with one name is enough, as for a read. */
  readonly newestWillDo: boolean
  /** True if the call may change the VIN of the shipment: a different VIN is then no error. */
  readonly changesVin: boolean
}

/** Returns the names by which a call refers to a quote or a shipment; undefined if it has none. */
export function namingOf(request: Version1): Naming | undefined {
  const { target, service } = request.compiled.action
  const names = target ? namesIn(request, target.namedBy) : []
  if (names.length === 0) return undefined
  return {
    names,
    vin: vinOf(request),
    newestWillDo: service.method === 'GET',
    changesVin: service.mergeInto === 'current',
  }
}

/** The error of a call that names nothing that is known. */
export function numberUnknown(request: Version1): GatewayError {
  const names = namingOf(request)?.names ?? []
  return gatewayError('number-unknown', {
    kind: request.compiled.action.target?.kind ?? 'shipment',
    names: names.map(([field, value]) => `${field} ${value}`).join(' or '),
  })
}

/** Returns the sent fields among these, with their values. */
export function namesIn({ sent }: Version1, fields: readonly string[]): readonly Name[] {
  return fields.flatMap((field) => {
    const value = sent(field)
    return value === undefined ? [] : [[field, value] as const]
  })
}

/** Returns the problem of a call that must name something and does not. */
export function missingName({ compiled, fields }: Version1): Problem | undefined {
  const { target } = compiled.action
  // A name that was sent and cannot be used is already another problem.
  if (!target || target.namedBy.some((field) => fields.values[compiled.fields.slotOf(field) ?? -1] !== undefined)) {
    return undefined
  }
  const message = `${target.namedBy.join(' or ')} is required to name the ${target.kind}`
  return { field: target.namedBy[0] ?? '', code: 'required', message }
}

/** Returns the VIN that chooses, or distinguishes, one of several shipments of one name. */
export function vinOf({ compiled, sent }: Version1): string | undefined {
  const { target, xrefRecord } = compiled.action
  const field = target?.disambiguateBy ?? xrefRecord?.disambiguateBy
  const vin = field === undefined ? undefined : sent(field)
  return vinKey(vin) === '' ? undefined : vin
}
