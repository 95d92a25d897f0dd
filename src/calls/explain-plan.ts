import type { VerbName } from '../language/mapping/action.ts'
import type { UnusedField } from '../language/mapping/explain.ts'
import { meantField, type Problem } from '../language/mapping/fields.ts'
import { listLeaves, placeOf, valueAt } from '../language/mapping/paths.ts'
import type { Explanation } from '../language/mapping/request.ts'
import { isObject } from '../language/text/json.ts'
import { idAt, idsNamedIn } from '../outside/service/proofs.ts'
import type { ServiceRequest } from '../outside/service/service.ts'
import { answerToReply } from './approve.ts'
import { accountOf, type Outlook, type Plan } from './plan.ts'
import { withQuoteId } from './quote.ts'
import { namesIn, type Version1 } from './read-request.ts'
import { referenceOf } from './subject.ts'
import { changesOf, curlCredential, jqSteps, shellWord } from './update-program.ts'
import type { Destination } from './verb.ts'
import { answerOf, ignoredHeader, withSentence } from './version1-answer.ts'
import type { Version2Plan } from './version2.ts'

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
    ...(isFinal ? [] : [readDecides(action.verb)]),
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

/** Says what a dry run does not look up if nobody has verified its caller. */
export function remarksWithoutCaller(request: Version1): readonly string[] {
  if (referenceOf(request)) return [NOT_RESOLVED]
  const { verb, quoteNamedBy = [] } = request.compiled.action
  return verb === 'book' && namesIn(request, quoteNamedBy).length > 0 ? [NOT_CONSULTED] : []
}

const NOT_CONSULTED =
  'The remembered quote and earlier bookings were not consulted, because this dry run has no credential that the service has accepted. The live call takes the values that this booking lacks from the quote.'
const NOT_RESOLVED =
  "The live call looks up the number and its quote's facts. A dry run does so only for a caller that the gateway can verify."

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
export function idShownIn(body: unknown, kind: 'quote' | 'shipment'): string {
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
export const readDecides = (verb: VerbName): string =>
  verb === 'cancel'
    ? 'The service decides here: the live call reads the shipment right after this reply. It confirms the cancellation only if the shipment is canceled or no longer found.'
    : "The service decides here: unless APPROVAL_BOOKS=no, the live call reads the quote's shipment right after this reply. TransportationBooked is Yes only if there is one."

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
