import { eventStatuses } from '../../mappings/shipment-event.ts'
import { readJsonValue } from '../edge/body/read.ts'
import { gatewayError } from '../language/errors.ts'
import { NO_NAMES, type ServiceEvent } from '../language/mapping/callback.ts'
import { type CallbackAccount, explainCallback } from '../language/mapping/explain.ts'
import { replyText } from '../language/text/decode.ts'
import { isObject } from '../language/text/json.ts'
import { partsOfEvent } from '../state/events/receive.ts'
import type { ExplainingRooms } from './verb.ts'

/** The translation of an event, explained; nothing was delivered. */
interface EventDryRun extends CallbackAccount {
  readonly callback: string
  readonly event: ServiceEvent
  /** The body of a delivery in each format. */
  readonly bodies: { readonly json: Readonly<Record<string, string>>; readonly form: string }
}

/** Explains how a caller is notified of an event: the one that was sent, or the declared example. */
export function dryRunEvent(bytes: Buffer, name: string, { catalog, settings }: ExplainingRooms): EventDryRun {
  const compiled = catalog.callbackOf(name)
  if (!compiled) throw gatewayError('path-unknown/event', {})
  const { example } = compiled.callback
  const event = eventIn(bytes.length === 0 ? example : readJsonValue(replyText(bytes)), name, example)
  const { v1, ...account } = explainCallback(compiled, event, { settings, names: NO_NAMES, statuses: eventStatuses })
  return {
    callback: compiled.callback.name,
    event,
    bodies: { json: v1, form: String(new URLSearchParams(v1)) },
    ...account,
  }
}

/** Reads an event like one that is received; the example fills in the id and the date. */
function eventIn(sent: unknown, event: string, { shipment_id, event_date }: ServiceEvent): ServiceEvent {
  if (!isObject(sent)) throw gatewayError('body-unreadable/event', {})
  const { spelled, date, data, fault } = partsOfEvent({ shipment_id, event_date, ...sent, event })
  if (fault) throw gatewayError('body-unreadable/event', {})
  return { shipment_id: spelled, event, event_date: date, ...(data !== null && { data }) }
}
