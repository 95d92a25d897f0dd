import { z } from 'zod'
import { eventStatuses } from '../../mappings/shipment-event.ts'
import { readJsonValue } from '../edge/body/read.ts'
import type { Caller } from '../edge/callers/caller.ts'
import type { Arrival } from '../edge/door.ts'
import { GatewayError, gatewayError } from '../language/errors.ts'
import { NO_NAMES, type ServiceEvent } from '../language/mapping/callback.ts'
import type { Catalog, Endpoint } from '../language/mapping/catalog.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import {
  type ExplainedCallback,
  type ExplainedReply,
  explainCallback,
  explainReplyTranslation,
  type Unused,
} from '../language/mapping/explain.ts'
import { type FlatBody, meantField, type Problem } from '../language/mapping/fields.ts'
import { listLeaves } from '../language/mapping/paths.ts'
import type { Explanation } from '../language/mapping/request.ts'
import type { Settings } from '../language/mapping/row.ts'
import { replyText } from '../language/text/decode.ts'
import { isUuid } from '../language/text/service-text.ts'
import { type Address, type Outgoing, type Service, withPlaceholder } from '../outside/service/service.ts'
import type { Call } from '../runtime/call.ts'
import type { Look, Names } from '../state/names/names.ts'
import type { Reference, Resolution } from '../state/names/resolve.ts'
import { quoteOfBooking } from './book.ts'
import { noteRequest } from './legacy-call.ts'
import { accountOf, type Plan, planCall, planVersion2, type Version2Plan } from './plan.ts'
import { classify, type Version1, type Version2, version1 } from './read-request.ts'
import { NO_SUBJECT, notMeant, referenceOf, shipmentSubject } from './subject.ts'

/** The rooms of dry runs. */
export interface DryRunRooms extends Destination {
  readonly catalog: Catalog
  readonly names: Names
  /** The settings of callers without their own. */
  readonly settings: Settings
}

/** Classifies and plans a call as the legacy path does, then explains the plan instead of sending it. */
export async function dryRun(
  { body, caller }: Arrival<FlatBody, Caller | undefined>,
  endpoint: Endpoint,
  { outcome }: Call,
  rooms: DryRunRooms,
): Promise<DryRun> {
  const to = { service: rooms.service, address: caller?.account ?? rooms.address }
  let request: Version1 | Version2
  try {
    request = classify(body, endpoint, rooms.catalog, caller?.profile.synonyms ?? {})
  } catch (error) {
    const [first] = endpoint.actions
    if (!first || !(error instanceof GatewayError) || error.code !== 'action-unknown') throw error
    const plan = planFromNames(version1(first, body), rooms.settings)
    return explainPlan({ ...plan, problems: [{ field: 'ActionName', code: error.code, message: error.message }] }, to)
  }
  if (request.generation === 2) return explainVersion2(planVersion2(request, endpoint), to)
  noteRequest(outcome, request)
  const plan = caller
    ? await planFromStore(request, caller.tenant, caller.profile.settings, rooms.names)
    : planFromNames(request, rooms.settings)
  return explainPlan(plan, to)
}

/** Plans with the numbers of a verified tenant, up to what only the service can say. */
async function planFromStore(request: Version1, tenant: string, settings: Settings, names: Names): Promise<Plan> {
  const reference = referenceOf(request)
  if (!reference) return planCall(request, (await quoteOfBooking(request, tenant, names)).subject, settings)
  const resolution = await meaningInStore(reference, tenant, names)
  switch (resolution.is) {
    case 'shipment': {
      const stored = await names.shipment(tenant, resolution.id)
      return planCall(request, shipmentSubject(reference, resolution, stored, undefined), settings)
    }
    case 'quote': {
      const quote = await names.quote(tenant, resolution.id)
      return planCall(request, { ...NO_SUBJECT, id: quote.id, own: quote.own, quote }, settings)
    }
    // The service decides which of the names counts: an id among them is perhaps none that it knows.
    case 'ask':
    case 'look':
      return reference.names.length === 1
        ? planFromNames(request, settings)
        : planWithPlaceholder(request, reference.names.map(([, name]) => name).join(' and '), settings)
    default: {
      const { code, message } = notMeant(resolution, reference)
      const plan = planFromNames(request, settings)
      return { ...plan, problems: [{ field: reference.names[0]?.[0] ?? '', code, message }, ...plan.problems] }
    }
  }
}

