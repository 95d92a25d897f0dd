import type { IncomingMessage } from 'node:http'
import { type Caller, deprecationFor } from '../edge/callers/caller.ts'
import type { Arrival } from '../edge/door.ts'
import type { Answer } from '../language/answer.ts'
import { GatewayError, untranslatable } from '../language/errors.ts'
import { closureNotice } from '../language/legacy-headers.ts'
import type { Catalog, Endpoint } from '../language/mapping/catalog.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import type { FlatBody } from '../language/mapping/fields.ts'
import type { Settings } from '../language/mapping/row.ts'
import { isUuid } from '../language/text/service-text.ts'
import { withPlaceholder } from '../outside/service/service.ts'
import { isStoredAsGone, StoreDown, type StoredShipment } from '../outside/store/store.ts'
import type { Call } from '../runtime/call.ts'
import { numberIn } from '../state/bookings/bookings.ts'
import type { Look, Names } from '../state/names/names.ts'
import type { Reference, ShipmentMeant } from '../state/names/resolve.ts'
import { foreseeApproval } from './approve.ts'
import { foreseeBooking } from './book.ts'
import { type DryRun, explainPlan, explainVersion2, remarksWithoutCaller } from './explain-plan.ts'
import { noteRequest } from './legacy-call.ts'
import { type Plan, type Prospect, planCall, readsOf, refused } from './plan.ts'
import { classify, type Version1, type Version2, version1 } from './read-request.ts'
import {
  ignoredSentence,
  NO_SUBJECT,
  notMeant,
  numberUnknown,
  quoteSubject,
  referenceOf,
  sentenceOnNames,
  shipmentSubject,
} from './subject.ts'
import { foreseeUpdate, withoutEffect } from './update.ts'
import type { CallRooms, Destination, ExplainingRooms } from './verb.ts'
import { planVersion2 } from './version2.ts'

/** Classifies and plans a call as the legacy path does, then explains the plan instead of sending it. */
export async function dryRun(
  arrival: Arrival<FlatBody, Caller | undefined>,
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  rooms: CallRooms,
): Promise<DryRun> {
  const run = await explainArrival(arrival, incoming, endpoint, call, rooms)
  const { caller } = arrival
  // Each tenant may have an end of its own.
  if (!caller && rooms.callers.mode === 'tenants') return run
  const refused = closureNotice(caller?.profile.deprecation ?? deprecationFor(rooms.config), rooms.store.now())
  return refused === undefined ? run : { ...run, remarks: [refused, ...(run.remarks ?? [])] }
}

async function explainArrival(
  { body, caller }: Arrival<FlatBody, Caller | undefined>,
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  rooms: CallRooms,
): Promise<DryRun> {
  const to = { ...rooms, address: caller?.account ?? rooms.address }
  const synonyms = caller?.profile.synonyms ?? {}
  const refusal = (error: GatewayError) => refusalAt(endpoint.path, error, call.outcome.own, rooms, call.caller)
  const { request, unknownName } = classifyAnyName(body, endpoint, rooms.catalog, synonyms, incoming.url)
  if (request.generation === 2) return explainVersion2(planVersion2(request, endpoint), to)
  if (unknownName) return explainProspect(withUnknownName(request, unknownName, rooms.settings), to, refusal)
  noteRequest(call.outcome, request)
  return explainProspect(await look(request, incoming, caller, to), to, refusal)
}

/** A call as its path reads it, planned without its caller and explained. */
export interface ExplainedCall {
  readonly run: DryRun
  /** Undefined for a version-2 body. */
  readonly plan: Plan | undefined
}

/**
 * Explains a call as its path reads it, without its caller, for the workbench and `translate`. Throws the error of a call that its path
 * refuses before it has a plan. `as` replaces the action that the path chooses.
 */
export function explainCall(
  body: FlatBody,
  endpoint: Endpoint,
  rooms: ExplainingRooms,
  as?: CompiledAction,
): ExplainedCall {
  const { request, unknownName } = classifyAnyName(body, endpoint, rooms.catalog, {})
  if (request.generation === 2) return { run: explainVersion2(planVersion2(request, endpoint), rooms), plan: undefined }
  const meant = as ? version1(as, body.entries) : request
  const refusal = (error: GatewayError) => refusalAt(endpoint.path, error, meant.textOf('ShipmentNumber') ?? '', rooms)
  const plan = planFromNames(meant, rooms.settings)
  const prospect = unknownName
    ? withUnknownName(meant, unknownName, rooms.settings)
    : { plan, remarks: remarksWithoutCaller(meant) }
  return { run: explainProspect(prospect, rooms, refusal), plan: prospect.plan }
}

/** Returns a path's answer to an error. */
export const refusalAt = (
  path: string,
  error: GatewayError,
  own: string,
  { answerError }: ExplainingRooms,
  caller?: Call['caller'],
): Answer => answerError(error, { route: `/legacy${path}`, target: '', own, ...(caller && { caller }) })

