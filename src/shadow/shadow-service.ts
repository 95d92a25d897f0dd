import type { Service } from '../service/service.ts'
import type { Upstream } from '../service/upstream.ts'

/**
 * Makes a client that sends requests as the live one spells them, and changes nothing that live calls depend on: it has
 * connections of its own, repeats nothing, opens no circuit, and learns nothing about credentials.
 */
export function createShadowService(
  { outgoing }: Pick<Service, 'outgoing'>,
  upstream: Upstream,
): Pick<Service, 'send' | 'noteAccepted'> {
  return {
    noteAccepted: () => undefined,
    send: async (request, { account, deadline, requestId }) => {
      const { method, path, headers, body } = outgoing(request, account)
      const authorization = await account.authorization(deadline)
      return upstream.call({
        method,
        origin: account.origin,
        path: account.prefix + path,
        headers: { ...headers, authorization, 'x-request-id': requestId },
        body,
        pool: account.pool(),
        deadline,
      })
    },
  }
}