/** Returns what a call means if the shipments are what the service has last shown. */
async function meaningInStore(reference: Reference, tenant: string, names: Names): Promise<Resolution> {
  const { resolution } = await names.resolve(reference, tenant)
  if (resolution.is !== 'look') return resolution
  let areKnown = true
  const look: Look = {
    ask: async () => undefined,
    read: async (id) => {
      const { vehicles = [], state = 'live' } = (await names.shipment(tenant, id)) ?? {}
      areKnown &&= vehicles.length > 0
      return { id, body: undefined, vehicles, state }
    },
  }
  const meant = await names.resolve(reference, tenant, look)
  return areKnown ? meant.resolution : resolution
}

/** Plans without look-ups: the caller's name stands for the id, unless the name is an id itself. */
export function planFromNames(request: Version1, settings: Settings): Plan {
  const own = request.sent('ShipmentNumber')
  const names = referenceOf(request)?.names ?? []
  const [, value] = names.find(([, name]) => isUuid(name)) ?? names[0] ?? []
  if (value !== undefined && isUuid(value)) return planCall(request, { ...NO_SUBJECT, id: value, own }, settings)
  if (value === undefined) return planCall(request, { ...NO_SUBJECT, own }, settings)
  return planWithPlaceholder(request, value, settings)
}

function planWithPlaceholder(request: Version1, value: string, settings: Settings): Plan {
  const plan = planCall(request, { ...NO_SUBJECT, own: request.sent('ShipmentNumber') }, settings)
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
    /** The read whose result the body of an update is merged into. */
    readonly over?: string
  }
  readonly fields: readonly Explanation[]
  readonly unused: readonly Unused[]
  readonly unknown: readonly string[]
  /** The documented fields that unknown names may mean. */
  readonly didYouMean?: Readonly<Record<string, string>>
  /** The facts that a later booking gets, such as the parts of `BillToContact`. */
  readonly remembered?: readonly Explanation[]
  readonly problems: readonly Problem[]
  readonly reply: { readonly example: unknown; readonly v1: Readonly<Record<string, string>> }
  /** The same request as a line for a shell, unless that is longer than a shell takes. */
  readonly curl?: string
  /** The number of rows that are not listed. */
  readonly more?: number
}

/** The service that writes the request, and its address. */
export interface Destination {
  readonly service: Service
  /** The service's address for callers without their own. */
  readonly address: Address
}

/** Explains the plan of a version-1 call. */
export function explainPlan(plan: Plan, to: Destination): DryRun {
  const { request, toService, body, problems, settings, own } = plan
  const { action } = request.compiled
  const { fields, unused, unknown, remembered } = accountOf(plan)
  const meant = unknown.flatMap((name) => {
    const field = meantField(name, request.compiled.fields.names)
    return field === undefined ? [] : [[name, field] as const]
  })
  const written = write(to.service.outgoing(toService, to.address), to.address)
  const { example } = action
  // An update changes the last place of a split field, and the others only where they are the same.
  const following = action.request.flatMap((row) =>
    row.kind === 'split' && action.verb === 'update' ? Object.values(row.v2).slice(0, -1) : [],
  )
  const ifSame = { warning: 'changes only where the shipment has the same text in both places, or none here' }
  return {
    action: action.name,
    ok: problems.length === 0,
    request: {
      ...written.request,
      ...(written.hasBody && { body }),
      ...(action.verb === 'update' && { over: `GET ${written.request.url}` }),
    },
    fields: fields.map((field) => (following.includes(field.to) ? { ...field, ...ifSame } : field)),
    unused,
    unknown,
    ...(meant.length > 0 && { didYouMean: Object.fromEntries(meant) }),
    ...(remembered.length > 0 && { remembered }),
    problems,
    reply: { example: example.reply, v1: request.compiled.reply(example.reply, { settings, own }).reply },
    ...written.shell,
  }
}