/** Classifies a request. With an `ActionName` that its path does not know, it is read as the path's first action. */
function classifyAnyName(
  body: FlatBody,
  endpoint: Endpoint,
  catalog: Catalog,
  synonyms: Readonly<Record<string, string>>,
  target?: string,
): { readonly request: Version1 | Version2; readonly unknownName?: GatewayError } {
  try {
    return { request: classify(body, endpoint, catalog, synonyms, target) }
  } catch (error) {
    const [first] = endpoint.actions
    if (!first || !(error instanceof GatewayError) || error.code !== 'action-unknown') throw error
    return { request: version1(first, body.entries), unknownName: error }
  }
}

const withUnknownName = (request: Version1, error: GatewayError, settings: Settings): Prospect =>
  refused({ ...planFromNames(request, settings), problems: [] }, error, 'ActionName')

/** Explains a plan with its outlook. A refused call has its path's answer to the error. */
function explainProspect(
  { plan, error, ...outlook }: Prospect,
  to: Destination,
  refusal: (error: GatewayError) => Answer,
): DryRun {
  const final = error ?? (plan.problems.length > 0 ? untranslatable(plan.problems) : undefined)
  if (!final) return explainPlan(plan, to, outlook)
  const answer = refusal(final)
  const [first, ...others] = plan.problems
  // The problem of an error has the words of its answer: one line, with the caller's own contact.
  const problems = error && first ? [{ ...first, message: messageOf(answer) }, ...others] : plan.problems
  return explainPlan({ ...plan, problems }, to, { ...outlook, answer })
}

export const messageOf = ({ body }: Answer): string => JSON.parse(String(body)).Message

/** Looks ahead for a call, with the numbers of a verified caller. */
async function look(
  request: Version1,
  incoming: IncomingMessage,
  caller: Caller | undefined,
  rooms: CallRooms,
): Promise<Prospect> {
  const reference = referenceOf(request)
  const settings = caller?.profile.settings ?? rooms.settings
  const isOwn = caller !== undefined && rooms.callers.mode !== 'client'
  try {
    if (request.compiled.action.verb === 'book') {
      if (caller) return await foreseeBooking(request, incoming.headers, caller, isOwn, rooms)
    } else if (reference && isOwn) return await lookAtNamed(request, reference, caller, rooms)
  } catch (error) {
    if (!(error instanceof StoreDown)) throw error
    return { plan: planFromNames(request, settings), remarks: [STORE_DOWN] }
  }
  return { plan: planFromNames(request, settings), remarks: remarksWithoutCaller(request) }
}

const STORE_DOWN =
  "The gateway's database is unavailable and was not consulted. The live call is refused until it is back."

/** Looks up what a call names, as far as the store knows it; the rest is up to the service. */
async function lookAtNamed(
  request: Version1,
  reference: Reference,
  { tenant, profile: { settings } }: Caller,
  rooms: CallRooms,
): Promise<Prospect> {
  const { names } = rooms
  const { resolution, read, otherwise } = await meaningInStore(reference, tenant, names)
  const remarks = read.length > 0 ? [asLastShown(read, rooms)] : []
  switch (resolution.is) {
    case 'shipment': {
      const stored = await names.shipment(tenant, resolution.id)
      const subject = shipmentSubject(reference, resolution, stored, undefined)
      const plan = withoutEffect(planCall(request, subject, settings))
      if (stored?.state === 'gone' && reference.use !== 'cancel' && plan.problems.length === 0) {
        const unknown = numberUnknown('shipment', reference.names)
        return { ...refused(plan, unknown, resolution.field), remarks: [asLastShown([stored.id], rooms)] }
      }
      const example = await exampleAbout(resolution, stored, request, tenant, rooms)
      const sentence = sentenceOnNames(reference, resolution)
      const isUpdate = reference.use === 'update'
      const prospect: Prospect =
        stored && isUpdate ? await foreseeUpdate(plan, reference, stored, tenant, rooms) : { plan }
      if (!stored || (isUpdate && isInDoubt(stored))) {
        const what = stored ? 'what has changed' : 'if it is a shipment'
        // A former VIN stays one.
        const planned = prospect.error ? plan : prospect.plan
        return { plan: planned, example, sentence, remarks: [serviceDecides([resolution.id], what, rooms)] }
      }
      const basis = prospect.error && read.length === 0 ? [asLastShown([resolution.id], rooms)] : remarks
      return { ...prospect, example, sentence, remarks: [...basis, ...(prospect.remarks ?? [])] }
    }
    case 'quote': {
      const subject = await quoteSubject(reference, resolution, tenant, names)
      const { quote } = subject
      const plan = planCall(request, subject, settings)
      const { verb, example } = request.compiled.action
      const prospect = verb === 'approve' ? await foreseeApproval(plan, reference, quote, tenant, rooms) : { plan }
      const sentence = ignoredSentence(resolution.ignored)
      const remarks = [...(quote.facts ? [] : [detailsForgotten(quote.id)]), ...(prospect.remarks ?? [])]
      return { ...prospect, example: { ...Object(example.reply), shipment_id: quote.id }, sentence, remarks }
    }
    case 'ask':
    case 'look': {
      const [what, asked] =
        resolution.is === 'ask' ? ['what it names', resolution.values] : ['which one is meant', resolution.ids]
      const doubt = otherwise?.is === 'in-doubt' ? [doubtRemains(otherwise.booking.handle)] : []
      const remarks = [serviceDecides(asked, what, rooms), ...doubt]
      return { plan: planOfNames(request, reference, settings), remarks }
    }
    default:
      return {
        ...refused(planFromNames(request, settings), notMeant(resolution, reference), reference.names[0]?.[0]),
        remarks,
      }
  }
}

