import type { Action } from '../mapping/action.ts'
import { valueAt } from '../mapping/paths.ts'
import { serviceId } from '../text/service-text.ts'
import { vinKey, type XrefRecord } from '../xref/xref.ts'
import { namesIn } from './names.ts'
import type { Plan } from './plan.ts'
import { idAt, isSameId } from './verify.ts'

/** Returns the record of an answered call for the cross-reference; undefined if it adds nothing. */
export function recordOf({ request, found, body, own, settings }: Plan, reply: unknown): XrefRecord | undefined {
  const { compiled, fields, sent } = request
  const { target, xrefRecord, remember } = compiled.action
  if (!xrefRecord) return undefined
  const { kind } = xrefRecord
  const replied = idAt(reply, xrefRecord.id)
  const id = replied ?? found.id
  if (id === undefined) return undefined
  const given = namesIn(request, xrefRecord.names).map(([, name]) => name)
  const [ofCaller, ofService] = replyNames(compiled.action, reply)
  const names = [...given, ...ofCaller]
  const serviceNames = [...ofService]
  // Reading a booking shows the number of the quote that it was made from.
  if (kind === 'shipment' && own !== undefined) names.push(own)
  const vin = xrefRecord.disambiguateBy && sent(xrefRecord.disambiguateBy)
  if (kind === 'shipment' && target?.kind === 'quote') {
    // An approval leaves a shipment where the service's reply speaks of one.
    return replied === undefined
      ? undefined
      : { kind, id: found.id ?? id, names, serviceNames, vin: '', own: undefined, facts: undefined }
  }
  if (kind === 'shipment' && found.id !== undefined && isSameId(id, found.id)) {
    if ((vin ?? given[0]) === undefined) return undefined
    const name = found.namedBy && !found.isNamedByQuote ? sent(found.namedBy) : undefined
    if (name === undefined || found.isNamedByService) serviceNames.push(name ?? id)
    else names.push(name)
    const onRecord = { own: undefined, facts: undefined, isOnRecord: true }
    return { kind, id, names, serviceNames, vin: vinKey(vin ?? onlyVin(reply)), ...onRecord }
  }
  const known = found.quote?.facts
  // The shipment of an approved quote has the id of the quote, whose facts stay.
  const facts = remember
    ? { ...known, ...compiled.remember(fields, body, settings).facts }
    : id === found.quote?.id
      ? known
      : undefined
  return { kind, id, names, serviceNames, vin: vinKey(vin), own, facts }
}

/** Returns the names in a reply: those that a caller sends, such as its reference, and those that the service gave. */
function replyNames({ xrefRecord, request }: Action, reply: unknown): readonly [caller: string[], service: string[]] {
  const names: [string[], string[]] = [[], []]
  for (const key of xrefRecord?.replyNames ?? []) {
    const name = idAt(reply, key)
    const isSent = request.some((row) => row.kind === 'move' && row.v2 === key)
    if (name !== undefined) names[isSent ? 0 : 1].push(name)
  }
  return names
}

/** Returns the VIN of a shipment of one vehicle. */
function onlyVin(reply: unknown): string | undefined {
  const vehicles = valueAt(reply, ['vehicles'])
  const vin = Array.isArray(vehicles) && vehicles.length === 1 ? valueAt(vehicles, [0, 'vin']) : undefined
  // A store cannot hold every string: a VIN must be as usable as an id.
  return serviceId(vin)
}