/** Explains the plan of a version-2 body, leaf by leaf; body and reply pass unchanged. */
function explainVersion2({ compiled: { action }, parse, toService }: Version2Plan, to: Destination): DryRun {
  const body = parse()
  const { listed, more } = listLeaves(body)
  const written = write(to.service.outgoing(toService, to.address), to.address)
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
      keeps: 'exact',
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
function write(outgoing: Outgoing, { origin, prefix, scheme }: Address) {
  const { method, path, body } = outgoing
  const url = origin + prefix + path
  const headers = { authorization: scheme === 'oauth2' ? 'Bearer ***' : 'Basic ***', ...outgoing.headers }
  const shell = (body?.length ?? 0) < MOST_SHELL_CHARACTERS ? { curl: curl(method, url, headers, body) } : {}
  return { request: { method, url, headers }, hasBody: body !== undefined, shell }
}

/** Linux takes no longer word. */
const MOST_SHELL_CHARACTERS = 128 * 1024

function curl(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): string {
  const words = ['curl', '--request', method, quoted(url)]
  for (const [name, value] of Object.entries(headers)) words.push('--header', quoted(`${name}: ${value}`))
  if (body !== undefined) words.push('--data-raw', quoted(body))
  return words.join(' ')
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

/** The translation of an event, explained; nothing was delivered. */
export interface EventDryRun extends Omit<ExplainedCallback, 'v1'> {
  readonly callback: string
  readonly event: ServiceEvent
  /** The body of a delivery in each format. */
  readonly bodies: { readonly json: Readonly<Record<string, string>>; readonly form: string }
}

const eventBody = z.object({
  shipment_id: z.string().optional(),
  event_date: z.string().optional(),
  data: z.unknown().optional(),
})

/** Explains the form in which a caller hears of an event: the one that was sent, or the declared example. */
export function dryRunEvent(bytes: Buffer, name: string, { catalog, settings }: DryRunRooms): EventDryRun {
  const compiled = catalog.callbackOf(name)
  if (!compiled) throw gatewayError('path-unknown/event', {})
  const { example } = compiled.callback
  const event = bytes.length === 0 ? { ...example, event: name } : eventIn(bytes, name, example)
  const { v1, ...account } = explainCallback(compiled, event, { settings, names: NO_NAMES, statuses: eventStatuses })
  return {
    callback: compiled.callback.name,
    event,
    bodies: { json: v1, form: String(new URLSearchParams(v1)) },
    ...account,
  }
}

/** Reads an event; the example fills in the id and the date. */
function eventIn(bytes: Buffer, event: string, example: ServiceEvent): ServiceEvent {
  const sent = eventBody.safeParse(readJsonValue(bytes.toString('utf8')))
  if (!sent.success) throw gatewayError('body-unreadable/event', {})
  const { shipment_id = example.shipment_id, event_date = example.event_date, data } = sent.data
  return { shipment_id, event, event_date, ...(data !== undefined && { data }) }
}

/** A reply's translation, explained. */
export interface ReplyDryRun extends Pick<ExplainedReply, 'fields' | 'unused' | 'unknown' | 'more'> {
  readonly action: string
  readonly ok: boolean
  readonly problems: readonly Problem[]
  readonly reply: { readonly v2: unknown; readonly v1: Readonly<Record<string, string>> }
}

/** Reads a version-2 reply and explains its version-1 form, by the rows that a call uses. */
export function dryRunReply(bytes: Buffer, compiled: CompiledAction, { settings }: DryRunRooms): ReplyDryRun {
  const v2 = readJsonValue(replyText(bytes))
  const { reply, missing, ...account } = explainReplyTranslation(compiled, v2, settings, undefined)
  const problems = missing.map((field) => ({ field, code: 'required', message: `${field} is missing from the reply` }))
  return {
    action: compiled.action.name,
    ok: missing.length === 0,
    reply: { v2, v1: reply },
    ...account,
    problems,
  }
}
