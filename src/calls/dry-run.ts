import type { IncomingMessage } from 'node:http'
import { eventStatuses } from '../../mappings/shipment-event.ts'
import { readJsonValue } from '../edge/body/read.ts'
import { type Caller, deprecationFor } from '../edge/callers/caller.ts'
import type { Arrival } from '../edge/door.ts'
import type { Answer } from '../language/answer.ts'
import { GatewayError, gatewayError, untranslatable } from '../language/errors.ts'
import { closureNotice } from '../language/legacy-headers.ts'
import type { VerbName } from '../language/mapping/action.ts'
import { NO_NAMES, type ServiceEvent } from '../language/mapping/callback.ts'
import type { Catalog, Endpoint } from '../language/mapping/catalog.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import {
  type CallbackAccount,
  explainCallback,
  explainReplyTranslation,
  type ReplyAccount,
  type UnusedField,
} from '../language/mapping/explain.ts'
import { type FlatBody, meantField, type Problem } from '../language/mapping/fields.ts'
import { listLeaves, placeOf, valueAt } from '../language/mapping/paths.ts'
import type { Explanation } from '../language/mapping/request.ts'
import type { Settings } from '../language/mapping/row.ts'
import { replyText } from '../language/text/decode.ts'
import { isObject } from '../language/text/json.ts'
import { isUuid } from '../language/text/service-text.ts'
import type { UpstreamReply } from '../outside/service/exchange.ts'
import {
  bookedShipment,
  cancellationOf,
  changeOf,
  idAt,
  idsNamedIn,
  newQuote,
  shipmentWithId,
} from '../outside/service/proofs.ts'
import { type ServiceRequest, withPlaceholder } from '../outside/service/service.ts'
import { isStoredAsGone, StoreDown, type StoredShipment } from '../outside/store/store.ts'
import type { Call } from '../runtime/call.ts'
import { NEW_KEY, numberIn, outcomeUnknown } from '../state/bookings/bookings.ts'
import { partsOfEvent } from '../state/events/receive.ts'
import type { Look, Names } from '../state/names/names.ts'
import type { Reference, ShipmentMeant } from '../state/names/resolve.ts'
import { answerToReply, foreseeApproval } from './approve.ts'
import { foreseeBooking } from './book.ts'
import { noteRequest } from './legacy-call.ts'
import { accountOf, type Outlook, type Plan, type Prospect, planCall, readsOf, refused } from './plan.ts'
import { requireNames, withQuoteId } from './quote.ts'
import { classify, namesIn, type Version1, type Version2, version1 } from './read-request.ts'
import {
  ignoredSentence,
  NO_SUBJECT,
  notMeant,
  quoteSubject,
  referenceOf,
  sentenceOnNames,
  shipmentSubject,
} from './subject.ts'
import { foreseeUpdate, withoutEffect } from './update.ts'
import { changesOf, curlCredential, jqSteps, shellWord } from './update-program.ts'
import type { CallRooms, Destination, ExplainingRooms } from './verb.ts'
import { answerOf, ignoredHeader, withSentence } from './version1-answer.ts'
import { planVersion2, type Version2Plan } from './version2.ts'

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
  const meant = as ? version1(as, body) : request
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
    return { request: version1(first, body), unknownName: error }
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

const messageOf = ({ body }: Answer): string => JSON.parse(String(body)).Message

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

/** Says what a dry run does not look up if nobody has verified its caller. */
function remarksWithoutCaller(request: Version1): readonly string[] {
  if (referenceOf(request)) return [NOT_RESOLVED]
  const { verb, quoteNamedBy = [] } = request.compiled.action
  return verb === 'book' && namesIn(request, quoteNamedBy).length > 0 ? [NOT_CONSULTED] : []
}

const NOT_CONSULTED =
  'The remembered quote and earlier bookings were not consulted, because this dry run has no credential that the service has accepted. The live call takes the values that this booking lacks from the quote.'
const NOT_RESOLVED =
  "The live call looks up the number and its quote's facts. A dry run does so only for a caller that the gateway can verify."

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

/** A request's translation, explained; nothing was sent. */
export interface DryRun {
  readonly action: string
  readonly ok: boolean
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
    /** The read whose result an update's body is merged into. */
    readonly over?: string
    /** Places that an update changes only where they are absent or the same as another place. */
    readonly ifSame?: Readonly<Record<string, string>>
  }
  readonly fields: readonly Explanation[]
  readonly unused: readonly UnusedField[]
  readonly unknown: readonly string[]
  /** The documented fields that unknown names may mean. */
  readonly didYouMean?: Readonly<Record<string, string>>
  /** The facts that a later booking gets, such as the parts of `BillToContact`. */
  readonly remembered?: readonly Explanation[]
  readonly problems: readonly Problem[]
  /** The version-1 answer that this caller gets: to the example reply, or without one if nothing is sent. */
  readonly reply: {
    readonly example: unknown
    readonly v1: Readonly<Record<string, string>>
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
  }
  /** The other steps of the live call, and those that only the service decides. */
  readonly remarks?: readonly string[]
  /** The same request as a shell command, unless that is too long for a shell, or nothing is sent. */
  readonly curl?: string
  /** The number of rows that are not listed. */
  readonly more?: number
}

