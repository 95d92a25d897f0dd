import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config } from '../config/config.ts'

/** One call while it is under way: what the log line, the error shape and the headers are made from. */
export interface Call {
  readonly id: string
  readonly startedAt: number
  /** The route as the house names it, never the path as it was sent. */
  readonly route: string
  /** The caller's own `ShipmentNumber`, echoed in an error on a quote path. */
  own: string
  /** The action, once it is known. */
  action: string | undefined
  tenant: string | undefined
  /** Whether an error is to be sent as 200; undefined until the caller is known. */
  errorStatus: Config['ERROR_STATUS'] | undefined
  /** How many fields no mapping knows. */
  unknownFields: number
  /** What went wrong, as its code. */
  error: string | undefined
  /** Whether the credential was missing or refused, whatever status the answer has. */
  unauthorized: boolean
  /** What was thrown, where it was a fault of the gateway. */
  cause: unknown
}

/** Why a listener would rather not take a call; who only asks how the gateway does is answered all the same. */
export type Unwelcome = 'overloaded' | 'draining'

/** What Hono carries along. */
export interface Env {
  Bindings: { incoming: IncomingMessage; outgoing: ServerResponse; unwelcome?: Unwelcome | undefined }
  Variables: { call: Call }
}

const PLAIN_ID = /^[A-Za-z0-9._-]{1,64}$/

/** A call that begins now; a caller's own request id is kept if it is harmless. */
export function beginCall(incoming: IncomingMessage, route: string): Call {
  const sent = incoming.headers['x-request-id']
  return {
    id: typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : crypto.randomUUID(),
    startedAt: performance.now(),
    route,
    own: '',
    action: undefined,
    tenant: undefined,
    errorStatus: undefined,
    unknownFields: 0,
    error: undefined,
    unauthorized: false,
    cause: undefined,
  }
}
