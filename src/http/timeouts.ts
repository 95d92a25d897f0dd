/** The timeouts of a listener, in milliseconds. */
export interface ListenerTimeouts {
  /** For the head of a request, and for a TLS handshake. */
  readonly headersMs: number
  /** For a whole request. */
  readonly requestMs: number
  /** For a caller to read a reply that is ready. */
  readonly replyMs: number
  /** Between two checks of the timeouts above. */
  readonly checkMs: number
  /** For a refused caller to read the refusal; further input is discarded. */
  readonly lingerMs: number
  /** For the first request on a new connection while the listener closes. */
  readonly lastRequestMs: number
  /** Between two checks of the certificate's files. */
  readonly certificateMs: number
}

/** The timeouts of the public and the admin listener. */
export const LISTENER_TIMEOUTS: ListenerTimeouts = {
  headersMs: 5_000,
  requestMs: 15_000,
  replyMs: 15_000,
  checkMs: 1_000,
  lingerMs: 1_000,
  lastRequestMs: 500,
  certificateMs: 2_000,
}
