import { gatewayError, untranslatable } from '../language/errors.ts'
import { ASSUMED_FACT } from '../language/mapping/row.ts'
import { isSuccess } from '../outside/service/exchange.ts'
import { replyToChange } from '../outside/service/failures.ts'
import { changeOf, idAt, newQuote } from '../outside/service/proofs.ts'
import type { QuoteChange } from '../outside/store/store.ts'
import { answerOf, type Version1Answer } from './legacy-answer.ts'
import { type Plan, planCall } from './plan.ts'
import { namesIn } from './read-request.ts'
import type { AskingCall, AskingRooms } from './rooms.ts'
import { refusalOf, sendNew } from './send.ts'
import { ignoredSentence, NO_SUBJECT, quoteNamedBy, referenceOf } from './subject.ts'

/** Prices a trip, or changes a quote and prices it again. The quote is remembered before its number is answered. */
export async function quote(call: AskingCall, rooms: AskingRooms): Promise<Version1Answer> {
  const { request, caller, sending } = call
  const { tenant, profile } = caller
  const reference = referenceOf(request)
  const subject = reference ? await quoteNamedBy(reference, call, rooms) : { ...NO_SUBJECT, ignored: [] }
  const plan = planCall(request, subject, profile.settings)
  call.noteTranslation(plan.notes)
  if (plan.problems.length > 0) throw untranslatable(plan.problems)

  const body =
    subject.id === undefined
      ? newQuote(await sendNew(plan, sending, rooms))
      : await sendChange(plan, subject.id, call, rooms)
  rooms.inspect(request.compiled.action.name, body)

  // Some replies to an update leave out the id.
  const id = idAt(body, 'shipment_id') ?? subject.id
  const answer = answerOf(plan, { ...Object(body), shipment_id: id }, (reply) =>
    subject.ignored.length === 0
      ? reply
      : { ...reply, Message: `${reply['Message'] ?? ''}${ignoredSentence(subject.ignored)}`.trim() },
  )
  // In an update, the names only say which quote is meant.
  const names = subject.quote ? [] : namesIn(request, request.compiled.action.givesNames ?? []).map(([, name]) => name)
  if (id === undefined) {
    // Nothing could ever name this quote.
    if (names.length === 0) throw gatewayError('service-unreadable/places', { places: 'shipment_id' })
    return answer
  }
  await rooms.names.write({
    names: names.map((name) => ({ tenant, kind: 'quote', name, id, givenBy: 'caller' })),
    quote: remembered(plan, { tenant, id }, names, answer.reply['Cost'] ?? ''),
  })
  return answer
}

async function sendChange(plan: Plan, id: string, { sending }: AskingCall, { service }: AskingRooms): Promise<unknown> {
  const reply = await replyToChange(service.send(plan.toService, sending))
  if (!isSuccess(reply.status)) throw refusalOf(plan, reply)
  return changeOf(reply, 'quote', id)
}

/** Returns what is remembered of a quote. */
function remembered(
  { request: { compiled, fields }, body, settings, own, subject, notes }: Plan,
  key: { readonly tenant: string; readonly id: string },
  names: readonly string[],
  price: string,
): QuoteChange {
  const before = subject.quote
  const assumed = notes.flatMap(({ code, name }) => (code === 'assumed' ? [name] : [])).join(' ')
  return {
    ...key,
    own: (before ? before.own : own) ?? '',
    names: before ? before.names.filter((name) => name !== before.id) : names,
    facts: { ...before?.facts, ...compiled.remember(fields, body, settings).facts, [ASSUMED_FACT]: assumed },
    // Empty after a change whose reply tells none: the price before is not that of the quote any more.
    price,
  }
}
