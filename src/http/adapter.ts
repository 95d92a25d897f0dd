import type { Hono } from 'hono'
import type { Env } from './env.ts'
import type { RequestHandler } from './listener.ts'

/**
 * Makes the request handler of an app whose handlers read `c.env.incoming` and write their answers to `c.env.outgoing`.
 * The adapter of Hono makes a `Request` and a `Response` for every call, which nothing would read (docs/decisions/0014).
 */
export function createRequestHandler(app: Pick<Hono<Env>, 'fetch'>): RequestHandler {
  return async (incoming, outgoing, unavailable) => {
    // Hono would answer a HEAD with another Response, made from that of the GET. Node leaves out the body by itself.
    const method = incoming.method === 'HEAD' ? 'GET' : incoming.method
    try {
      // The method is all that Hono reads of a request: the path comes from `getPath`.
      await app.fetch({ method } as Request, { incoming, outgoing, unavailable })
    } catch {
      // Not even the error could be answered.
      outgoing.destroy()
    }
  }
}
