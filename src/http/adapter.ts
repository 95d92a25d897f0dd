import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import { beginCall } from '../observe/call.ts'
import type { Env, Unavailable } from './env.ts'
import type { RequestHandler } from './listener.ts'
import { type AnswerRefusal, refusals, refuse } from './refusals.ts'

/** Makes the request handler of an app whose handlers read `c.env.incoming` and write to `c.env.outgoing`. */
export function createRequestHandler(app: Pick<Hono<Env>, 'fetch'>, answerRefusal: AnswerRefusal): RequestHandler {
  let unavailable: Unavailable | undefined
  let received: readonly [IncomingMessage, ServerResponse] | undefined
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
    { hostname: 'transload', autoCleanupIncoming: false, errorHandler: refuseMalformed },
  )
  return (incoming, outgoing, now) => {
    // The adapter makes a `Request`, and calls the app, before it returns.
    unavailable = now
    received = [incoming, outgoing]
    void listener(incoming, outgoing)
    received = undefined
  }

  /** Answers a request that cannot become a `Request`, such as one with an unusual `Host`. */
  function refuseMalformed(): Response | undefined {
    // Any later failure is the app's, and of a request that is not known here.
    if (!received) return new Response(undefined, { status: 500 })
    const [incoming, outgoing] = received
    refuse(outgoing, answerRefusal(refusals.malformed, incoming))
    return undefined
  }
}
