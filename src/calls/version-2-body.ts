import { GatewayError } from '../errors.ts'
import type { Answer } from '../http/answers.ts'
import type { Action } from '../mapping/action.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import { valueAt } from '../mapping/paths.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import type { ServiceRequest } from '../service/service.ts'
import { pathSegment } from './find.ts'
import type { Version2 } from './read-request.ts'

/** A body that is version 2 already, as it is handed over. */
export interface HandedOver {
  /** The action that such a body means on this path. */
  readonly action: Action
  readonly request: ServiceRequest
  /** The id in the body, if there is one. */
  readonly id: string | undefined
}

/** What is sent for such a body: it goes to the matching endpoint as it is. */
export function handedOver(intake: Version2, endpoint: Endpoint): HandedOver {
  const { action } = endpoint.choose(undefined) ?? {}
  if (!action) throw new GatewayError('path-unknown', 'Version 2 has no endpoint for this path. Call version 2 itself.')
  const { method, path } = action.service
  const sent = valueAt(intake.body, ['id'])
  const id = typeof sent === 'string' ? sent : undefined
  if (action.target && !id?.trim()) {
    throw new GatewayError(
      'number-missing',
      `The body has no id. Send the id of the ${action.target.kind} that is meant.`,
    )
  }
  const request = {
    method,
    path: id === undefined ? path : path.replace(/\{\w+\}/, pathSegment(id)),
    namesAnId: action.target !== undefined,
    ...((method === 'POST' || method === 'PUT') && { body: intake.text }),
  }
  return { action, request, id }
}

/** Spelled as the gateway spells its own, for a header in two spellings would be sent twice. */
const HANDED_BACK = ['Content-Type', 'Content-Encoding', 'ETag', 'Location', 'Retry-After', 'WWW-Authenticate'] as const

/** The service's own reply, as it is. */
export function unchanged({ status, headers, body }: UpstreamReply): Answer {
  const kept = HANDED_BACK.flatMap((name) => {
    const value = headers[name.toLowerCase()]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return { status, headers: Object.fromEntries(kept), body }
}
