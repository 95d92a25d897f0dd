import type { IncomingMessage } from 'node:http'
import type { Booking } from '../bookings/bookings.ts'
import { scalarText } from '../json.ts'
import { type Draft, valueAt } from '../mapping/paths.ts'
import { fieldsOf } from '../mapping/row-parts.ts'
import type { Settings } from '../mapping/settings.ts'
import type { Sending } from '../service/service.ts'
import { headerText, serviceId } from '../service-text.ts'
import { type Keepsake, vinKey } from '../xref/xref.ts'
import type { Found } from './find.ts'
import { namesIn } from './names.ts'
import type { Version1 } from './read-request.ts'

/** What tells this booking from others: the fields that go into it, in the order of their rows. */
export function bookingOf(
  { compiled, sent }: Version1,
  { headers }: IncomingMessage,
  { caller, deadline }: Sending,
): Booking {
  const { xrefRecord, request } = compiled.action
  const key = headers['idempotency-key']
  const fields = request
    .filter(({ kind }) => kind !== 'v1Only' && kind !== 'ref')
    .flatMap(fieldsOf)
    .flatMap((name) => {
      const value = sent(name)
      return value === undefined ? [] : [[name, value] as const]
    })
  return {
    caller,
    reference: (xrefRecord?.names[0] && sent(xrefRecord.names[0])) ?? '',
    vin: xrefRecord?.disambiguateBy ? vinKey(sent(xrefRecord.disambiguateBy)) : '',
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
  const { target, xrefRecord, remember } = compiled.action
  if (!xrefRecord) return undefined
  const { kind } = xrefRecord
  const id = idAt(reply, xrefRecord.id) ?? found?.id
  if (id === undefined) return undefined
  const given = namesIn(intake, xrefRecord.names).map(([, name]) => name)
  const names = [...given, ...(xrefRecord.replyNames ?? []).flatMap((place) => idAt(reply, place) ?? [])]
  // What a booking is read as: the number of the quote that it was made from.
  if (kind === 'shipment' && own !== undefined) names.push(own)
  const vin = xrefRecord.disambiguateBy && intake.sent(xrefRecord.disambiguateBy)
  if (kind === 'shipment' && id === found?.id) {
    // An approval of a quote changes nothing of what it is called, and neither does a call that says nothing of it.
    if (target?.kind !== 'shipment' || (vin ?? given[0]) === undefined) return undefined
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
  // A store cannot hold every string: a VIN has to be as usable as an id.
  return serviceId(vin)
}

/** The service's ids, in headers, where old parsers do not look. */
export function idHeaders({ compiled }: Version1, reply: unknown): Record<string, string> {
  const { xrefRecord } = compiled.action
  if (xrefRecord?.kind !== 'shipment') return {}
  const id = headerText(idAt(reply, xrefRecord.id) ?? '')
  const number = headerText(scalarText(valueAt(reply, ['number'])) ?? '')
  return {
    ...(id && { 'Transload-Shipment-Id': id }),
    ...(number && { 'Transload-Shipment-Number': number }),
  }
}

function idAt(reply: unknown, key: string): string | undefined {
  return serviceId(valueAt(reply, [key]))
}
