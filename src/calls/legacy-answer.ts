import type { Answer } from '../answer.ts'
import { gatewayError } from '../errors.ts'
import { parsePlace, valueAt } from '../mapping/paths.ts'
import { ASSUMED_FACT } from '../mapping/row.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { scalarText } from '../text/json.ts'
import { headerText, serviceId } from '../text/service-text.ts'
import { vinKey, type XrefRecord } from '../xref/xref.ts'
import { namesIn } from './find.ts'
import type { Plan } from './plan.ts'
import type { Version1 } from './read-request.ts'
import { idAt, isSameId } from './verify.ts'

/** An answer whose body is text. */
interface TextAnswer extends Answer {
  readonly body: string
}

/** The fields of a version-1 answer. */
export type Told = Readonly<Record<string, string>>

/** Translates the service's reply into the version-1 answer of a call; `tell` may change it. */
export function answerOf(plan: Plan, body: unknown, tell?: (told: Told) => Told): TextAnswer {
  const { settings, own } = plan
  const { compiled } = plan.request
  const { reply, missing } = compiled.reply(body, { settings, own })
  if (missing.length > 0) throw gatewayError('service-unreadable/places', { places: missing.join(' and ') })
  const { xrefRecord } = compiled.action
  const headers = {
    ...(xrefRecord?.kind === 'shipment' && idHeaders(body, xrefRecord.id)),
    ...assumedHeader(plan),
  }
  return { status: 200, headers, body: JSON.stringify(tell ? tell(reply) : reply) }
}

/** Returns what the translation assumed, as a header that names each place and its value. */
function assumedHeader({ request, body, notes }: Plan): Readonly<Record<string, string>> {
  const assumed: string[] = []
  for (const { name, code } of notes) {
    if (code !== 'assumed') continue
    const path = request.compiled.movedTo.get(name) ?? name
    const value = scalarText(valueAt(body, parsePlace(path) ?? []))
    if (value !== undefined) assumed.push(`${path}=${headerText(value)}`)
  }
  return assumed.length === 0 ? {} : { 'Transload-Assumed': assumed.join(', ') }
}

/** The longest list of names in a header. */
const IGNORED_LIMIT_BYTES = 1024

/** Returns the fields that were sent with a value and have no place, as a header, for calls that write. */
export function ignoredHeader({ compiled, fields }: Version1): Readonly<Record<string, string>> {
  if (compiled.written.length === 0) return {}
  const placeless = compiled.fields.names.filter(
    (_, slot) => !compiled.hasPlace[slot] && fields.values[slot] !== undefined,
  )
  const names = [...fields.ignored, ...placeless].map((name) => headerText(name).replaceAll(',', '%2C'))
  let list = ''
  for (const [i, name] of names.entries()) {
    const longer = list === '' ? name : `${list}, ${name}`
    const rest = `+${names.length - i}`
    // A later name may not fit either: the rest has to.
    if (longer.length > IGNORED_LIMIT_BYTES - `, +${names.length}`.length)
      return { 'Transload-Ignored': list === '' ? rest : `${list}, ${rest}` }
    list = longer
  }
  return list === '' ? {} : { 'Transload-Ignored': list }
}

/** Returns the service's ids as headers, which version-1 parsers do not read. */
function idHeaders(body: unknown, idKey: string): Record<string, string> {
  const id = idAt(body, idKey)
  // A number that is no usable name is shown all the same.
  const number = headerText((scalarText(valueAt(body, ['number'])) ?? '').trim())
  return {
    ...(id !== undefined && { 'Transload-Shipment-Id': headerText(id) }),
    ...(number !== '' && { 'Transload-Shipment-Number': number }),
  }
}

/** Spelled as the gateway spells its own headers, because a header in two spellings would be sent twice. */
const PASSED_ON = ['Content-Type', 'Content-Encoding', 'ETag', 'Location', 'Retry-After', 'WWW-Authenticate'] as const

/** Returns the service's own reply unchanged, as the answer to a version-2 body. */
export function unchanged({ status, headers, body }: UpstreamReply): Answer {
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = headers[name.toLowerCase()]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return { status, headers: Object.fromEntries(passedOn), body }
}

/** Returns the record of an answered call for the cross-reference; undefined if it adds nothing. */
export function recordOf({ request, found, body, own, settings, notes }: Plan, reply: unknown): XrefRecord | undefined {
  const { compiled, fields, sent } = request
  const { target, xrefRecord, remember } = compiled.action
  if (!xrefRecord) return undefined
  const { kind } = xrefRecord
  const replied = idAt(reply, xrefRecord.id)
  const id = replied ?? found.id
  if (id === undefined) return undefined
  const names: string[] = []
  const serviceNames: string[] = []
  // What names a shipment becomes no name of it: an update does not change its reference.
  const given = namesIn(request, xrefRecord.names).map(([, name]) => name)
  if (target?.kind !== 'shipment') names.push(...given)
  for (const { place, givenBy } of compiled.replyNames) {
    const name = idAt(reply, place)
    if (name !== undefined) (givenBy === 'caller' ? names : serviceNames).push(name)
  }
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
  const assumed = notes.flatMap(({ code, name }) => (code === 'assumed' ? [name] : [])).join(' ')
  // The shipment of an approved quote has the id of the quote, whose facts stay.
  const facts = remember
    ? { ...known, ...compiled.remember(fields, body, settings).facts, [ASSUMED_FACT]: assumed }
    : id === found.quote?.id
      ? known
      : undefined
  return { kind, id, names, serviceNames, vin: vinKey(vin), own, facts }
}

/** Returns the VIN of a shipment of one vehicle. */
function onlyVin(reply: unknown): string | undefined {
  const vehicles = valueAt(reply, ['vehicles'])
  const vin = Array.isArray(vehicles) && vehicles.length === 1 ? valueAt(vehicles, [0, 'vin']) : undefined
  // A store cannot hold every string: a VIN must be as usable as an id.
  return serviceId(vin)
}
