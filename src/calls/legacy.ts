import type { IncomingMessage } from 'node:http'
import type { Bookings, Made } from '../bookings/bookings.ts'
import type { Caller, Credentials } from '../callers/credentials.ts'
import { GatewayError, problemsInOneLine } from '../errors.ts'
import type { Answer } from '../http/answers.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { Settings } from '../mapping/settings.ts'
import type { Call } from '../observe/call.ts'
import { refusal } from '../service/failures.ts'
import { type Address, isSuccess, type Service } from '../service/service.ts'
import type { Keepsake, Xref } from '../xref/xref.ts'
import { type Found, find, pathSegment } from './find.ts'
import { namedIn, ownNumber, quoteFacts, recall, unnamed, vinOf, withoutName } from './names.ts'
import { classify, receive, type Version1, type Version2 } from './read-request.ts'
import { bookingOf, idHeaders, keepsakeOf } from './record.ts'
import type { Perform, Sending } from './send.ts'
import { handedOver, unchanged } from './version-2-body.ts'

/** What the corridor needs; the same for every call. */
export interface LegacyDeps {
  readonly catalog: Catalog
  readonly bodyLimitBytes: number
  /** For whoever has no settings of its own. */
  readonly settings: Settings
  readonly credentials: Credentials
  readonly service: Service
  /** Where the service is for whoever has no address of its own. */
  readonly address: Address
  readonly perform: Perform
  readonly xref: Xref
  readonly bookings: Bookings
  readonly timeoutMs: number
}

/** The whole life of a `.php` call, in order. */
export async function legacy(
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  deps: LegacyDeps,
): Promise<Answer> {
  const sent = await receive(incoming, call, deps.bodyLimitBytes).catch(async (error: unknown) => {
    // Who calls decides how even an unreadable body is answered.
    noteCaller(call, await deps.credentials.verified(incoming).catch(() => undefined))
    throw error
  })
  call.share.enter()
  const caller = await deps.credentials.identify(incoming)
  noteCaller(call, caller)
  const { synonyms, limits } = caller.profile
  const leave = limits.enter()
  try {
    const intake = classify(sent, endpoint, call, deps.catalog, synonyms)
    const deadline = performance.now() + deps.timeoutMs
    const sending: Sending = { caller, account: caller.account, requestId: call.id, deadline }
    if (intake.generation === 2) return await handedBack(intake, endpoint, sending, deps)
    return await translated(intake, incoming, sending, deps)
  } finally {
    leave()
  }
}

function noteCaller(call: Call, caller: Caller | undefined): void {
  call.tenant = caller?.tenant
  call.errorStatus = caller?.profile.errorStatus
}

/** A version-2 body's own answer; a shipment that it cancels frees the booking's key like any other. */
async function handedBack(intake: Version2, endpoint: Endpoint, sending: Sending, deps: LegacyDeps): Promise<Answer> {
  const { action, request, id } = handedOver(intake, endpoint)
  const reply = await deps.service.send(request, { ...sending, alone: action.service.notIdempotent ?? false })
  if (isSuccess(reply.status) && action.service.doneWhenStatus && id !== undefined) {
    await deps.bookings.free(sending.caller.tenant, id)
  }
  return unchanged(reply)
}

/** From a version-1 request to its version-1 answer. */
async function translated(
  intake: Version1,
  incoming: IncomingMessage,
  sending: Sending,
  deps: LegacyDeps,
): Promise<Answer> {
  const { compiled, fields } = intake
  const { caller } = sending
  const { settings } = caller.profile
  const { notIdempotent, doneWhenStatus } = compiled.action.service
  const found = await findMeant(intake, sending, deps)
  const quote = found ? quoteFacts(found) : await recall(intake, caller, deps.xref)
  const { body, problems } = compiled.request(fields, { settings, facts: quote?.facts })
  const all = [...unnamed(intake), ...problems]
  if (all.length > 0) throw new GatewayError('untranslatable', problemsInOneLine(all), { problems: all })

  const make = async (): Promise<Performed> => {
    const wanted = withoutName(intake, body, found?.by)
    const done = await deps.perform({ compiled, body: wanted, found, vin: vinOf(intake) }, sending)
    const own = ownNumber(intake, found)
    const { reply, missing } = compiled.reply(done.body, { settings, own })
    if (missing.length > 0) {
      const message = `The service answered without ${missing.join(' and ')}, which the reply needs. Try again later.`
      throw new GatewayError('service-unreadable', message)
    }
    const answer = { status: 200, headers: idHeaders(intake, done.body), body: JSON.stringify(reply) }
    return { answer, keepsake: keepsakeOf(intake, body, done.body, found, own ?? quote?.own, settings) }
  }
  if (notIdempotent) {
    const booking = bookingOf(intake, incoming, sending)
    const makeIt = async () => withKeepsake(await make())
    return deps.bookings.once(booking, makeIt, (shipment) => mayRead(shipment, sending, deps))
  }

  const { answer, keepsake } = await make()
  // A number that the caller is about to be given has to resolve from now on.
  if (keepsake) await deps.xref.keep(caller.tenant, keepsake)
  if (found && doneWhenStatus) await deps.bookings.free(caller.tenant, found.id)
  return answer
}

/** A call that the service has done, its answer, and what there is to keep of it. */
interface Performed {
  readonly answer: Answer & { readonly body: string }
  readonly keepsake: Keepsake | undefined
}

/** A booking without an id cannot be found again: whether it was made is anybody's guess. */
function withKeepsake({ answer, keepsake }: Performed): Made {
  if (keepsake) return { answer, keepsake }
  throw new GatewayError('service-unreadable', 'The service answered the booking without an id.')
}

/** Another credential is told of a booking only if the service lets it read the shipment. */
async function mayRead(shipment: string, sending: Sending, { service }: LegacyDeps): Promise<void> {
  const path = `/v2/shipments/${pathSegment(shipment)}`
  const reply = await service.send({ method: 'GET', path, namesAnId: true }, sending)
  if (!isSuccess(reply.status)) throw refusal(reply)
}

async function findMeant(intake: Version1, sending: Sending, deps: LegacyDeps): Promise<Found | undefined> {
  const { finds } = intake.compiled.action
  const named = namedIn(intake)
  return finds && named && find(finds, named, sending, deps)
}
