import type { IncomingMessage } from 'node:http'
import type { Answer } from './answers.ts'
import type { Bookings, Made } from './bookings.ts'
import type { Call } from './call.ts'
import type { Credentials } from './credentials.ts'
import { GatewayError, problemsInOneLine } from './errors.ts'
import { type Found, find, pathSegment } from './find.ts'
import { handOver } from './hand-over.ts'
import { type IntakeDeps, takeIn, type Version1 } from './intake.ts'
import type { Endpoint } from './mapping/catalog.ts'
import type { Settings } from './mapping/declare.ts'
import { namedIn, ownNumber, quoteFacts, recall, unnamed, vinOf, withoutName } from './naming.ts'
import type { Perform } from './perform.ts'
import { bookingOf, idHeaders, keepsakeOf } from './record.ts'
import { isSuccess, refusal, type Sending, type Service } from './service.ts'
import type { Keepsake, Xref } from './xref.ts'

/** What the corridor needs; the same for every call. */
export interface LegacyDeps extends IntakeDeps {
  readonly settings: Settings
  readonly credentials: Credentials
  readonly service: Service
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
  const intake = await takeIn(incoming, endpoint, call, deps)
  const caller = deps.credentials.identify(incoming.headers)
  call.tenant = caller.tenant
  const sending: Sending = { caller, requestId: call.id, deadline: performance.now() + deps.timeoutMs }
  if (intake.generation === 2) return handOver(intake, endpoint, sending, deps.service)

  const { compiled, fields } = intake
  const found = await findMeant(intake, sending, deps)
  const quote = found ? quoteFacts(found) : await recall(intake, caller, deps.xref)
  const { body, problems } = compiled.request(fields, { settings: deps.settings, facts: quote?.facts })
  const all = [...unnamed(intake), ...problems]
  if (all.length > 0) throw new GatewayError('untranslatable', problemsInOneLine(all), { problems: all })

  const make = async (): Promise<Performed> => {
    const wanted = withoutName(intake, body, found?.by)
    const done = await deps.perform({ compiled, body: wanted, found, vin: vinOf(intake) }, sending)
    const own = ownNumber(intake, found)
    const { reply, missing } = compiled.reply(done.body, { settings: deps.settings, own })
    if (missing.length > 0) {
      const message = `The service answered without ${missing.join(' and ')}, which the reply needs. Try again later.`
      throw new GatewayError('service-unreadable', message)
    }
    const answer = { status: 200, headers: idHeaders(intake, done.body), body: JSON.stringify(reply) }
    return { answer, keepsake: keepsakeOf(intake, body, done.body, found, own ?? quote?.own, deps.settings) }
  }
  if (compiled.action.service.once) {
    const booking = bookingOf(intake, incoming, sending)
    return deps.bookings.once(
      booking,
      async () => withKeepsake(await make()),
      (shipment) => mayRead(shipment, sending, deps),
    )
  }

  const { answer, keepsake } = await make()
  // A number that the caller is about to be given has to resolve from now on.
  if (keepsake) await deps.xref.keep(caller.tenant, keepsake)
  if (found && compiled.action.service.until) await deps.bookings.free(caller.tenant, found.id)
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
