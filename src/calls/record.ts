import type { IncomingMessage } from 'node:http'
import type { Booking } from '../bookings/bookings.ts'
import { claims } from '../mapping/check.ts'
import { type Draft, valueAt } from '../mapping/paths.ts'
import type { Settings } from '../mapping/settings.ts'
import { type Keepsake, vinKey } from '../xref/xref.ts'
import type { Found } from './find.ts'
import { namesIn } from './names.ts'
import type { Version1 } from './read-request.ts'
import type { Sending } from './send.ts'

/** What tells this booking from others: the fields that go into it, in the order of their rows. */
export function bookingOf(
  { compiled, sent }: Version1,
  { headers }: IncomingMessage,
  { caller, deadline }: Sending,
): Booking {
  const { keeps, request } = compiled.action
  const key = headers['idempotency-key']
  const fields = request
    .filter(({ kind }) => kind !== 'v1Only' && kind !== 'ref')
    .flatMap(claims)
    .flatMap((name) => {
      const value = sent(name)
      return value === undefined ? [] : [[name, value] as const]
    })
  return {
    caller,
    reference: (keeps?.names[0] && sent(keeps.names[0])) ?? '',
    vin: keeps?.disambiguateBy ? vinKey(sent(keeps.disambiguateBy)) : '',
    idempotencyKey: typeof key === 'string' && key !== '' ? key : undefined,
    fields,
    deadline,
  }
}

/** What the cross-reference keeps of an answered call; undefined where there is nothing new. */
export function keepsakeOf(
  intake: Version1,
  body: Draft,
  reply: unknown,
  found: Found | undefined,
  own: string | undefined,
  settings: Settings,
): Keepsake | undefined {
  const { compiled, fields } = intake
  const { finds, keeps, remember } = compiled.action
  if (!keeps) return undefined
  const { kind } = keeps
  const id = idAt(reply, keeps.id) ?? found?.id
  if (id === undefined) return undefined
  const given = namesIn(intake, keeps.names).map(([, name]) => name)
  const names = [...given, ...(keeps.replyNames ?? []).flatMap((place) => idAt(reply, place) ?? [])]
  // What a booking is read as: the number of the quote that it was made from.
  if (kind === 'shipment' && own !== undefined) names.push(own)
  const vin = keeps.disambiguateBy && intake.sent(keeps.disambiguateBy)
  if (kind === 'shipment' && id === found?.id) {
    // An approval of a quote changes nothing of what it is called, and neither does a call that says nothing of it.
    if (finds?.kind !== 'shipment' || (vin ?? given[0]) === undefined) return undefined
    names.push(intake.sent(found.by) ?? id)
    return { kind, id, names, vin: vinKey(vin ?? onlyVin(reply)), own: undefined, facts: undefined, isKnown: true }
  }
  const facts = remember && { ...found?.facts, ...compiled.remember(fields, body, settings).facts }
  return { kind, id, names, vin: vinKey(vin), own, facts }
}

/** The VIN of a shipment of one vehicle. */
function onlyVin(reply: unknown): string | undefined {
  const vehicles = valueAt(reply, ['vehicles'])
  const vin = Array.isArray(vehicles) && vehicles.length === 1 ? valueAt(vehicles, [0, 'vin']) : undefined
  return typeof vin === 'string' ? vin : undefined
}

/** The service's ids, in headers, where old parsers do not look. */
export function idHeaders({ compiled }: Version1, reply: unknown): Record<string, string> {
  const { keeps } = compiled.action
  if (keeps?.kind !== 'shipment') return {}
  const id = idAt(reply, keeps.id)
  const number = idAt(reply, 'number')
  return {
    ...(id !== undefined && { 'Transload-Shipment-Id': headerSafe(id) }),
    ...(number !== undefined && { 'Transload-Shipment-Number': headerSafe(number) }),
  }
}

function idAt(reply: unknown, key: string): string | undefined {
  const value = valueAt(reply, [key])
  return (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined
}

/** What the service calls a thing is not ours to trust in a header. */
function headerSafe(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, encodeURIComponent)
}
