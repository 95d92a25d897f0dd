import { quote } from '../../calls/quote.ts'
import { read } from '../../calls/read.ts'
import type { Version1 } from '../../calls/read-request.ts'
import { referenceOf, shipmentNamedBy } from '../../calls/subject.ts'
import type { AskingRooms } from '../../calls/verb.ts'
import { toGatewayError } from '../../edge/answers.ts'
import type { ErrorCode } from '../../language/errors.ts'
import type { Action } from '../../language/mapping/action.ts'
import { actionKey } from '../../language/mapping/catalog.ts'
import { type Codec, Failed, LeftOut } from '../../language/mapping/codec.ts'
import type { Row, Settings } from '../../language/mapping/row.ts'
import { fieldsOf } from '../../language/mapping/row-parts.ts'
import { replyText } from '../../language/text/decode.ts'
import { isObject, parseJson, scalarText } from '../../language/text/json.ts'
import { NoReply } from '../../outside/service/exchange.ts'
import { isSuccess } from '../../outside/service/reply.ts'
import type { Sending, ServiceRequest } from '../../outside/service/service.ts'

/** The answer to a version-1 call, sent natively or translated: its nonblank fields, or a refusal of the call's content. */
export type ComparedAnswer = ReadonlyMap<string, string> | 'refused'

/** There is no verdict on a call; the message contains the reason. */
export class NotCompared extends Error {
  override readonly name = 'NotCompared'
}

/** The verdict on a field. Noise already differs between the two native answers. */
type Verdict = 'equal' | 'differs' | 'noise'

/** One compared field. It contains no values, only the shapes of those that differ; empty for an absent value. */
export interface ComparedField {
  readonly field: string
  readonly verdict: Verdict
  readonly native: string
  readonly translated: string
}

/** The field that stands for the call itself, which was answered or refused. */
const WHOLE_ANSWER = '(answer)'

/** The setup of a comparison. */
interface Comparison {
  readonly rooms: AskingRooms
  readonly settings: Settings
  readonly tenant: string
  readonly sending: () => Sending
  /** Fields of replies that are not compared. */
  readonly ignored: ReadonlySet<string>
}

/** Reports whether a call changes nothing: a read, or a request for a new quote. */
export const onlyAsks = ({ verb, target }: Action): boolean =>
  verb === 'read' || (verb === 'quote' && target === undefined)

/**
 * Compares the answers to a call that changes nothing. The translated call is sent between two native ones: if a price changes meanwhile,
 * the native answers differ from each other, which is noise.
 */
export async function compareCall(request: Version1, deps: Comparison): Promise<readonly ComparedField[]> {
  const { action } = request.compiled
  // If the gateway does not know the caller's own name, the service is asked by it: its version-1 handling may know it.
  const id = await idNamed(request, deps).catch(() => undefined)
  const first = await askNatively(request, id, deps)
  const translated = await askTranslated(request, deps)
  const again = await askNatively(request, id, deps)
  // If the service is asked by its own id, it cannot return the caller's number.
  const numbers = action.reply.flatMap((row) => (id !== undefined && row.kind === 'callerNumber' ? [row.v1] : []))
  return compareAnswers([first, again], translated, comparisonsOf(action.reply), new Set([...numbers, ...deps.ignored]))
}

const callOf = (request: Version1, { tenant, settings, sending }: Comparison) => ({
  request,
  caller: { tenant, profile: { settings } },
  sending: sending(),
  outcome: { notes: [] },
})

async function idNamed(request: Version1, deps: Comparison): Promise<string | undefined> {
  const reference = referenceOf(request)
  return reference && (await shipmentNamedBy(reference, callOf(request, deps), deps.rooms)).id
}

/** Refusals that do not concern the call's content. */
const NO_VERDICT = new Set([401, 403, 405, 408, 425, 429])

