import { type GatewayError, gatewayError } from '../errors.ts'
import type { Target } from '../mapping/action.ts'
import type { Problem } from '../mapping/fields.ts'
import { isSuccess } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { type Sending, type Service, shipmentRead } from '../service/service.ts'
import type { Facts } from '../store/store.ts'
import { isPlainId, isUuid } from '../text/service-text.ts'
import { type Match, vinKey, type Xref } from '../xref/xref.ts'
import type { Version1 } from './read-request.ts'
import { idAt, isGone, type Shipment, shipmentIfRead, shipmentNamed } from './verify.ts'

/** The dependencies of a search. */
interface FindDeps {
  readonly xref: Xref
  readonly service: Service
}

/** Finds what a call names: in the cross-reference, else as an id, else by asking the service. */
export async function findTarget(request: Version1, tenant: string, sending: Sending, deps: FindDeps): Promise<Found> {
  const known = await lookUp(request, tenant, deps.xref)
  if (known && 'shipments' in known) return chooseLive(known, request, sending, deps.service)
  if (known?.isVinUnknown) await requireVin(known, request, sending, deps.service)
  return known ?? askForNamed(request, tenant, sending, deps)
}

/** Throws if a cancellation sends a VIN that is not one of the shipment's. */
async function requireVin({ id = '' }: Found, request: Version1, sending: Sending, service: Service): Promise<void> {
  const { vin, newestWillDo, changesVin } = namingOf(request) ?? {}
  if (vin === undefined || newestWillDo || changesVin) return
  const vehicles = shipmentIfRead(await service.send(shipmentRead(id), sending), id)?.body['vehicles']
  const vins = (Array.isArray(vehicles) ? vehicles : []).flatMap((vehicle) => vinKey(idAt(vehicle, 'vin')) || [])
  if (vins.length > 0 && !vins.includes(vinKey(vin)))
    throw gatewayError('several-matches/vin', { vins: vins.join(', ') })
}

/** The most shipments of one name that are read; beyond it, the caller has to send the VIN. */
const MAX_READS = 10

/**
 * Chooses among several shipments of one name those that are not canceled. Throws if they are still several; their VINs
 * are listed only to a credential that the service accepts for them.
 */
async function chooseLive(
  several: SeveralMatches,
  request: Version1,
  sending: Sending,
  service: Service,
): Promise<Found> {
  const { shipments, name } = several
  const ids = new Set(shipments.map(({ id }) => id))
  const gone = new Set<string>()
  for (const id of ids.size > MAX_READS ? [...ids].slice(0, 1) : ids) {
    const reply = await service.send(shipmentRead(id), sending)
    if (reply.status === 401 || reply.status === 403) throw refusal(reply)
    if (isGone(reply, id)) gone.add(id)
  }
  const naming = namingOf(request)
  const live = shipments.filter(({ id }) => !gone.has(id))
  const chosen = naming && gone.size > 0 ? (chooseShipment(live, naming, name) ?? shipments[0]) : several
  if (!chosen || 'shipments' in chosen) throw severalMatches(chosen ?? several)
  const found = foundMatch(chosen, name)
  return several.isNamedByQuote ? { ...found, isNamedByQuote: true } : found
}

const severalMatches = ({ message, vins }: SeveralMatches) => gatewayError(message, { vins })

/** Asks the service for a shipment by the names of the call, and records the name that it knows. */
async function askForNamed(
  request: Version1,
  tenant: string,
  sending: Sending,
  { xref, service }: FindDeps,
): Promise<Found> {
  const kind = request.compiled.action.target?.kind
  const names = namingOf(request)?.names ?? []
  if (kind === 'shipment') {
    for (const [field, value] of names) {
      const shipment = isPlainId(value) ? await askFor(value, sending, service) : undefined
      if (!shipment) continue
      const { id } = shipment
      // The service knows the shipment by this name, and the cross-reference does not have it yet.
      const record = { kind, id, names: [], serviceNames: [value], vin: '', own: undefined, facts: undefined }
      await xref.write(tenant, record)
      return { ...(await foundId(id, field, tenant, xref)), isNamedByService: true, isShipment: true, shipment }
    }
  }
  throw numberUnknown(request)
}

/** Statuses that the service may return for something that is not an id. */
const NO_SUCH_ID = new Set([400, 404, 405, 410, 422])

async function askFor(name: string, sending: Sending, service: Service): Promise<Shipment | undefined> {
  const reply = await service.send(shipmentRead(name), sending)
  if (isSuccess(reply.status)) return shipmentNamed(reply, name)
  if (NO_SUCH_ID.has(reply.status)) return undefined
  throw refusal(reply)
}

