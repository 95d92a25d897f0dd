import { accessDeviations } from './access-deviations.ts'
import type { Call, Deviation, Kind } from './deviation.ts'
import { quoteDeviations } from './quote-deviations.ts'
import { answer, type Reply, type SandboxRequest } from './service.ts'
import { shipmentDeviations } from './shipment-deviations.ts'
import type { SandboxState } from './state.ts'
import { legacyName } from './version-1.ts'

const DEVIATIONS = { ...accessDeviations, ...quoteDeviations, ...shipmentDeviations }

/** The name of a way in which the stand-in behaves otherwise than the service is assumed to. */
export type DeviationName = keyof typeof DEVIATIONS

export const deviationNames = Object.keys(DEVIATIONS) as readonly DeviationName[]

/** Answers a request as the service does, apart from the deviations that are set. */
export function answerDeviating(state: SandboxState, request: SandboxRequest): Reply {
  const { deviations } = state.settings
  if (deviations.length === 0) return answer(state, request)
  let call: Call = { ...request, ...kindOf(request), state }
  // A widening: the table's own type has no member that some entries lack.
  const all = deviations.map((name): Deviation => DEVIATIONS[name]).filter(({ on }) => on?.includes(call.kind) ?? true)
  for (const { before } of all) {
    const changed = before?.(call)
    if (changed && 'status' in changed) return changed
    call = { ...call, ...changed }
  }
  return all.reduce((reply, { after }) => after?.(reply, call) ?? reply, answer(state, call))
}

function kindOf({ method, target }: SandboxRequest): Pick<Call, 'kind' | 'id'> {
  const [path = ''] = target.split('?', 1)
  const [, version, collection = '', id = '', verb] = path.split('/').map(decoded)
  return { kind: kindAt(method, path, version, collection, id, verb), id }
}

function kindAt(method: string, path: string, version = '', collection = '', id = '', verb?: string): Kind {
  if (path === '/oauth2/token') return 'token'
  if (legacyName(path)) return 'version 1'
  if (version !== 'v2') return 'other'
  if (collection === 'quote') return verb === 'approve' ? 'approval' : id === '' ? 'quote' : 'quote update'
  if (collection !== 'shipments' && collection !== 'shipment') return 'other'
  if (method === 'POST') return 'booking'
  return method === 'GET' ? 'read' : method === 'PUT' ? 'update' : 'cancellation'
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
