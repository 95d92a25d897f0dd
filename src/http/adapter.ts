import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import { beginCall } from '../observe/call.ts'
import type { Env, Unavailable } from './env.ts'
import type { RequestHandler } from './listener.ts'
import { malformedResponse } from './refusals.ts'

/** Makes the request handler of an app whose handlers read `c.env.incoming` and write to `c.env.outgoing`. */
export function createRequestHandler(app: Pick<Hono<Env>, 'fetch'>): RequestHandler {
  let unavailable: Unavailable | undefined
  const listener = getRequestListener(
    (request, bindings) => {
      // The listener speaks HTTP/1, so the bindings are those of `node:http`.
      const { incoming, outgoing } = bindings as Pick<Env['Bindings'], 'incoming' | 'outgoing'>
      const answered = app.fetch(request, { incoming, outgoing, unavailable, call: beginCall(incoming) })
      // If even the error reply failed, the connection closes.
      if (answered instanceof Promise) answered.catch(() => outgoing.destroy())
      // The app writes to `outgoing`. Nothing waits for it here: each promise in a row costs every call.
      return RESPONSE_ALREADY_SENT
    },
    // An HTTP/1.0 request without Host needs a hostname. The listener discards the rest of a body itself.
    { hostname: 'transload', autoCleanupIncoming: false, errorHandler: malformedResponse },
  )
  return (incoming, outgoing, now) => {
    // The adapter calls the app before it returns.
    unavailable = now
    void listener(incoming, outgoing)
  }
}