/** The quote or shipment that a call is about, as far as it is known. */
export interface Found {
  /** The service's id; undefined where the call names nothing. */
  readonly id: string | undefined
  /** The field whose value named it. */
  readonly namedBy: string | undefined
  /** True if the value that named it is the service's own number or id. */
  readonly isNamedByService?: boolean
  /** The caller's own number for it. */
  readonly own: string | undefined
  /** The id and the facts of the remembered quote. */
  readonly quote: { readonly id: string; readonly facts: Facts | undefined } | undefined
  /** True if the cross-reference or the service knew it as a shipment, which proves that it existed. */
  readonly isShipment: boolean
  /** True if the name that was looked up has no VIN, such as a name of a quote. */
  readonly isVinUnknown?: boolean
  /** True if the name is that of the quote that the shipment was booked from: it does not become one of the shipment. */
  readonly isNamedByQuote?: boolean
  /** The shipment, if the service was asked for it by the caller's name. */
  readonly shipment?: Shipment
  /** The approved quote behind the name in a booking. */
  readonly approved?: ApprovedQuote | undefined
}

/** A quote whose approval was sent; the service may have made it a shipment of the same id. */
export interface ApprovedQuote {
  readonly id: string
  /** False where the outcome of the approval is not known, or where the name has a newer quote. */
  readonly sendsQuoteId: boolean
}

/** The result for a call that names nothing, such as a request for a new quote. */
export const NOTHING_FOUND: Found = {
  id: undefined,
  namedBy: undefined,
  own: undefined,
  quote: undefined,
  isShipment: false,
}

/** The result for a name of several shipments, or of one with another VIN than the caller sent. */
interface SeveralMatches {
  /** The message that lists them for the caller. */
  readonly message: 'several-matches' | 'several-matches/vin'
  readonly vins: string
  readonly name: Name
  /** Newest first; never empty. */
  readonly shipments: readonly Match[]
  /** As in `Found`. */
  readonly isNamedByQuote?: boolean
}

/** Looks up what a call names, or the quote that a booking refers to; undefined if the gateway does not know it. */
export function lookUp(
  request: Version1,
  tenant: string,
  xref: Xref,
): Found | Promise<Found | SeveralMatches | undefined> {
  const { target, quoteNamedBy } = request.compiled.action
  if (!target) return recallQuote(namesIn(request, quoteNamedBy ?? []), tenant, xref)
  const naming = namingOf(request)
  return naming ? lookUpNamed(target, naming, tenant, xref) : NOTHING_FOUND
}

async function lookUpNamed(
  { kind }: Target,
  naming: Naming,
  tenant: string,
  xref: Xref,
): Promise<Found | SeveralMatches | undefined> {
  let numbered: Found | SeveralMatches | undefined
  let quoted: { readonly match: Match; readonly name: Name } | undefined
  for (const name of naming.names) {
    const matches = await xref.matches(tenant, name[1])
    const quote = matches.find((match) => match.kind === 'quote')
    const chosen = kind === 'quote' ? quote : chooseShipment(matches, naming, name)
    const found = chosen && ('shipments' in chosen ? chosen : foundMatch(chosen, name))
    if (found && isCallersOwn(chosen)) return found
    // A caller's own quote never means a shipment that the service happened to give that number.
    if (quote) quoted ??= { match: quote, name }
    else numbered ??= found
  }
  if (numbered) return numbered
  for (const [field, value] of naming.names) {
    if (!isUuid(value)) continue
    const { id, isShipment } = await xref.known(tenant, value)
    return { ...(await foundId(id, field, tenant, xref)), isNamedByService: true, isShipment }
  }
  // An approved quote is a shipment, but a booking of it takes precedence.
  if (!quoted) return undefined
  const booked = await bookedUnderOtherName(quoted.match, quoted.name, naming, tenant, xref)
  return booked ?? foundMatch(quoted.match, quoted.name)
}

/** Returns the booking that was made of a quote under another name of it, as long as that name means the quote. */
async function bookedUnderOtherName(
  quote: Match,
  name: Name,
  naming: Naming,
  tenant: string,
  xref: Xref,
): Promise<Found | SeveralMatches | undefined> {
  for (const other of new Set([quote.remembered.own, quote.id])) {
    const matches = other === undefined ? [] : await xref.matches(tenant, other)
    const meant = matches.find(({ kind }) => kind === 'quote')?.id ?? other
    // An older booking under the name is of an older quote.
    const ofQuote = matches.filter(({ givenBy, at }) => givenBy === 'caller' && at >= quote.at)
    const chosen = meant === quote.id ? chooseShipment(ofQuote, naming, name) : undefined
    if (!chosen) continue
    const found = 'shipments' in chosen ? chosen : foundMatch(chosen, name)
    return { ...found, isNamedByQuote: true }
  }
  return undefined
}

