import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../observe/call.ts'

/** The reason why a listener refuses new calls. */
export type Unavailable = 'draining'

/** The values that Hono carries with a request. Its variables would cost every call a map. */
export interface Env {
  Bindings: {
    readonly incoming: IncomingMessage
    readonly outgoing: ServerResponse
    readonly unavailable: Unavailable | undefined
    readonly call: Call
  }
}
