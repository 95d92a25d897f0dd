import type { IncomingMessage } from 'node:http'
import type { Answer } from '../answer.ts'
import { readBytes } from '../body/bytes.ts'
import { type Credentials, type EventRecipient, recipientOf } from '../callers/caller.ts'
import { gatewayError } from '../errors.ts'
import { toGatewayError } from '../http/answers.ts'
import { webhookSecret } from '../http/routing.ts'
import type { Call } from '../observe/call.ts'
import type { Logger } from '../observe/log.ts'
import type { Events } from '../store/events.ts'
import { verifySignature } from '../webhook-signature.ts'
import { EVENT_LIMIT_BYTES, type ReceivedEvent, readEvent } from './event.ts'

/** The ends of a delivery, for the metrics. */
export const RECEIPTS = ['stored', 'duplicate', 'wrong-secret', 'wrong-signature', 'malformed', 'failed'] as const
export type Receipt = (typeof RECEIPTS)[number]

export interface ReceiveDeps {
  readonly credentials: Pick<Credentials, 'eventRecipients'>
  readonly store: Pick<Events, 'takeEvent'>
  readonly bodyLimitBytes: number
  /** Throws if a source sends too many events. */
  readonly limitSource: (incoming: IncomingMessage) => void
  /** Called with an event that is durable. */
  readonly onStored: (recipient: EventRecipient, event: ReceivedEvent) => void
  readonly onReceipt: (receipt: Receipt, event?: string) => void
  readonly log: Logger
}

/** Receives a delivery of the service; returns undefined for a wrong secret, without reading the body. */
export type ReceiveEvent = (incoming: IncomingMessage, call: Call) => Promise<Answer | undefined>

/** Makes the receiver of events. It answers 2xx once the event is durable, and not before. */
export function createReceiveEvent(deps: ReceiveDeps): ReceiveEvent {
  const bodyLimitBytes = Math.min(EVENT_LIMIT_BYTES, deps.bodyLimitBytes)
  return async (incoming, call) => {
    const recipient = recipientOf(webhookSecret(incoming.url ?? '') ?? '', deps.credentials.eventRecipients())
    if (!recipient) {
      deps.onReceipt('wrong-secret')
      return undefined
    }
    call.tenant = recipient.tenant
    try {
      return await receive(recipient, incoming, call)
    } catch (error) {
      deps.onReceipt(receiptOf(error))
      throw error
    }
  }

  async function receive(recipient: EventRecipient, incoming: IncomingMessage, call: Call): Promise<Answer> {
    deps.limitSource(incoming)
    const body = await readBytes(incoming, bodyLimitBytes, call.share)
    call.share.enter()
    requireSignature(recipient, incoming, body)
    const received = readEvent(body)
    const { spelled: _, ...event } = received
    const { tenant, hasCallback: deliver } = recipient
    const { taken, id } = await deps.store.takeEvent({ ...event, tenant, deliver })
    deps.onReceipt(taken ? 'stored' : 'duplicate', event.event)
    deps.onStored(recipient, received)
    return { status: 200, headers: {}, body: JSON.stringify({ id, duplicate: !taken }) }
  }

  function requireSignature({ tenant, signingKeys }: EventRecipient, { headers }: IncomingMessage, body: Buffer): void {
    if (signingKeys.length === 0) return
    const verdict = verifySignature(signingKeys, headers, body, Math.floor(Date.now() / 1000))
    if (verdict === 'valid') return
    const fault = verdict.replace('-', ' ')
    deps.log.warn({ tenant, fault }, 'an event is refused because of its signature')
    throw gatewayError('signature-wrong', { fault })
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
