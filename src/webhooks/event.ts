import { createHash } from 'node:crypto'
import { openText } from '../body/text.ts'
import { gatewayError } from '../errors.ts'
import type { NewEvent } from '../store/events.ts'
import { canonicalJson } from '../text/canonical-json.ts'
import { isStructure, JsonError, parseJson, scalarText } from '../text/json.ts'
import { isPlainId, serviceId, thingKey } from '../text/service-text.ts'

/** The events of the service. It may send others, which are stored like these. */
export const EVENT_NAMES: readonly string[] = [
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

/** An event as it was received. */
export interface ReceivedEvent extends Omit<NewEvent, 'tenant' | 'deliver'> {
  /** The id of the shipment as the event spells it; `shipment` is the one key of all spellings. */
  readonly spelled: string
}

/** The longest event, as it arrives and as it is stored. */
export const EVENT_LIMIT_BYTES = 65_536

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
