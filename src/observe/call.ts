import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodyMemory } from '../body/bytes.ts'
import type { Config } from '../config/config.ts'

/** What a request holds of what there is for all of them; `callers/shares.ts` decides how much. */
export interface Share extends BodyMemory {
  /** Throws if the request would have no room even if it were whole. */
  readonly admit: () => void
  /** Takes the memory for a body that is passed on while it arrives. */
  readonly streamBody: (lengthBytes: number) => void
  /** Counts the call as under way from now on; throws if there are too many. */
  readonly enter: () => void
  /** Takes the memory for a long answer, until its reader has it or is gone. */
  readonly holdAnswer: (bytes: number) => void
  /** Returns all that the request holds, but for its answer. */
  readonly leave: () => void
}

/** The share of a request that nothing limits. */
export const unlimitedShare: Share = {
  admit: () => {},
  expectBody: () => {},
  takeBody: () => {},
  returnBody: () => {},
  streamBody: () => {},
  enter: () => {},
  holdAnswer: () => {},
  leave: () => {},
}

/** One call while it is under way: what the log line, the error shape and the headers are made from. */
export interface Call {
  readonly id: string
  readonly startedAt: number
  /** The route as the house names it, never the path as it was sent. */
  readonly route: string
  readonly share: Share
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
export function beginCall(incoming: IncomingMessage, route: string, share = unlimitedShare): Call {
  const sent = incoming.headers['x-request-id']
  return {
    id: typeof sent === 'string' && PLAIN_ID.test(sent) ? sent : crypto.randomUUID(),
    startedAt: performance.now(),
    route,
    share,
    own: '',
    action: undefined,
    tenant: undefined,
    errorStatus: undefined,
    unknownFields: 0,
    error: undefined,
    cause: undefined,
  }
}
