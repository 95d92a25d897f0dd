import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { eventStatuses } from '../../mappings/shipment-event.ts'
import { readBytes } from '../body/bytes.ts'
import { readJsonValue } from '../body/read.ts'
import { gatewayError } from '../errors.ts'
import { NO_NAMES, type ServiceEvent } from '../mapping/callback.ts'
import { type ExplainedCallback, explainCallback } from '../mapping/explain-callback.ts'
import type { Call } from '../observe/call.ts'
import type { DryRunDeps } from './dry-run.ts'

/** The translation of an event, explained; nothing was delivered. */
export interface EventDryRun extends Omit<ExplainedCallback, 'v1'> {
  readonly callback: string
  readonly event: ServiceEvent
  /** The body of a delivery in each format. */
  readonly bodies: { readonly json: Readonly<Record<string, string>>; readonly form: string }
}

const eventBody = z.object({
  shipment_id: z.string().optional(),
  event_date: z.string().optional(),
  data: z.unknown().optional(),
})

/** Explains the form in which a caller hears of an event: the one that was sent, or the declared example. */
export async function dryRunEvent(
  incoming: IncomingMessage,
  name: string,
  call: Call,
  { catalog, bodyLimitBytes, settings }: Pick<DryRunDeps, 'catalog' | 'bodyLimitBytes' | 'settings'>,
): Promise<EventDryRun> {
  const compiled = catalog.callbackOf(name)
  if (!compiled) throw gatewayError('path-unknown/event', {})
  const { example } = compiled.callback
  const bytes = await readBytes(incoming, bodyLimitBytes, call.share)
  call.share.enter()
  const event = bytes.length === 0 ? { ...example, event: name } : eventIn(bytes, name, example)
  const { v1, ...account } = explainCallback(compiled, event, { settings, names: NO_NAMES, statuses: eventStatuses })
  return {
    callback: compiled.callback.name,
    event,
    bodies: { json: v1, form: String(new URLSearchParams(v1)) },
    ...account,
  }
}

/** Reads an event; the example fills in the id and the date. */
function eventIn(bytes: Buffer, event: string, example: ServiceEvent): ServiceEvent {
  const sent = eventBody.safeParse(readJsonValue(bytes.toString('utf8')))
  if (!sent.success) throw gatewayError('body-unreadable/event', {})
  const { shipment_id = example.shipment_id, event_date = example.event_date, data } = sent.data
  return { shipment_id, event, event_date, ...(data !== undefined && { data }) }
}
