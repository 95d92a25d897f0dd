import { gatewayError } from '../language/errors.ts'
import type { Problem } from '../language/mapping/fields.ts'
import type { Draft } from '../language/mapping/paths.ts'
import type { KnownFacts } from '../language/mapping/request.ts'
import { ASSUMED_FACT } from '../language/mapping/row.ts'
import { fieldsOf, placesOf } from '../language/mapping/row-parts.ts'
import { changeOf, doubtful, idAt, newQuote } from '../outside/service/proofs.ts'
import type { UpstreamReply } from '../outside/service/reply.ts'
import type { Sending } from '../outside/service/service.ts'
import type { QuoteChange } from '../outside/store/store.ts'
import { ACCEPTED, type Plan, plannedCall, sendChange, sendNew } from './plan.ts'
import { namesGivenIn, type Version1 } from './read-request.ts'
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
      : changeOf(await sendQuoteChange(plan, call.sending, rooms), 'quote', subject.id)
  rooms.inspect(request.compiled.action.name, body)

  const named = withQuoteId(body, plan)
  const id = named.shipment_id
  const answer = answerOf(plan, named, withSentence(ignoredSentence(subject.ignored)))
  // In an update, the names only say which quote is meant.
  const names = subject.quote ? [] : namesGivenIn(request)
  if (id === undefined) {
    requireNames(request)
    // Its names would go on meaning an earlier quote, and approve that one.
    if ((await rooms.names.namedByBooking(tenant, names)).quote) throw withoutId()
    return answer
  }
  await rooms.names.write({
    names: names.map((name) => ({ tenant, kind: 'quote', name, id, givenBy: 'caller' })),
    quote: remembered(plan, { tenant, id }, names, answer.reply['Cost'] ?? ''),
  })
  return answer
}

/** Changes a quote at the service. A 202 is not believed: no read shows a later change, and the price may be the one from before. */
async function sendQuoteChange(plan: Plan, sending: Sending, rooms: AskingRooms): Promise<UpstreamReply> {
  const reply = await sendChange(plan, sending, rooms)
  if (reply.status === ACCEPTED) throw doubtful('it accepted the change but did not confirm it', 'change')
  return reply
}

/** Returns a quote's reply with the quote's id, which some replies to an update leave out. */
export const withQuoteId = (body: Readonly<Draft> | undefined, { subject }: Plan) => ({
  ...body,
  shipment_id: idAt(body, 'shipment_id') ?? subject.id,
})

/** Throws if a new quote has neither an id nor a name from the caller: nothing could ever name it. */
export function requireNames(request: Version1): void {
  if (namesGivenIn(request).length === 0) throw withoutId()
}

const withoutId = () => gatewayError('service-unreadable/places', { places: 'shipment_id' })

/** Returns what is remembered of a quote. */
function remembered(
  plan: Plan,
  key: { readonly tenant: string; readonly id: string },
  names: readonly string[],
  price: string,
): QuoteChange {
  const before = plan.subject.quote
  return {
    ...key,
    own: (before ? before.own : plan.own) ?? '',
    names: before ? before.names.filter((name) => name !== before.id) : names,
    facts: factsAfter(plan),
    // Empty if the reply to a change has no price: the old price no longer holds.
    price,
  }
}

/** Returns the facts of a quote after a call that prices or changes it. */
export function factsAfter({ request, body, settings, subject, notes }: Plan): KnownFacts {
  const before = subject.quote?.facts
  const { facts, problems } = request.compiled.remember(request.fields, body, settings)
  const assumed = notes.flatMap(({ code, name }) => (code === 'assumed' ? [name] : [])).join(' ')
  return { ...(before && factsLeft(before, facts, request, problems)), ...facts, [ASSUMED_FACT]: assumed }
}

/** Returns the facts that an update leaves: a contact of any part replaces the old one as a whole, and so does a value that cannot be read. */
function factsLeft(
  before: KnownFacts,
  sent: KnownFacts,
  { compiled }: Version1,
  problems: readonly Problem[],
): KnownFacts {
  const replaced = (compiled.action.remember ?? []).filter(
    (row) =>
      (row.kind === 'split' && placesOf(row).some((place) => place in sent)) ||
      problems.some(({ field }) => fieldsOf(row).includes(field)),
  )
  const places = replaced.flatMap(placesOf)
  return Object.fromEntries(Object.entries(before).filter(([fact]) => !places.includes(fact)))
}
