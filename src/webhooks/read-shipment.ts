import type { OwnCaller } from '../callers/caller.ts'
import { shipmentRead } from '../calls/service-request.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import type { Service } from '../service/service.ts'

/** Reads the shipment of an event, with the credential of the tenant. */
export function readShipment(
  name: string,
  { account }: OwnCaller,
  { service, timeoutMs }: { readonly service: Pick<Service, 'send'>; readonly timeoutMs: number },
): Promise<UpstreamReply> {
  const deadline = performance.now() + timeoutMs
  return service.send(shipmentRead(name), { account, requestId: crypto.randomUUID(), deadline })
}
