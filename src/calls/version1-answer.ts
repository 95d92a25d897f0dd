import type { Answer } from '../language/answer.ts'
import { gatewayError } from '../language/errors.ts'
import { valueAt } from '../language/mapping/paths.ts'
import { scalarText } from '../language/text/json.ts'
import { headerText, oneLine } from '../language/text/service-text.ts'
import { idAt } from '../outside/service/proofs.ts'
import { NUMBER_HEADER, priceHeader } from '../state/bookings/bookings.ts'
import type { Plan } from './plan.ts'
import { placelessIn, type Version1 } from './read-request.ts'

/** A version-1 answer. */
export interface Version1Answer extends Answer {
  readonly body: string
  readonly reply: Version1Reply
}

/** The fields of a version-1 answer. */
type Version1Reply = Readonly<Record<string, string>>

/** Returns a function that adds a sentence to a reply's message. */
export const withSentence =
  (sentence: string) =>
  (reply: Version1Reply): Version1Reply =>
    sentence === '' ? reply : { ...reply, Message: oneLine(`${reply['Message'] ?? ''}${sentence}`) }

/** Translates the service's reply into the version-1 answer of a call; `complete` may change it. */
export function answerOf(
  plan: Plan,
  body: unknown,
  complete: (reply: Version1Reply) => Version1Reply = (reply) => reply,
): Version1Answer {
  const { settings, own, subject } = plan
  const { compiled } = plan.request
  const { reply: translated, missing } = compiled.reply(body, { settings, own })
  if (missing.length > 0) throw gatewayError('service-unreadable/places', { places: missing.join(' and ') })
  const { verb } = compiled.action
  const idKey = verb === 'approve' ? 'shipment_id' : verb === 'book' || verb === 'update' ? 'id' : undefined
  const headers = {
    ...(idKey && idHeaders(body, idKey)),
    ...(verb === 'book' && priceHeader(subject.quote?.price, body)),
    ...assumedHeader(plan),
  }
  const reply = complete(translated)
  return { status: 200, headers, body: JSON.stringify(reply), reply }
}

/** Returns what the translation assumed, as a header that names each place and its value, in the order of the names. */
export function assumedHeader({ body, notes }: Plan): Readonly<Record<string, string>> {
  const assumed: string[] = []
  for (const { to } of notes) {
    const value = to && scalarText(valueAt(body, to.place))
    if (value !== undefined) assumed.push(`${to?.v2}=${headerText(value)}`)
  }
  return assumed.length === 0 ? {} : { 'Transload-Assumed': assumed.sort().join(', ') }
}

/** The longest list of names in a header. */
const IGNORED_LIMIT_BYTES = 1024

/** Returns a header that lists the fields that were sent with a value and have no place, for calls that write. */
export function ignoredHeader(request: Version1): Readonly<Record<string, string>> {
  if (request.compiled.written.length === 0) return {}
  const names = [...request.fields.ignored, ...placelessIn(request)].map((name) =>
    headerText(name).replaceAll(',', '%2C'),
  )
  let list = ''
  for (const [i, name] of names.entries()) {
    const longer = list === '' ? name : `${list}, ${name}`
    const rest = `+${names.length - i}`
    // Leaves room for the count of the rest: a later name may not fit either.
    if (longer.length > IGNORED_LIMIT_BYTES - `, +${names.length}`.length)
      return { 'Transload-Ignored': list === '' ? rest : `${list}, ${rest}` }
    list = longer
  }
  return list === '' ? {} : { 'Transload-Ignored': list }
}

/** Returns the service's ids as headers, which version-1 parsers do not read. */
function idHeaders(body: unknown, idKey: string): Record<string, string> {
  const id = idAt(body, idKey)
  // A number that cannot be used as a name is still shown.
  const number = headerText((scalarText(valueAt(body, ['number'])) ?? '').trim())
  return {
    ...(id !== undefined && { 'Transload-Shipment-Id': headerText(id) }),
    ...(number !== '' && { [NUMBER_HEADER]: number }),
  }
}
