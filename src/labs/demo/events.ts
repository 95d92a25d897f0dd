import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import type { DemoShipment } from './bodies.ts'

/** The nine kinds of webhook. */
type EventName =
  | 'shipment.created'
  | 'shipment.modified'
  | 'shipment.assigned'
  | 'shipment.picked_up'
  | 'shipment.delivered'
  | 'shipment.canceled_by_carrier'
  | 'shipment.canceled'
  | 'shipment.rate_approved'
  | 'shipment.bol_available'

/** The payload of a webhook. */
export interface DemoEvent {
  shipment_id: string
  event: EventName
  event_date: string
  data?: object
}

/** Sends an event about a shipment; `before` is what a change has replaced. */
export type Announce = (event: EventName, shipmentId: string, before?: DemoShipment) => void

/** The attempts for each event, the delay between them, and the time-out of each. */
export interface EventRetry {
  attempts: number
  delayMs: number
  timeoutMs?: number
}

/** Sends an event again and again until it is accepted. `attempted` gets the status of each attempt, if it was answered in time. */
export async function sendEvent(
  url: string,
  event: DemoEvent,
  { attempts, delayMs, timeoutMs = 30_000 }: EventRetry,
  closing: AbortSignal,
  attempted: (status: number | undefined) => void = () => {},
): Promise<void> {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (attempt > 1) await pause(delayMs, undefined, { signal: closing, ref: false }).catch(() => undefined)
    if (closing.aborted) return
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), closing])
    const headers = { 'content-type': 'application/json' }
    const status = await request(url, { method: 'POST', headers, body: JSON.stringify(event), signal })
      .then(({ statusCode, body }) => body.dump().then(() => statusCode))
      .catch(() => undefined)
    if (closing.aborted) return
    attempted(status)
    if (status !== undefined && status >= 200 && status < 300) return
  }
}
