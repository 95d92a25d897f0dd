import { type Found, NOTHING_FOUND } from '../../src/calls/find.ts'
import { type Plan, planCall } from '../../src/calls/plan.ts'
import { version1 } from '../../src/calls/read-request.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import type { CompiledAction } from '../../src/mapping/compile.ts'
import type { FieldValue } from '../../src/mapping/fields.ts'
import type { Settings } from '../../src/mapping/row.ts'
import type { UpstreamReply } from '../../src/service/exchange.ts'

/** The built-in declarations. */
export const catalog = await loadMappings()

export const SETTINGS: Settings = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
}

/** Returns a built-in action. */
export function actionNamed(name: string): CompiledAction {
  const compiled = catalog.actions.get(name)
  if (!compiled) throw new Error(`there is no action ${name}`)
  return compiled
}

/** Returns a classified request for a built-in action, or for another one. */
export function requestOf(action: string | CompiledAction, fields: Readonly<Record<string, FieldValue>>) {
  const compiled = typeof action === 'string' ? actionNamed(action) : action
  return version1(compiled, { entries: Object.entries(fields), format: 'json', text: '' })
}

interface PlanOptions {
  readonly found?: Partial<Found>
  readonly settings?: Partial<Settings>
}

/** Plans such a request. */
export function planOf(
  action: string | CompiledAction,
  fields: Readonly<Record<string, FieldValue>>,
  { found, settings }: PlanOptions = {},
): Plan {
  return planCall(requestOf(action, fields), { ...NOTHING_FOUND, ...found }, { ...SETTINGS, ...settings })
}

/** A reply of the service; a text is its body as it is. */
export function replyOf(body: unknown, status = 200, headers: UpstreamReply['headers'] = {}): UpstreamReply {
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
  return { status, headers, body: Buffer.from(text) }
}
