import type { Answer } from '../language/answer.ts'
import { type GatewayError, untranslatable } from '../language/errors.ts'
import { type ExplainedRequest, explainRequestTranslation } from '../language/mapping/explain.ts'
import { meantField, type Problem } from '../language/mapping/fields.ts'
import type { Draft } from '../language/mapping/paths.ts'
import type { Note, RequestContext } from '../language/mapping/request.ts'
import type { Settings } from '../language/mapping/row.ts'
import { notServed, refusal, replyToChange } from '../outside/service/failures.ts'
import { isSuccess, type UpstreamReply } from '../outside/service/reply.ts'
import { type Sending, type ServiceRequest, serviceRequest } from '../outside/service/service.ts'
import type { Reference } from '../state/names/resolve.ts'
import { namesIn, PLAIN_NAME, placelessIn, type Version1 } from './read-request.ts'
import { NO_SUBJECT, referenceOf, type Subject } from './subject.ts'
import type { AskingCall, AskingRooms, Destination } from './verb.ts'

/** The plan of a version-1 call. */
export interface Plan {
  readonly request: Version1
  readonly subject: Subject
  readonly settings: Settings
  /** The translated body; an update merges it into the shipment at the service. */
  readonly body: Draft
  readonly toService: ServiceRequest
  /** Every problem of the call; a call with problems is not sent. */
  readonly problems: readonly Problem[]
  readonly notes: readonly Note[]
  /** The places that the caller's fields fill, each before its value. */
  readonly filled: readonly unknown[]
  /** The caller's own number for what it named. */
  readonly own: string | undefined
}

/** The part of a dry run besides the plan, up to the point where only the service knows how the call continues. */
export interface Outlook {
  /** The answer, if it is not the one to the example. */
  readonly answer?: Answer
  /** The reply that is answered, if it is not the declared example. */
  readonly example?: unknown
  /** The entry of the vehicle that an update changes. @default the first */
  readonly entry?: number
  /** A sentence that the answer's message has, too. */
  readonly sentence?: string
  /** True if a read may show a shipment that the live call does not book again. @default false */
  readonly mayStand?: boolean
  /** Sentences that say what the live call does besides this request, and where only the service decides. */
  readonly remarks?: readonly string[]
}

/** A call's outlook with its plan, and the error that the gateway already has for it. */
export interface Prospect extends Outlook {
  readonly plan: Plan
  readonly error?: GatewayError
}

/** Plans a version-1 call. Pure, so that the dry run and the live call can share it. */
export function planCall(request: Version1, subject: Subject, settings: Settings): Plan {
  const { compiled, fields, sent } = request
  const { target, verb } = compiled.action
  const { body, problems: found, notes, sent: filled } = compiled.request(fields, contextOf(subject, settings))
  const isNamed = target && namesIn(request, target.namedBy).length > 0
  const problems = verb === 'update' && isNamed ? found.filter((problem) => concernsUpdate(problem, request)) : found
  const unnamed = target && missingName(request)
  const empty = verb === 'update' && !unnamed && problems.length === 0 ? emptyUpdate(request) : NO_PROBLEMS
  const all = unnamed || problems.length > 0 || empty.length > 0
  return {
    request,
    subject,
    settings,
    body,
    toService: serviceRequest(compiled.action, body, subject.id),
    problems: all ? withSentNames([...(unnamed ? [unnamed] : []), ...problems, ...empty], request) : NO_PROBLEMS,
    notes,
    filled,
    own: target ? subject.own : (sent('ShipmentNumber') ?? subject.own),
  }
}

/** Plans a call that is to be sent; throws if it has problems. */
export function plannedCall({ request, caller, outcome }: AskingCall, subject: Subject): Plan {
  const plan = planCall(request, subject, caller.profile.settings)
  outcome.notes = plan.notes
  if (plan.problems.length > 0) throw untranslatable(plan.problems)
  return plan
}

/** Foresees that a call is refused: the error becomes a field's problem. */
export const refused = (plan: Plan, error: GatewayError, field = ''): Prospect => ({
  plan: { ...plan, problems: [{ field, code: error.code, message: error.message }, ...plan.problems] },
  error,
})

/** Returns the reads of shipments, as a remark lists them. */
export const readsOf = (names: readonly string[], { service, address }: Destination): string =>
  names.map((name) => `GET ${service.shipmentPath(name, address)}`).join(', ')

/** Returns the names of a call that must name something; throws if it has none that can be used. */
export function requireReference({ request, caller }: AskingCall): Reference {
  const reference = referenceOf(request)
  if (!reference) throw untranslatable(planCall(request, NO_SUBJECT, caller.profile.settings).problems)
  return reference
}

/** Returns the problem of a call that must name something and does not. */
function missingName({ compiled, fields }: Version1): Problem | undefined {
  const { target } = compiled.action
  if (!target) return undefined
  // A name that was sent but cannot be used is another problem already.
  for (const field of target.namedBy) {
    if (fields.values[compiled.fields.slots.get(field) ?? -1] !== undefined) return undefined
  }
  const [first = '', second] = target.namedBy
  const message = `${second === undefined ? first : `${first} or ${second}`} is required to name the ${target.kind}`
  return { field: first, code: 'required', message }
}

const NO_PROBLEMS: readonly Problem[] = []

