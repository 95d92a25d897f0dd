import { answerOf } from '../calls/legacy-answer.ts'
import type { Plan } from '../calls/plan.ts'
import type { SendPlan } from '../calls/send.ts'
import type { ErrorCode } from '../errors.ts'
import { toGatewayError } from '../http/gateway-error.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import { replyText } from '../service/error-message.ts'
import { NoReply, type UpstreamReply } from '../service/exchange.ts'
import { plain } from '../service/outgoing.ts'
import { isSuccess, type Sending, type ServiceRequest } from '../service/service.ts'
import type { Upstream } from '../service/upstream.ts'
import { answered, type Comparison, compareAnswers, type Outcome } from './answers.ts'
import { canBeNative, nativeRequest } from './native-request.ts'
import { type Comparisons, comparisonsOf } from './same.ts'

/** The ways to ask the service for one call. */
export interface AskDeps {
  readonly upstream: Pick<Upstream, 'call'>
  readonly send: SendPlan
  readonly nativePath: string
}

/** Refusals that say nothing about what the call asks. */
const NO_VERDICT = new Set([401, 403, 405, 408, 425, 429])
const NOT_FOUND = 404

/** Asks the service's own version-1 handling. */
export async function askNatively(plan: Plan, sending: Sending, deps: AskDeps): Promise<Outcome> {
  const { request, found } = plan
  if (!canBeNative(request.compiled.action, deps.nativePath)) {
    return { kind: 'none', why: 'the native path reads version-1 bodies only, and this call has none' }
  }
  const toService = nativeRequest(request, found, deps)
  try {
    return nativeOutcome(await sendNatively(toService, sending, deps.upstream), toService.namesAnId, request.compiled)
  } catch (error) {
    return { kind: 'none', why: reasonOf(error) }
  }
}

/** Sends a version-1 request as it is: it has one spelling, and proves nothing about version 2. */
async function sendNatively(
  request: ServiceRequest,
  { account, deadline, requestId }: Sending,
  upstream: Pick<Upstream, 'call'>,
): Promise<UpstreamReply> {
  const { method, path, headers, body } = plain(request)
  const authorization = await account.authorization(deadline)
  return upstream.call({
    method,
    origin: account.origin,
    path: account.prefix + path,
    headers: { ...headers, authorization, 'x-request-id': requestId },
    body,
    pool: account.pool(),
    deadline,
  })
}

/** Returns the outcome that a native reply shows. */
export function nativeOutcome(
  { status, body }: UpstreamReply,
  namesAnId: boolean,
  { action }: Pick<CompiledAction, 'action'>,
): Outcome {
  if (!isSuccess(status)) {
    const isRefusal = status >= 400 && status < 500 && !NO_VERDICT.has(status)
    if (isRefusal && (status !== NOT_FOUND || namesAnId || action.target)) return { kind: 'refused' }
    return { kind: 'none', why: `the service answered ${status}` }
  }
  const outcome = answered(replyText(body))
  const isVersion1 =
    outcome?.kind === 'answered' && action.reply.some((row) => 'v1' in row && outcome.fields.has(String(row.v1)))
  return isVersion1 ? outcome : { kind: 'none', why: 'the service did not answer in version 1' }
}

/** Asks the service in version 2, and translates its reply. */
export async function askTranslated(plan: Plan, tenant: string, sending: Sending, deps: AskDeps): Promise<Outcome> {
  if (plan.problems.length > 0) return { kind: 'refused' }
  try {
    const { body } = answerOf(plan, await deps.send(plan, tenant, sending))
    return answered(body) ?? { kind: 'none', why: 'the answer is not JSON' }
  } catch (error) {
    return failedOutcome(error)
  }
}

/** Errors of the translation itself, or of what the call asks. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'untranslatable',
  'number-unknown',
  'several-matches',
  'reply-doubtful',
  'service-unreadable',
])

/** Returns the outcome of a translated call that failed. */
export function failedOutcome(error: unknown): Outcome {
  const { code, serviceStatus = 0 } = toGatewayError(error)
  const isRefusal = code === 'service-refused' && serviceStatus < 500 && !NO_VERDICT.has(serviceStatus)
  return isRefusal || REFUSALS.has(code) ? { kind: 'refused' } : { kind: 'none', why: reasonOf(error) }
}

function reasonOf(error: unknown): string {
  return error instanceof NoReply ? `no reply of the service: ${error.silence}` : toGatewayError(error).code
}

/** The comparisons of each action's reply, made once. */
const comparisonsByAction = new WeakMap<CompiledAction, Comparisons>()

/** Compares the answers to one call. */
export function compareOutcomes(
  { request, found, own }: Plan,
  natives: readonly [Outcome, Outcome],
  translated: Outcome,
): Comparison {
  const { compiled } = request
  const comparisons = comparisonsByAction.get(compiled) ?? comparisonsOf(compiled.action.reply)
  comparisonsByAction.set(compiled, comparisons)
  // Where the service is asked by its own id, it cannot answer the caller's number.
  const isOwnNumber = found.id !== undefined && own !== undefined
  return compareAnswers(natives, translated, comparisons, isOwnNumber ? numberFields(compiled) : undefined)
}

const numberFields = ({ action }: CompiledAction): ReadonlySet<string> =>
  new Set(action.reply.flatMap((row) => (row.kind === 'callerNumber' ? [row.v1] : [])))
