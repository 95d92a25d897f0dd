import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import type { Env, Unavailable } from './env.ts'
import type { RequestHandler } from './listener.ts'
import { malformedResponse } from './refusals.ts'

/** Makes the request handler of an app whose handlers read `c.env.incoming` and write to `c.env.outgoing`. */
export function createRequestHandler(app: Pick<Hono<Env>, 'fetch'>): RequestHandler {
  let unavailable: Unavailable | undefined
  const listener = getRequestListener(
    async (request, bindings) => {
      // The listener speaks HTTP/1, so the bindings are those of `node:http`.
      const { incoming, outgoing } = bindings as Pick<Env['Bindings'], 'incoming' | 'outgoing'>
      try {
        await app.fetch(request, { incoming, outgoing, unavailable })
      } catch {
        // Even the error reply failed.
        outgoing.destroy()
      }
      // Always the same answer: for a HEAD, Hono makes another Response, which the adapter would write a second time.
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