/** Sends a version-1 request to the service's own version-1 handling. */
async function askNatively(
  request: Version1,
  id: string | undefined,
  { rooms, sending }: Comparison,
): Promise<ComparedAnswer> {
  const { action } = request.compiled
  const toService = nativeRequest(request, id)
  const reply = await rooms.service.send(toService, sending()).catch((error) => {
    throw new NotCompared(reasonOf(error))
  })
  const { status } = reply
  if (isSuccess(status)) {
    const fields = answered(replyText(reply.body))
    if (fields && action.reply.some((row) => 'v1' in row && fields.has(String(row.v1)))) return fields
    throw new NotCompared('the service did not answer in version 1')
  }
  const isUnserved = status === 404 && !toService.namesAnId && !action.target
  if (status >= 400 && status < 500 && !NO_VERDICT.has(status) && !isUnserved) return 'refused'
  throw new NotCompared(`the service answered ${status}`)
}

const NUMBER = 'ShipmentNumber'

/**
 * Builds the request for the service's own version-1 handling, with the documented fields as the caller sent them. The service's id
 * replaces the names of a shipment, because only the gateway has the cross-reference.
 */
function nativeRequest({ compiled, fields }: Version1, id: string | undefined): ServiceRequest {
  const { action } = compiled
  const { actionNames, paths } = action.legacy
  const namesAnId = id !== undefined
  const body: Record<string, string> = {}
  for (const [slot, name] of compiled.fields.names.entries()) {
    const value = fields.values[slot]
    if (typeof value !== 'string' || (namesAnId && action.target?.namedBy.includes(name))) continue
    // The service does not know the operator's synonyms.
    const isSynonym = name === 'ActionName' && actionNames !== 'any' && !actionNames.some(means(value))
    body[name] = (isSynonym ? actionNames[0] : undefined) ?? value
  }
  if (namesAnId) body[NUMBER] = id
  const path = paths[0] ?? ''
  return action.legacy.method === 'GET'
    ? { method: 'GET', path: `${path}?${new URLSearchParams(body)}`, namesAnId }
    : { method: 'POST', path, namesAnId, body }
}

const means = (sent: string) => (name: string) => actionKey(name) === actionKey(sent)

/** Handles the call as the gateway does. */
async function askTranslated(request: Version1, deps: Comparison): Promise<ComparedAnswer> {
  const ask = request.compiled.action.verb === 'read' ? read : quote
  try {
    const fields = answered((await ask(callOf(request, deps), deps.rooms)).body)
    if (fields) return fields
  } catch (error) {
    return refusedFor(error)
  }
  throw new NotCompared('the answer is not JSON')
}

/** Errors in the translation itself or in the call's content. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'untranslatable',
  'number-unknown',
  'several-matches',
  'numbers-disagree',
  'reply-doubtful',
  'service-unreadable',
])

/** Returns a refusal if a translated call failed because of its content. */
function refusedFor(error: unknown): ComparedAnswer {
  const { code, serviceStatus = 0 } = toGatewayError(error)
  const isRefusal = code === 'service-refused' && serviceStatus < 500 && !NO_VERDICT.has(serviceStatus)
  if (isRefusal || REFUSALS.has(code)) return 'refused'
  throw new NotCompared(reasonOf(error))
}

const reasonOf = (error: unknown): string =>
  error instanceof NoReply ? `no reply from the service: ${error.silence}` : toGatewayError(error).code

/** Reads a version-1 answer; undefined for text that is not a JSON object. `null` and blanks count as absent. */
export function answered(text: string): ReadonlyMap<string, string> | undefined {
  let body: unknown
  try {
    body = parseJson(text)
  } catch {
    return undefined
  }
  if (!isObject(body)) return undefined
  const texts = Object.entries(body).map(
    ([name, value]) => [name, value === null ? '' : (scalarText(value) ?? JSON.stringify(value)).trim()] as const,
  )
  return new Map(texts.filter(([, value]) => value !== ''))
}

