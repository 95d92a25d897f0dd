import { GatewayError } from './errors.ts'
import type { Answer } from './http/answers.ts'
import type { Version2 } from './intake.ts'
import type { Action } from './mapping/action.ts'
import type { Endpoint } from './mapping/catalog.ts'
import { valueAt } from './mapping/paths.ts'
import type { Sending, Service, ServiceRequest } from './service/service.ts'
import type { UpstreamReply } from './service/upstream.ts'
import { pathSegment } from './xref/find.ts'

/** Hands a body that is version 2 already to the matching endpoint, and the service's own reply back. */
export async function handOver(
  intake: Version2,
  endpoint: Endpoint,
  sending: Sending,
  service: Service,
): Promise<Answer> {
  const { action, request } = handedOver(intake, endpoint)
  return unchanged(await service.send(request, { ...sending, alone: action.service.once ?? false }))
}

/** The action that such a body means on this path, and the request that it makes. */
export function handedOver(intake: Version2, endpoint: Endpoint): { action: Action; request: ServiceRequest } {
  const { action } = endpoint.choose(undefined) ?? {}
  if (!action) throw new GatewayError('path-unknown', 'Version 2 has no endpoint for this path. Call version 2 itself.')
  const { method, path } = action.service
  const id = valueAt(intake.body, ['id'])
  if (action.finds && (typeof id !== 'string' || id.trim() === '')) {
    throw new GatewayError(
      'number-missing',
      `The body has no id. Send the id of the ${action.finds.kind} that is meant.`,
    )
  }
  const request = {
    method,
    path: typeof id === 'string' ? path.replace(/\{\w+\}/, pathSegment(id)) : path,
    namesAnId: action.finds !== undefined,
    ...((method === 'POST' || method === 'PUT') && { body: intake.text }),
  }
  return { action, request }
}

/** Spelled as the gateway spells its own, for a header in two spellings would be sent twice. */
const HANDED_BACK = ['Content-Type', 'Content-Encoding', 'ETag', 'Location', 'Retry-After', 'WWW-Authenticate'] as const

function unchanged({ status, headers, body }: UpstreamReply): Answer {
  const kept = HANDED_BACK.flatMap((name) => {
    const value = headers[name.toLowerCase()]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return { status, headers: Object.fromEntries(kept), body }
}
