import { readJsonValue } from '../edge/body/read.ts'
import { GatewayError, gatewayError } from '../language/errors.ts'
import type { VerbName } from '../language/mapping/action.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import { explainReplyTranslation, type ReplyAccount } from '../language/mapping/explain.ts'
import type { Problem } from '../language/mapping/fields.ts'
import { replyText } from '../language/text/decode.ts'
import { bookedShipment, cancellationOf, changeOf, idAt, newQuote, shipmentWithId } from '../outside/service/proofs.ts'
import type { UpstreamReply } from '../outside/service/reply.ts'
import { NEW_KEY, outcomeUnknown } from '../state/bookings/bookings.ts'
import { messageOf, planFromNames, refusalAt } from './dry-run.ts'
import { answerToBody, idShownIn, readDecides } from './explain-plan.ts'
import type { Plan } from './plan.ts'
import { requireNames } from './quote.ts'
import { version1 } from './read-request.ts'
import type { ExplainingRooms } from './verb.ts'

/** A reply's translation, explained. */
interface ReplyDryRun extends ReplyAccount {
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
    const plan = planned ?? planFromNames(version1(compiled, []), settings)
    const { answer, isFinal } = answerToBody(plan, told)
    v1 = answer.reply
    if (!isFinal) remarks = [readDecides(verb)]
    if (verb === 'quote' && !target && idAt(v2, 'shipment_id') === undefined) {
      if (planned) requireNames(planned.request)
      remarks = [planned ? EARLIER_QUOTE_DECIDES : NAMES_DECIDE]
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

const NAMES_DECIDE =
  'The reply has no usable shipment_id, so the response depends on the request: only a call with a ShipmentNumber or an OrderRefNumber that names no earlier quote gets this one. Any other call gets 502.'

const EARLIER_QUOTE_DECIDES =
  'The reply has no usable shipment_id, so the record decides: if a number of this call names an earlier quote, it gets 502.'

const OK = 200

/** Return what a live call takes from a reply; throw if it would not believe the reply. */
const believed: Readonly<Record<Exclude<VerbName, 'approve'>, (reply: UpstreamReply, id?: string) => unknown>> = {
  quote: (reply, id) => (id === undefined ? newQuote(reply) : changeOf(reply, 'quote', id)),
  book: (reply) => bookedShipment(reply).body,
  read: (reply, id = '') => shipmentWithId(reply, id).body,
  update: (reply, id = '') => changeOf(reply, 'shipment', id),
  cancel: (reply, id = '') => cancellationOf(reply, id),
}
