import { gatewayError } from '../language/errors.ts'
import { ASSUMED_FACT } from '../language/mapping/row.ts'
import { changeOf, idAt, newQuote } from '../outside/service/proofs.ts'
import type { QuoteChange } from '../outside/store/store.ts'
import { type Plan, plannedCall, sendChange, sendNew } from './plan.ts'
import { namesGivenIn } from './read-request.ts'
import { ignoredSentence, NO_SUBJECT, quoteNamedBy, referenceOf } from './subject.ts'
import type { AskingCall, AskingRooms } from './verb.ts'
import { answerOf, type Version1Answer, withSentence } from './version1-answer.ts'

/** Prices a trip, or changes a quote and prices it again. The quote is remembered before its number is answered. */
export async function quote(call: AskingCall, rooms: AskingRooms): Promise<Version1Answer> {
  const { request } = call
  const { tenant } = call.caller
  const reference = referenceOf(request)
  const subject = reference ? await quoteNamedBy(reference, call, rooms) : { ...NO_SUBJECT, ignored: [] }
  const plan = plannedCall(call, subject)

  const body =
    subject.id === undefined
      ? newQuote(await sendNew(plan, call.sending, rooms))
      : changeOf(await sendChange(plan, call.sending, rooms), 'quote', subject.id)
  rooms.inspect(request.compiled.action.name, body)

  // Some replies to an update leave out the id.
  const id = idAt(body, 'shipment_id') ?? subject.id
  const answer = answerOf(plan, { ...body, shipment_id: id }, withSentence(ignoredSentence(subject.ignored)))
  // In an update, the names only say which quote is meant.
  const names = subject.quote ? [] : namesGivenIn(request)
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