/** Reports whether a change without an outcome may have been made since the shipment was last shown. */
const isInDoubt = (stored: StoredShipment | undefined): boolean => stored?.state === 'in-doubt'

const asLastShown = (ids: readonly string[], to: Destination) =>
  `This follows from what the service last showed. The live call first reads ${readsOf(ids, to)}, and decides by the replies.`

const serviceDecides = (names: readonly string[], what: string, to: Destination) =>
  `The service decides from here: the live call reads ${readsOf(names, to)} to find out ${what}.`

const doubtRemains = (key: string) =>
  `If it names nothing, the live call gets 503: the outcome of booking ${key} is not known.`

const detailsForgotten = (id: string) =>
  `The gateway remembers no details of quote ${id}, so only the service knows if it exists.`

/** Returns the example reply about a shipment, with the ids and the caller's reference that are stored. */
async function exampleAbout(
  { id, field, namedBy }: ShipmentMeant,
  stored: StoredShipment | undefined,
  { compiled, sent }: Version1,
  tenant: string,
  { store }: CallRooms,
): Promise<object> {
  const claim = (await store.claimsOfShipment(tenant, id)).at(-1)
  const isReference = field === 'ReferenceNumber' && namedBy === 'caller'
  const example = Object(compiled.action.example.reply)
  const [vehicle] = example.vehicles ?? []
  return {
    ...example,
    id,
    // As many as there were.
    ...(vehicle && stored?.vehicles[1] && { vehicles: stored.vehicles.map(() => vehicle) }),
    ...(stored?.state === 'canceled' && { status: 'canceled' }),
    ...(isReference && { external_id: sent(field) }),
    ...(claim && { external_id: claim.reference, number: numberIn(claim) }),
  }
}

/**
 * Returns what a call means if its shipments are still as the service last showed them, and those that the live call reads first. If the
 * live call asks the service for a name, `otherwise` is what it means where the service shows nothing.
 */
async function meaningInStore(reference: Reference, tenant: string, names: Names) {
  const { resolution } = await names.resolve(reference, tenant)
  if (resolution.is !== 'look' && resolution.is !== 'ask') return { resolution, read: [] }
  const read: string[] = []
  let areKnown = true
  const look: Look = {
    ask: async () => undefined,
    read: async (id) => {
      const stored = await names.shipment(tenant, id)
      const { vehicles = [] } = stored ?? {}
      areKnown &&= vehicles.length > 0 && !isInDoubt(stored)
      read.push(id)
      return { id, body: undefined, vehicles, state: isStoredAsGone(stored) ? 'gone' : 'live' }
    },
  }
  const meant = await names.resolve(reference, tenant, look)
  if (resolution.is === 'ask') return { resolution, read: [], otherwise: meant.resolution }
  return areKnown ? { resolution: meant.resolution, read } : { resolution, read: [] }
}

/** Plans without lookups: the caller's name stands for the id, unless the name is an id itself. */
export function planFromNames(request: Version1, settings: Settings): Plan {
  const own = request.sent('ShipmentNumber')
  const names = referenceOf(request)?.names ?? []
  const [, value] = names.find(([, name]) => isUuid(name)) ?? names[0] ?? []
  if (value !== undefined && !isUuid(value)) return planWithPlaceholder(request, value, settings)
  return withoutEffect(planCall(request, { ...NO_SUBJECT, id: value, own }, settings))
}

/** Plans a call for which the service decides which of the names counts: it may not know the id among them. */
function planOfNames(request: Version1, { names }: Reference, settings: Settings): Plan {
  if (names.length === 1) return planFromNames(request, settings)
  return planWithPlaceholder(request, names.map(([, name]) => name).join(' and '), settings)
}

function planWithPlaceholder(request: Version1, value: string, settings: Settings): Plan {
  const plan = withoutEffect(planCall(request, { ...NO_SUBJECT, own: request.sent('ShipmentNumber') }, settings))
  const kind = request.compiled.action.target?.kind
  return { ...plan, toService: withPlaceholder(plan.toService, `{${kind}_id of ${value}}`) }
}