/** Reports whether two values of a field are equal. */
type Same = (one: string, other: string) => boolean

/** Returns the comparisons of the fields of a reply, which use the codecs of the rows that make them. */
export function comparisonsOf(reply: readonly Row[]): ReadonlyMap<string, Same> {
  return new Map(reply.flatMap((row) => fieldsOf(row).map((field) => [field, comparisonOf(row)] as const)))
}

function comparisonOf(row: Row): Same {
  if (row.kind === 'move') return sameMeaning(row.codec)
  // Each side writes its own text for people. Only its presence is compared.
  return (one, other) => row.kind === 'message' || one === other
}

/** Compares values by meaning: `1234.5` and `1234.50` are one amount. A value that the codec cannot represent is text. */
const sameMeaning =
  (codec: Codec): Same =>
  (one, other) => {
    const meant = canonical(codec, one)
    return one === other || (meant !== undefined && meant === canonical(codec, other))
  }

/** Returns the value as the codec writes it; undefined if that would lose something. */
function canonical(codec: Codec, text: string): string | undefined {
  if (codec.remark?.(text)?.loss !== undefined) return undefined
  const value = codec.decode(text)
  if (value === undefined || value instanceof Failed || value instanceof LeftOut) return undefined
  const written = codec.encode(value)
  return typeof written === 'string' ? written : undefined
}

/**
 * Compares the translated answer with native ones. A difference counts only where the native answers agree with each other; where they
 * differ is noise, such as ids, times and changing prices.
 */
export function compareAnswers(
  [one, two]: readonly [ComparedAnswer, ComparedAnswer],
  translated: ComparedAnswer,
  comparisons: ReadonlyMap<string, Same>,
  /** Fields that the gateway fills in itself, such as the caller's own number. */
  leftOut: ReadonlySet<string> = new Set(),
): readonly ComparedField[] {
  const kinds = [one, two, translated].map((answer) => (answer === 'refused' ? answer : 'answered'))
  const [native = '', again, own = ''] = kinds
  const verdict = native !== again ? 'noise' : native === own ? 'equal' : 'differs'
  const whole: ComparedField = { field: WHOLE_ANSWER, verdict, native, translated: own }
  if (one === 'refused' || two === 'refused' || translated === 'refused') return [whole]
  const names = new Set([comparisons, one, two, translated].flatMap((map) => [...map.keys()]))
  const fields = [...names].flatMap((field): ComparedField[] => {
    const values = [one, two, translated].map((answer) => answer.get(field) ?? '')
    if (leftOut.has(field) || values.every((value) => value === '')) return []
    const [first = '', second = '', third = ''] = values
    const same: Same = (a, b) => (a === '') === (b === '') && (a === b || (comparisons.get(field)?.(a, b) ?? false))
    const verdict = !same(first, second) ? 'noise' : same(first, third) ? 'equal' : 'differs'
    // For equal values, not even the shape is needed.
    const [native, own] = verdict === 'differs' ? [masked(first), masked(third)] : ['', '']
    return [{ field, verdict, native, translated: own }]
  })
  return [whole, ...fields]
}

/** The longest masked value. */
const MASK_CHARACTERS = 24

/**
 * Returns the shape of a value without the value: each letter becomes `a` or `A`, each digit `9`, and any other character except common
 * punctuation `?`.
 *
 * @example
 * masked('(214) 555-0000') // '(999) 999-9999'
 */
export function masked(text: string): string {
  const shape = [...text].slice(0, MASK_CHARACTERS).join('')
  const hidden = shape
    .replace(/[^\p{L}\p{Nd} .,:;()+@/#&'~_-]/gu, '?')
    .replace(/\p{Nd}/gu, '9')
    .replace(/\p{Lu}/gu, 'A')
    .replace(/(?!A)\p{L}/gu, 'a')
  return shape === text ? hidden : `${hidden}…`
}