/** Tells if the name of a match, or of several, is the caller's own. */
function isCallersOwn(chosen: Match | SeveralMatches): boolean {
  const [match] = 'shipments' in chosen ? chosen.shipments : [chosen]
  return match?.givenBy === 'caller'
}

async function recallQuote(names: readonly Name[], tenant: string, xref: Xref): Promise<Found> {
  for (const [, value] of names) {
    const matches = await xref.matches(tenant, value)
    const match = matches.find(({ kind }) => kind === 'quote')
    // A caller that gave its quote no number received the quote's id as its number.
    const id = match?.id ?? (await xref.known(tenant, value)).id
    const { own, facts } = match?.remembered ?? (await xref.remembered(tenant, id))
    const approval = match || facts || isUuid(value) ? await xref.approval(tenant, id) : undefined
    const approved = approval
      ? { id, sendsQuoteId: approval === 'approved' }
      : // The caller's own number for the quote may have been that of an older one, too.
        ((await olderApproval(matches, tenant, xref)) ??
        (own === undefined || own === value
          ? undefined
          : await olderApproval(await xref.matches(tenant, own), tenant, xref)))
    if (match || facts || approval) return { ...NOTHING_FOUND, own, quote: { id, facts }, approved }
    if (approved) return { ...NOTHING_FOUND, approved }
  }
  return NOTHING_FOUND
}

/** Returns the approved quote that had a name before the current quote got it. */
async function olderApproval(
  matches: readonly Match[],
  tenant: string,
  xref: Xref,
): Promise<ApprovedQuote | undefined> {
  for (const { id, kind, vin, givenBy } of matches) {
    if (kind === 'shipment' && givenBy === 'caller' && vin === '' && (await xref.approval(tenant, id)))
      return { id, sendsQuoteId: false }
  }
  return undefined
}

/** Returns a match with what the cross-reference remembers of it. */
function foundMatch({ id, kind, vin, givenBy, remembered }: Match, [namedBy, value]: Name): Found {
  const { facts, own = namedBy === 'ShipmentNumber' ? value : undefined } = remembered
  const isNamedByService = givenBy === 'service'
  const isShipment = kind === 'shipment'
  return { id, namedBy, own, quote: { id, facts }, isNamedByService, isShipment, isVinUnknown: vin === '' }
}

/** Returns an id with what the cross-reference remembers of it. */
async function foundId(id: string, namedBy: string, tenant: string, xref: Xref): Promise<Found> {
  const { own, facts } = await xref.remembered(tenant, id)
  return { id, namedBy, own, quote: { id, facts }, isShipment: false }
}

/** Chooses the shipment of a name by the VIN. */
function chooseShipment(
  matches: readonly Match[],
  { vin, newestWillDo, changesVin }: Naming,
  name: Name,
): Match | SeveralMatches | undefined {
  const shipments = matches.filter(({ kind }) => kind === 'shipment')
  const [newest] = shipments
  if (!newest) return undefined
  const chosen = vin === undefined ? undefined : shipments.find((match) => match.vin === vinKey(vin))
  if (chosen) return chosen
  const areSeveral = new Set(shipments.map(({ id }) => id)).size > 1
  const hasOtherVin = vin !== undefined && shipments.some((match) => match.vin !== '')
  if (areSeveral ? newestWillDo && vin === undefined : newestWillDo || changesVin || !hasOtherVin) return newest
  return {
    message: areSeveral ? 'several-matches' : 'several-matches/vin',
    vins: vinsOf(shipments).join(', '),
    name,
    shipments,
  }
}

/** Lists the VINs of shipments; a shipment that is known with a VIN and without one is listed with it. */
function vinsOf(shipments: readonly Match[]): readonly string[] {
  const withVin = new Set(shipments.filter(({ vin }) => vin !== '').map(({ id }) => id))
  return shipments.filter(({ id, vin }) => vin !== '' || !withVin.has(id)).map(({ vin }) => vin || '(none)')
}

/** A field that names something, and its value. */
export type Name = readonly [field: string, value: string]

/** A name of the caller's that a message may repeat. */
export const PLAIN_NAME = /^[\w .-]{1,64}$/

/** The names by which a call refers to a quote or a shipment. */
interface Naming {
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
export function namesIn({ compiled, fields: { values } }: Version1, fields: readonly string[]): readonly Name[] {
  const names: Name[] = []
  for (const field of fields) {
    const value = values[compiled.fields.slots.get(field) ?? -1]
    if (typeof value === 'string') names.push([field, value])
  }
  return names
}

/** Returns the problem of a call that must name something and does not. */
export function missingName({ compiled, fields }: Version1): Problem | undefined {
  const { target } = compiled.action
  // A name that was sent and cannot be used is already another problem.
  if (!target) return undefined
  for (const field of target.namedBy) {
    if (fields.values[compiled.fields.slots.get(field) ?? -1] !== undefined) return undefined
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