/** The remark on a place that an update changes only together with another one. */
export const ONLY_IF_SAME = 'changes only where the shipment has the same text in both places, or none here'

/** Explains the plan of a version-1 call. */
export function explainPlan(
  plan: Plan,
  to: Destination,
  outlook: Outlook = { remarks: remarksWithoutCaller(plan.request) },
): DryRun {
  const { request, toService, body, problems } = plan
  const { action, written } = request.compiled
  const isUpdate = action.verb === 'update'
  const { fields: all, unused, unknown, remembered } = accountOf(plan)
  const isWritten = ({ to }: Explanation) => valueAt(body, placeOf(to)) !== undefined
  const fields = all.filter(isWritten)
  const unwritten = all.flatMap((field) => (isWritten(field) ? [] : field.from))
  const meant = unknown.flatMap((name) => {
    const field = meantField(name, request.compiled.fields.names)
    return field === undefined ? [] : [[name, field] as const]
  })
  const toSend = write(toService, to)
  const example = outlook.example ?? action.example.reply
  const { answer, isFinal } = outlook.answer ? { answer: outlook.answer, isFinal: true } : answerToBody(plan, example)
  const complete = withSentence((!outlook.answer && outlook.sentence) || '')
  const mayPass =
    isUpdate && problems.every(({ field }) => written.includes(field) && request.textOf(field) !== undefined)
  const remarks = [
    ...(outlook.remarks ?? []),
    ...(mayPass ? [DIFFERENCES_COUNT] : []),
    ...(isFinal ? [] : readDecides(action.verb)),
  ]
  // An update changes the last place of a split field, and the others only if they have the same text or none.
  const places = new Set(fields.map(({ to }) => to))
  const following = action.request.flatMap((row) => {
    if (row.kind !== 'split' || !isUpdate) return []
    const all = Object.values(row.v2)
    return all.slice(0, -1).flatMap((place) => (places.has(place) ? [[place, all.at(-1) ?? place] as const] : []))
  })
  const ifSame = Object.fromEntries(following)
  return {
    action: action.name,
    ok: problems.length === 0,
    request: {
      ...toSend.request,
      ...(toSend.hasBody && { body }),
      ...(isUpdate && { over: `GET ${toSend.request.url}` }),
      ...(following.length > 0 && { ifSame }),
    },
    fields: fields.map((field) => {
      if (ifSame[field.to]) return { ...field, warning: ONLY_IF_SAME }
      const mayBeFormer = isUpdate && outlook.entry === undefined && field.to === VIN_PLACE
      return mayBeFormer ? { ...field, warning: [field.warning, MAY_BE_FORMER].filter(Boolean).join('; ') } : field
    }),
    unused: [...unused, ...unwritten.map((field) => ({ field, why: FORMER_VIN }))],
    unknown,
    ...(meant.length > 0 && { didYouMean: Object.fromEntries(meant) }),
    ...(remembered.length > 0 && { remembered }),
    problems,
    reply: {
      example,
      v1: complete(JSON.parse(String(answer.body))),
      status: answer.status,
      headers: { ...answer.headers, ...(problems.length === 0 && ignoredHeader(request)) },
    },
    ...(remarks.length > 0 && { remarks }),
    // Where the gateway may send nothing, a command that does might book a second time.
    ...(!outlook.answer &&
      !outlook.mayStand &&
      (isUpdate ? { curl: updateLine(toSend.line, body, ifSame, outlook.entry) } : toSend.shell)),
  }
}

/** Writes an update as a shell command: it reads the shipment, changes it with jq, and sends it back whole, if there is one. */
function updateLine(
  line: ReturnType<typeof write>['line'],
  body: unknown,
  ifSame: Readonly<Record<string, string>>,
  entry: number | undefined,
) {
  const filter = shellWord(jqSteps(changesOf(body, ifSame, entry), entry !== undefined).join(' | '))
  return `shipment=$(${line('GET')} --fail | jq ${filter}) && [ "$shipment" ] && printf %s "$shipment" | ${line('PUT', '--data-binary @-')}`
}

