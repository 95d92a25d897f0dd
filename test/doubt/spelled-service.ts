import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** How a service reads the paths of requests. */
interface Reading {
  /** True for a service that tells the case of words and ids apart, and knows no parameters. @default false */
  readonly isStrict?: boolean
  /** True for a service that answers 204 to every `DELETE`. @default false */
  readonly deletesAnything?: boolean
}

/** A service of quotes and shipments, which reads paths strictly or leniently. An approval makes a shipment of the quote's id. */
export async function openSpelledService({ isStrict = false, deletesAnything = false }: Reading = {}) {
  const shipments = new Map<string, Record<string, unknown>>()
  const requests: string[] = []
  let made = 0
  function newId(): string {
    made += 1
    return `fc381972-aaaa-4bbb-8ccc-${String(made).padStart(12, '0')}`
  }

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body?: object]> {
    const body = JSON.parse((await text(request)) || '{}')
    const path = (request.url ?? '').split('?')[0] ?? ''
    requests.push(`${request.method} ${path}`)
    const read = isStrict
      ? path
      : decodeURIComponent(path)
          .toLowerCase()
          .replace(/;[^/]*/g, '')
    const [, , thing, id = '', verb] = read.split('/')
    if (thing === 'quote') {
      if (verb !== 'approve') return [200, { shipment_id: newId(), price: 100 }]
      shipments.set(id, { id, number: 'SH1', status: 'new', pickup: { id: 'p' }, vehicles: [{ id: 'v' }] })
      return [200, { shipment_id: id, price: 100 }]
    }
    if (thing !== 'shipments') return [404, {}]
    if (request.method === 'POST') {
      const shipment: Record<string, unknown> = { ...body, id: newId(), number: `SH${made}`, status: 'new' }
      shipments.set(String(shipment['id']), shipment)
      return [201, shipment]
    }
    const shipment = shipments.get(id)
    if (request.method === 'DELETE') {
      if (shipment) shipment['status'] = 'canceled'
      if (deletesAnything) return [204]
    }
    if (!shipment) return [404, { message: 'not found' }]
    if (request.method === 'PUT') {
      // Slow enough for a second update to read what the first one is about to change.
      await new Promise((resolve) => setImmediate(resolve))
      Object.assign(shipment, body)
    }
    return [200, shipment]
  }

  const server = createServer(async (request, reply) => {
    const [status, body] = await answer(request)
    reply.writeHead(status, body && { 'content-type': 'application/json' }).end(body && JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo
  const live = () => [...shipments.values()].filter(({ status }) => status !== 'canceled')
  return { url: `http://127.0.0.1:${port}`, shipments, requests, live }
}
