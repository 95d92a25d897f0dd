import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { toGatewayError } from '../../edge/answers.ts'
import { readBytes } from '../../edge/body/bytes.ts'
import { type Credentials, type EventRecipient, recipientOf } from '../../edge/callers/caller.ts'
import { webhookSecret } from '../../edge/routing.ts'
import type { Answer } from '../../language/answer.ts'
import { gatewayError } from '../../language/errors.ts'
import { openText } from '../../language/text/decode.ts'
import { canonicalJson, isStructure, JsonError, parseJson, scalarText } from '../../language/text/json.ts'
import { isPlainId, serviceId, thingKey } from '../../language/text/service-text.ts'
import { verifySignature } from '../../language/webhook-signature.ts'
import type { Events, NewEvent } from '../../outside/store/events.ts'
import type { Call, Source } from '../../runtime/call.ts'
import type { Logger } from '../../runtime/log.ts'
import { type CountedMetric, createLabeledCounter } from '../../runtime/metrics.ts'

/** The events of the service. It may send others, which are stored like these. */
const EVENT_NAMES: readonly string[] = [
  'shipment.created',
  'shipment.modified',
  'shipment.assigned',
  'shipment.picked_up',
  'shipment.delivered',
  'shipment.canceled_by_carrier',
  'shipment.canceled',
  'shipment.rate_approved',
  'shipment.bol_available',
]

/** The ends of a delivery, for the metrics. */
const RECEIPTS = ['stored', 'duplicate', 'wrong-secret', 'wrong-signature', 'malformed', 'failed'] as const
type Receipt = (typeof RECEIPTS)[number]

/** The longest event, as it arrives and as it is stored. */
export const EVENT_LIMIT_BYTES = 65_536

/** Receives a delivery of the service; returns undefined for a wrong secret, without reading the body. */
export type ReceiveEvent = (incoming: IncomingMessage, call: Call) => Promise<Answer | undefined>

export interface ReceiveDeps {
  readonly credentials: () => Pick<Credentials, 'eventRecipients'>
  readonly store: Pick<Events, 'takeEvent'>
  readonly bodyLimitBytes: number
  /** Throws if a source sends too many events. */
  readonly limitSource: (source: Source) => void
  /** Called with an event that is durable. */
  readonly onStored: (recipient: EventRecipient, event: ReceivedEvent) => void
  readonly log: Logger
}

/** Makes the receiver of events. It answers 2xx once the event is durable, and not before. */
export function createReceiveEvent(deps: ReceiveDeps): {
  readonly receive: ReceiveEvent
  readonly metric: CountedMetric
} {
  const { credentials, store, limitSource, onStored, log } = deps
  const bodyLimitBytes = Math.min(EVENT_LIMIT_BYTES, deps.bodyLimitBytes)
  const events = createLabeledCounter(
    'transload_webhook_events_total',
    'Deliveries of the service by event and result.',
    RECEIPTS.map((result) => ({ event: '', result })),
  )

  async function take(recipient: EventRecipient, incoming: IncomingMessage, call: Call): Promise<Answer> {
    limitSource(call.share.source)
    const body = await readBytes(incoming, bodyLimitBytes, call.share)
    call.share.enter()
    requireSignature(recipient, incoming, body)
    const received = readEvent(body)
    const { spelled: _, ...event } = received
    const { tenant, hasCallback: deliver } = recipient
    const { taken, id } = await store.takeEvent({ ...event, tenant, deliver })
    const known = EVENT_NAMES.includes(event.event) ? event.event : 'other'
    events.count({ event: known, result: taken ? 'stored' : 'duplicate' })
    onStored(recipient, received)
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

  const receive: ReceiveEvent = async (incoming, call) => {
    const recipient = recipientOf(webhookSecret(incoming.url ?? '') ?? '', credentials().eventRecipients())
    if (!recipient) {
      events.count({ event: '', result: 'wrong-secret' })
      return undefined
    }
    call.tenant = recipient.tenant
    try {
      return await take(recipient, incoming, call)
    } catch (error) {
      events.count({ event: '', result: receiptOf(error) })
      throw error
    }
  }
  return { receive, metric: events.metric }
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
export interface ReceivedEvent extends Omit<NewEvent, 'tenant' | 'deliver'> {
  /** The id of the shipment as the event spells it; `shipment` is the one key of all spellings. */
  readonly spelled: string
}

const NAME = /^[A-Za-z0-9._:-]{1,64}$/
const DATE = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/

/** Reads the body of a delivery; throws an error that says what is wrong with it, without quoting it. */
export function readEvent(bytes: Buffer): ReceivedEvent {
  const body = objectIn(bytes)
  const spelled = serviceId(body['shipment_id'])
  // It becomes a part of a path, with the gateway's credential.
  if (spelled === undefined || !isPlainId(spelled)) throw unreadable('has no usable shipment_id')
  const event = body['event']
  if (typeof event !== 'string' || !NAME.test(event)) throw unreadable('has no usable event')
  const date = scalarText(body['event_date'])?.trim() ?? ''
  if (!DATE.test(date)) throw unreadable('has no usable event_date')
  const data = body['data'] ?? undefined
  if (data !== undefined && !isStructure(data)) throw unreadable('has data that is not an object')
  const payload = canonicalJson(body)
  if (Buffer.byteLength(payload) > EVENT_LIMIT_BYTES) throw gatewayError('body-too-large', { bytes: EVENT_LIMIT_BYTES })
  const digest = createHash('sha256')
    .update(data === undefined ? '' : canonicalJson(data))
    .digest('hex')
  return { shipment: thingKey(spelled), spelled, event, date, digest, payload }
}

function objectIn(bytes: Buffer): Readonly<Record<string, unknown>> {
  const text = openText(bytes, undefined)
  let value: unknown
  try {
    value = parseJson(text.decode(text.bytes))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw unreadable(`is not JSON: ${error.message}`)
  }
  if (!isStructure(value) || Array.isArray(value)) throw unreadable('is not a JSON object')
  return { ...value }
}

const unreadable = (fault: string) => gatewayError('event-unreadable', { fault })