/** Answers the body of a successful reply like the live call, as far as the reply decides. */
export function answerToBody(made: Plan, body: unknown): ReturnType<typeof answerToReply> {
  const { verb, target } = made.request.compiled.action
  const shownId = target && idShownIn(body, target.kind)
  const plan = { ...made, subject: { ...made.subject, id: made.subject.id ?? shownId } }
  if (verb !== 'approve') {
    const shown = verb === 'quote' && isObject(body) ? withQuoteId(body, plan) : body
    return { answer: answerOf(plan, shown), isFinal: verb !== 'cancel' }
  }
  const reply = { status: 200, headers: {}, body: NO_BYTES, json: body }
  return answerToReply(plan, reply, { id: shownId ?? '', names: plan.subject.quote?.names ?? [] })
}

/** Returns the id of the thing that a reply is about. Without a lookup, that is the thing that the reply names. */
function idShownIn(body: unknown, kind: 'quote' | 'shipment'): string {
  const keys = kind === 'quote' ? ['quote_id', 'shipment_id', 'id'] : ['id', 'shipment_id']
  return [...keys.flatMap((key) => idAt(body, key) ?? []), ...idsNamedIn(body), `{${kind}_id}`][0] ?? ''
}

const NO_BYTES = Buffer.alloc(0)

/** The remark on a VIN that an update does not send. */
export const FORMER_VIN = 'selects the vehicle that had this VIN before; the old VIN is not written back'

/** The remark on the VIN of an update whose vehicle only the live call finds out. */
export const MAY_BE_FORMER = 'selects the vehicle; a VIN that the vehicle had before is not written back'

/** The place of the VIN in an update's body. */
export const VIN_PLACE = 'vehicles[0].vin'

const DIFFERENCES_COUNT =
  'The live call reads the shipment first, changes the values that differ, and sends all of it back. Message lists the changes. A value that the shipment already shows is accepted, even if it cannot be translated.'

/** Says what the live call reads after a reply that does not decide its answer. */
const readDecides = (verb: VerbName): readonly string[] => [
  verb === 'cancel'
    ? 'The service decides here: the live call reads the shipment right after this reply. It confirms the cancellation only if the shipment is canceled or no longer found.'
    : "The service decides here: unless APPROVAL_BOOKS=no, the live call reads the quote's shipment right after this reply. TransportationBooked is Yes only if there is one.",
]

const NAMES_DECIDE =
  'The reply has no usable shipment_id, so the response depends on the request: only a call with a ShipmentNumber or an OrderRefNumber gets this one. Any other call gets 502.'

/** Explains the plan of a version-2 body, leaf by leaf; body and reply pass unchanged. */
export function explainVersion2({ compiled: { action }, parse, toService }: Version2Plan, to: Destination): DryRun {
  const body = parse()
  const { listed, more } = listLeaves(body)
  const written = write(toService, to)
  return {
    action: action.name,
    ok: true,
    request: { ...written.request, ...(written.hasBody && { body }) },
    fields: listed.map(([path, value]) => ({
      to: path,
      from: [path],
      before: value,
      after: value,
      rule: 'unchanged',
      origin: 'caller',
    })),
    unused: [],
    unknown: [],
    problems: [],
    reply: { example: action.example.reply, v1: {} },
    ...written.shell,
    more,
  }
}

/** Shows a request as it would go out, with its credential hidden. */
function write(toService: ServiceRequest, { service, address }: Destination) {
  const { method, path, body, headers: others } = service.outgoing(toService, address)
  const isBearer = address.scheme === 'oauth2'
  const headers = { authorization: isBearer ? 'Bearer ***' : 'Basic ***', ...others }
  /** A shell command. Like a printed program, it takes the service's address and credential from the environment. */
  const line = (verb: string, data?: string) =>
    `curl --request ${verb} ${curlCredential(isBearer)} "$SERVICE_URL"${shellWord(path)}${data === undefined ? '' : ` --header 'Content-Type: application/json' ${data}`}`
  const shell =
    (body?.length ?? 0) < MOST_SHELL_CHARACTERS ? { curl: line(method, body && `--data-raw ${shellWord(body)}`) } : {}
  return {
    request: { method, url: address.origin + address.prefix + path, headers },
    hasBody: body !== undefined,
    line,
    shell,
  }
}

