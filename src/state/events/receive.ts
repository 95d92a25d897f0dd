import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { toGatewayError } from '../../edge/answers.ts'
import { type Credentials, type EventRecipient, recipientOf } from '../../edge/callers/caller.ts'
import type { Arrival } from '../../edge/door.ts'
import { createSourceLimits } from '../../edge/limits/rates.ts'
import { webhookSecret } from '../../edge/routing.ts'
import type { Answer } from '../../language/answer.ts'
import { gatewayError } from '../../language/errors.ts'
import { openText } from '../../language/text/decode.ts'
import { canonicalJson, isStructure, JsonError, parseJson, scalarText } from '../../language/text/json.ts'
import { isPlainId, serviceId, thingKey } from '../../language/text/service-text.ts'
import { verifySignature } from '../../language/webhook-signature.ts'
import type { EventContent } from '../../outside/store/events.ts'
import type { Store } from '../../outside/store/store.ts'
import type { Call } from '../../runtime/call.ts'
import type { Logger } from '../../runtime/log.ts'
import { createCounter } from '../../runtime/metrics.ts'

/** The results of a delivery, for the metrics. */
const RECEIPTS = ['stored', 'parked', 'duplicate', 'wrong-secret', 'wrong-signature', 'malformed', 'failed'] as const
type Receipt = (typeof RECEIPTS)[number]

/** The longest event, both as received and as stored. */
export const EVENT_LIMIT_BYTES = 65_536

/** The most events that one source may send per second. The service sends a few for each shipment; more than this is a flood. */
const EVENTS_PER_SECOND = 1_000

/** Opens the reception of events. */
export function openReception({
  callers,
  store,
  onStored,
  log,
}: {
  readonly callers: Credentials
  readonly store: Store
  readonly log: Logger
  /** Called with an event once it is durable. */
  readonly onStored: (recipient: EventRecipient, event: ReceivedEvent) => void
}) {
  const limitSource = createSourceLimits(EVENTS_PER_SECOND)
  const events = createCounter(
    'transload_webhook_events_total',
    'Deliveries from the service by result.',
    ['result'],
    RECEIPTS.map((result) => [result]),
  )
  const count = (receipt: Receipt) => events.add(1, receipt)

  /** Counts a delivery whose body was refused. */
  const refused = (error: unknown) => {
    count(receiptOf(error))
    return error
  }

  async function stored({ body, caller }: Arrival<Buffer, EventRecipient>, incoming: IncomingMessage): Promise<Answer> {
    requireSignature(caller, incoming, body)
    const received = readEvent(body)
    const { spelled: _, ...event } = received
    const { tenant, hasCallback: deliver } = caller
    const { taken, id } = await store.takeEvent({ ...event, tenant, deliver })
    const { fault } = event
    if (taken && fault) log.error({ event: id, tenant, fault }, 'an event has an unknown shape and is parked')
    count(!taken ? 'duplicate' : fault ? 'parked' : 'stored')
    onStored(caller, received)
    return { status: 200, headers: {}, body: JSON.stringify({ id, duplicate: !taken }) }
  }

  function requireSignature({ tenant, signingKeys }: EventRecipient, { headers }: IncomingMessage, body: Buffer): void {
    if (signingKeys.length === 0) return
    const verdict = verifySignature(signingKeys, headers, body, Math.floor(Date.now() / 1000))
    if (verdict === 'valid') return
    const fault = verdict.replace('-', ' ')
    log.warn({ tenant, fault }, 'an event is refused because of its signature')
    throw gatewayError('signature-wrong', { fault })
  }

  return {
    /** Returns the recipient of a delivery; undefined for a wrong secret. Throws if the source sends too many. */
    recipient: (incoming: IncomingMessage, call: Call): EventRecipient | undefined => {
      const recipient = recipientOf(webhookSecret(incoming.url ?? '') ?? '', callers.eventRecipients())
      if (!recipient) {
        count('wrong-secret')
        return undefined
      }
      call.caller = { tenant: recipient.tenant }
      try {
        limitSource(call.request.share.source)
      } catch (error) {
        throw refused(error)
      }
      return recipient
    },
    /** Stores a delivery. The answer is 2xx only once the event is durable. */
    take: async (arrival: Arrival<Buffer, EventRecipient>, incoming: IncomingMessage): Promise<Answer> => {
      try {
        return await stored(arrival, incoming)
      } catch (error) {
        throw refused(error)
      }
    },
    refused,
    metrics: [events.metric],
  }
}

function receiptOf(error: unknown): Receipt {
  switch (toGatewayError(error).code) {
    case 'signature-wrong':
      return 'wrong-signature'
    case 'event-unreadable':
    case 'body-unreadable':
    case 'body-too-large':
      return 'malformed'
    default:
      return 'failed'
  }
}

/** An event as it was received. */
interface ReceivedEvent extends EventContent {
  readonly fault: string | undefined
  /** The shipment's id as the event spells it; `shipment` is the same key for all spellings. Empty if the event names none. */
  readonly spelled: string
}

/** The name of an event without a usable name. */
export const UNNAMED = 'unnamed'

const NAME = /^[A-Za-z0-9._:-]{1,64}$/
const DATE = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/

/**
 * Reads a delivery's body. The service does not document its events, so a JSON object or list in another shape is kept whole, with its
 * fault. Throws if the body is not JSON, without quoting it.
 */
export function readEvent(bytes: Buffer): ReceivedEvent {
  const body = structureIn(bytes)
  const { data, fault, ...parts } = partsOfEvent(body)
  const payload = canonicalJson(body)
  if (Buffer.byteLength(payload) > EVENT_LIMIT_BYTES) throw gatewayError('body-too-large', { bytes: EVENT_LIMIT_BYTES })
  const told = fault === undefined ? (data === null ? '' : canonicalJson(data)) : payload
  const digest = hash('sha256', told)
  return { shipment: parts.spelled && thingKey(parts.spelled), ...parts, digest, payload, fault }
}

/** Returns an event's parts. A missing or unusable part is blank, and named in the fault. */
export function partsOfEvent(body: object) {
  const { shipment_id, event: name, event_date, data = null }: Readonly<Record<string, unknown>> = { ...body }
  const id = serviceId(shipment_id)
  // The id becomes part of a path that is requested with the gateway's credential.
  const spelled = id !== undefined && isPlainId(id) ? id : ''
  const event = typeof name === 'string' && NAME.test(name) ? name : UNNAMED
  const date = scalarText(event_date)?.trim() ?? ''
  const hasDate = DATE.test(date)
  const faults = [
    spelled === '' && 'shipment_id',
    event === UNNAMED && 'event',
    !hasDate && 'event_date',
    data !== null && !isStructure(data) && 'data',
  ].filter((field) => field !== false)
  const fault = faults.length === 0 ? undefined : `unknown shape: no usable ${faults.join(', ')}`
  return { spelled, event, date: hasDate ? date : '', data, fault }
}

function structureIn(bytes: Buffer): object {
  const text = openText(bytes, undefined)
  let value: unknown
  try {
    value = parseJson(text.decode(text.bytes))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw unreadable(`is not JSON: ${error.message}`)
  }
  if (!isStructure(value)) throw unreadable('is not a JSON object')
  return value
}

const unreadable = (fault: string) => gatewayError('event-unreadable', { fault })
