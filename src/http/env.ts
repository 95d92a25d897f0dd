import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../observe/call.ts'

/** Why a listener takes no more calls. */
export type Unavailable = 'draining'

/** What Hono carries along with a request. */
export interface Env {
  Bindings: {
    readonly incoming: IncomingMessage
    readonly outgoing: ServerResponse
    readonly unavailable: Unavailable | undefined
  }
  Variables: { readonly call: Call }
}
