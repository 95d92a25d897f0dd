import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { serviceDate } from './service-date.ts'
import type { Changed, EventName, SandboxSettings, ServiceEvent } from './state.ts'

/** One attempt at delivering an event. */
export interface WebhookDelivery {
  url: string
  event: ServiceEvent
  /** Counts from 1. */
  attempt: number
  /** The receiver's status; undefined if it did not answer. */
  status: number | undefined
  /** The status is 2xx, and came in time. */
  delivered: boolean
  at: Date
}

/** Sends webhooks. */
export interface Webhooks {
  /** Every attempt so far. */
  deliveries: WebhookDelivery[]
  announce(event: EventName, shipmentId: string, data?: Record<string, Changed>): void
  /** Resolves after the next attempt that matches. */
  next(matches?: (delivery: WebhookDelivery) => boolean): Promise<WebhookDelivery>
  close(): Promise<void>
}

const TIMEOUT_MS = 30_000

/** Delivers each event on its own: a failing one does not delay the others. */
export function webhooks(settings: SandboxSettings, begin: () => () => void, closing: AbortSignal): Webhooks {
  const deliveries: WebhookDelivery[] = []
  let waiting: { matches: (delivery: WebhookDelivery) => boolean; resolve: (delivery: WebhookDelivery) => void }[] = []
  // Separate connections, which close with the stand-in.
  const agent = new Agent()

  async function deliver(url: string, event: ServiceEvent): Promise<void> {
    const { attempts, delayMs } = settings.webhookRetry
    for (let attempt = 1; ; attempt += 1) {
      const at = settings.clock()
      const status = await post(url, event)
      if (closing.aborted) return
      const delivered = status !== undefined && status >= 200 && status < 300
      note({ url, event, attempt, status, delivered, at })
      if (delivered || attempt >= attempts) return
      await pause(delayMs, undefined, { signal: closing, ref: false }).catch(() => undefined)
    }
  }

  async function post(url: string, event: ServiceEvent): Promise<number | undefined> {
    const timeout = AbortSignal.timeout(settings.webhookRetry.timeoutMs ?? TIMEOUT_MS)
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(event),
        dispatcher: agent,
        signal: AbortSignal.any([timeout, closing]),
      })
      await body.dump()
      return statusCode
    } catch {
      return undefined
    }
  }

  function note(delivery: WebhookDelivery): void {
    deliveries.push(delivery)
    const matched = new Set(waiting.filter(({ matches }) => matches(delivery)))
    waiting = waiting.filter((waiter) => !matched.has(waiter))
    for (const { resolve } of matched) resolve(delivery)
  }

  return {
    deliveries,
    announce(event, shipment_id, data) {
      const { webhookUrl, clock } = settings
      if (webhookUrl === undefined) return
      const payload = { shipment_id, event, event_date: serviceDate(clock()), ...(data && { data }) }
      void deliver(webhookUrl, payload).finally(begin())
    },
    next(matches = () => true) {
      return new Promise((resolve) => waiting.push({ matches, resolve }))
    },
    close: () => agent.destroy(),
  }
}