/** Returns the path and query of a shown request. The service's address, or a caller's name for an id, may contain `/v2/`, too. */
export const pathShownIn = (url: string): string => url.slice(Math.max(0, url.replace(/\{.*/s, '').lastIndexOf('/v2/')))

/** The longest argument that Linux accepts. */
const MOST_SHELL_CHARACTERS = 128 * 1024

/** The translation of an event, explained; nothing was delivered. */
export interface EventDryRun extends CallbackAccount {
  readonly callback: string
  readonly event: ServiceEvent
  /** The body of a delivery in each format. */
  readonly bodies: { readonly json: Readonly<Record<string, string>>; readonly form: string }
}

/** Explains how a caller is notified of an event: the one that was sent, or the declared example. */
export function dryRunEvent(bytes: Buffer, name: string, { catalog, settings }: ExplainingRooms): EventDryRun {
  const compiled = catalog.callbackOf(name)
  if (!compiled) throw gatewayError('path-unknown/event', {})
  const { example } = compiled.callback
  const event = eventIn(bytes.length === 0 ? example : readJsonValue(replyText(bytes)), name, example)
  const { v1, ...account } = explainCallback(compiled, event, { settings, names: NO_NAMES, statuses: eventStatuses })
  return {
    callback: compiled.callback.name,
    event,
    bodies: { json: v1, form: String(new URLSearchParams(v1)) },
    ...account,
  }
}

/** Reads an event like one that is received; the example fills in the id and the date. */
function eventIn(sent: unknown, event: string, { shipment_id, event_date }: ServiceEvent): ServiceEvent {
  if (!isObject(sent)) throw gatewayError('body-unreadable/event', {})
  const { spelled, date, data, fault } = partsOfEvent({ shipment_id, event_date, ...sent, event })
  if (fault) throw gatewayError('body-unreadable/event', {})
  return { shipment_id: spelled, event, event_date: date, ...(data !== null && { data }) }
}

/** A reply's translation, explained. */
export interface ReplyDryRun extends ReplyAccount {
  readonly action: string
  readonly ok: boolean
  readonly problems: readonly Problem[]
  readonly reply: { readonly v2: unknown; readonly v1: Readonly<Record<string, string>>; readonly status: number }
  readonly remarks?: readonly string[]
}

/** Reads a version-2 reply and explains its version-1 form by the rows that a call uses: the planned call, or one without fields. */
export function dryRunReply(
  bytes: Buffer,
  compiled: CompiledAction,
  rooms: ExplainingRooms,
  planned?: Plan,
): ReplyDryRun {
  const { settings } = rooms
  // Some replies are empty.
  const v2 = bytes.length === 0 ? undefined : readJsonValue(replyText(bytes))
  const { reply, missing, ...account } = explainReplyTranslation(compiled, v2, settings, planned?.own)
  const problems: Problem[] = missing.map((field) => ({
    field,
    code: 'required',
    message: `${field} is missing from the reply`,
  }))
  let v1 = reply
  let status = OK
  let remarks: readonly string[] = []
  const { verb, legacy, target } = compiled.action
  try {
    const id = target && idShownIn(v2, target.kind)
    const told = verb === 'approve' ? v2 : believed[verb]({ status: OK, headers: {}, body: bytes, json: v2 }, id)
    if (missing.length > 0) throw gatewayError('service-unreadable/places', { places: missing.join(' and ') })
    const plan = planned ?? planFromNames(version1(compiled, { entries: [], format: 'json', text: '' }), settings)
    const { answer, isFinal } = answerToBody(plan, told)
    v1 = answer.reply
    if (!isFinal) remarks = readDecides(verb)
    if (verb === 'quote' && !target && idAt(v2, 'shipment_id') === undefined) {
      if (planned) requireNames(planned.request)
      else remarks = [NAMES_DECIDE]
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    let final = error
    if (verb === 'book') {
      // Any reply that does not prove a booking leaves it in doubt.
      final = outcomeUnknown(NEW_KEY, error)
      remarks = [`The reply does not prove a booking. ${error.message.split('. ')[0]}.`]
    }
    const refusal = refusalAt(legacy.paths[0] ?? '', final, planned?.own ?? '', rooms)
    v1 = JSON.parse(String(refusal.body))
    if (missing.length === 0 || error.code !== 'service-unreadable')
      problems.push({ field: '', code: final.code, message: messageOf(refusal) })
    status = refusal.status
  }
  // A successful answer decides which rows are shown, and with which values.
  const fields = account.fields
    .filter(({ to }) => status !== OK || v1[to] !== undefined)
    .map((field) => ({ ...field, after: v1[field.to] ?? field.after }))
  return {
    action: compiled.action.name,
    ok: problems.length === 0,
    reply: { v2: v2 ?? null, v1, status },
    ...account,
    fields,
    problems,
    ...(remarks.length > 0 && { remarks }),
  }
}

const OK = 200

/** Return what a live call takes from a reply; throw if it would not believe the reply. */
const believed: Readonly<Record<Exclude<VerbName, 'approve'>, (reply: UpstreamReply, id?: string) => unknown>> = {
  quote: (reply, id) => (id === undefined ? newQuote(reply) : changeOf(reply, 'quote', id)),
  book: (reply) => bookedShipment(reply).body,
  read: (reply, id = '') => shipmentWithId(reply, id).body,
  update: (reply, id = '') => changeOf(reply, 'shipment', id),
  cancel: (reply, id = '') => cancellationOf(reply, id),
}