/** Adds to the problem of a required field the unknown name that the caller sent for it. */
function withSentNames(problems: readonly Problem[], { compiled, fields }: Version1): readonly Problem[] {
  if (!problems.some(({ code }) => code === 'required')) return problems
  // Compared once: matching 200 names with all fields takes milliseconds.
  const meanings = fields.unknown.flatMap((name) => {
    const meant = PLAIN_NAME.test(name) ? meantField(name, compiled.fields.names) : undefined
    return meant === undefined ? [] : [[name, meant] as const]
  })
  return problems.map((problem) => {
    const words = problem.code === 'required' ? problem.message.split(/[\s,]+/) : []
    const [sent] = meanings.find(([, meant]) => words.includes(meant)) ?? []
    return sent === undefined ? problem : { ...problem, message: `${problem.message}; you sent ${sent}` }
  })
}

/** Explains a plan, field by field, by the rows that made it. */
export function accountOf({ request: { compiled, fields }, subject, settings: own }: Plan): ExplainedRequest {
  const { settings, facts } = contextOf(subject, own)
  return explainRequestTranslation(compiled, fields, settings, facts)
}

/** Returns the context of a translation. A booking of an approved quote names the quote, whose id is one of its facts. */
function contextOf({ sendsQuoteId, quote }: Subject, settings: Settings): RequestContext {
  return {
    settings: sendsQuoteId ? { ...settings, send_quote_id: true } : settings,
    facts: quote && { ...quote.facts, quote_id: quote.id },
  }
}

/** Returns the problems of an update whose fields cannot change anything. */
function emptyUpdate(request: Version1): readonly Problem[] {
  const { compiled, fields } = request
  if (changingFields(request).length > 0) return []
  const blank = fields.blank.map((slot) => compiled.fields.names[slot] ?? '')

  const unknown = notUnderstood(request)
  const problems = [
    ...unknown.map((field) => ({ field, code: 'unknown', message: `${field} is not a known field` })),
    ...placelessIn(request).map((field) => ({
      field,
      code: 'unchangeable',
      message: `an update cannot change ${field}`,
    })),
    ...blank.map((field) => ({ field, code: 'blank', message: `${field} is blank` })),
  ]
  const names = namesIn(request, compiled.action.target?.namedBy ?? [])
  const all =
    problems.length > 0
      ? problems
      : names.map(([field]) => ({ field, code: 'nothing', message: `${field} only names the shipment` }))
  const unnamed = new Set(fields.unknown).size - unknown.length
  if (unnamed === 0) return all
  const more = `${unnamed} ${unknown.length > 0 ? 'more ' : ''}${unnamed === 1 ? 'field is' : 'fields are'} not known`
  return all.map((problem, at) =>
    at < all.length - 1 ? problem : { ...problem, message: `${problem.message}; ${more}` },
  )
}

/**
 * Reports whether a problem concerns an update. A bad value in a field that changes nothing, such as a long name that a read has shown,
 * does not, if other fields may change something.
 */
function concernsUpdate({ field }: Problem, request: Version1): boolean {
  const { compiled, textOf } = request
  return compiled.written.includes(field) || textOf(field) === undefined || changingFields(request).length === 0
}

/** Returns the fields that were sent with a value that may change the shipment. */
export const changingFields = ({ compiled, textOf }: Version1): readonly string[] =>
  compiled.written.filter((field) => textOf(field) !== undefined)

/** The most names that a message lists. */
const MOST_NAMES = 5

/** Returns the unknown names of a call, with the fields that they may mean. */
export function notUnderstood({ compiled, fields }: Version1): readonly string[] {
  const plain = [...new Set(fields.unknown)].filter((name) => PLAIN_NAME.test(name))
  return plain.slice(0, MOST_NAMES).map((name) => {
    const meant = meantField(name, compiled.fields.names)
    return meant === undefined ? name : `${name} (did you mean ${meant}?)`
  })
}

/** Sends a request that names no id: a new quote or a booking. Returns a successful reply; throws an error for any other. */
export async function sendNew(
  plan: Plan,
  sending: Sending,
  { service, onNotServed }: AskingRooms,
): Promise<UpstreamReply> {
  const { toService } = plan
  const reply = await service.send(toService, sending)
  if (reply.status === METHOD_WRONG || (reply.status === NOT_FOUND && !toService.namesAnId)) {
    onNotServed(toService, reply.status)
    throw notServed(reply.status)
  }
  if (!isSuccess(reply.status)) throw refusalOf(plan, reply)
  return reply
}

/** Sends a change, which may be sent again. Returns a successful reply; throws an error for any other. */
export async function sendChange(plan: Plan, sending: Sending, { service }: AskingRooms): Promise<UpstreamReply> {
  const reply = await replyToChange(service.send(plan.toService, sending))
  if (!isSuccess(reply.status)) throw refusalOf(plan, reply)
  return reply
}

/** Returns the error of the service's refusal, with the fields as the caller knows them. */
export const refusalOf = ({ request }: Plan, reply: UpstreamReply) => refusal(reply, request.compiled.nameFields)

/** The service accepted a request and may carry it out later. */
export const ACCEPTED = 202

/** In every spelling: there is no such endpoint at `V2_BASE_URL`, or a quote that the request names is unknown. */
const NOT_FOUND = 404
const METHOD_WRONG = 405
