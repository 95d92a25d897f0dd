/** Promise: a name means the thing of its own caller (contract, section 6). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { runs } from '../size.ts'
import { approve, quote } from './program.ts'

describe('two clients', () => {
  const CLIENTS = ['acme', 'zenith'] as const
  type Client = (typeof CLIENTS)[number]

  /** Any name that a caller could send: blanks around it are cut off on the way in. */
  const names = fc
    .oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), fc.string({ minLength: 1, maxLength: 12 }))
    .map((text) => text.replaceAll('\0', '').trim())
    .filter((text) => text !== '')
  /** Few names, so both clients often use the same. */
  const fewNames = fc.uniqueArray(names, { minLength: 1, maxLength: 3 })
  const step = fc.record({
    client: fc.constantFrom(...CLIENTS),
    does: fc.constantFrom('quote', 'approve', 'book', 'read'),
    nth: fc.nat(2),
  })

  async function take(gateway: TestGateway, client: Client, does: string, name: string): Promise<number> {
    const authorization = basic(client)
    if (does === 'quote') return (await quote(gateway, name, {}, client)).status
    if (does === 'approve') return (await approve(gateway, name, client)).status
    const named = { ReferenceNumber: name }
    if (does === 'read')
      return (await get(gateway, `/getShipment.php?${new URLSearchParams(named)}`, { authorization })).status
    return (await post(gateway, '/createShipment.php', { ...bookingExample, ...named }, { authorization })).status
  }

  test('a name means the thing of its own client, even if the other uses the same name', async () => {
    const credentials = Object.fromEntries(CLIENTS.map((client) => [client, 'demo-secret']))
    await fc.assert(
      fc.asyncProperty(fewNames, fc.array(step, { minLength: 6, maxLength: 16 }), async (pool, steps) => {
        const gateway = await startGateway({
          sandbox: { credentials, approvalBooks: false },
          env: { V2_SHIPMENT_PATH: '/v2/shipments' },
        })
        const { sandbox } = gateway
        /** The ids of each client's names, as the service made them. */
        const ids = new Map<string, string>()
        const key = (client: Client, kind: string, name: string) => JSON.stringify([client, kind, name])
        const approved = new Set<string>()
        for (const { client, does, nth } of steps) {
          const name = pool[nth % pool.length] ?? ''
          sandbox.requests.length = 0
          const status = await take(gateway, client, does, name)
          const paths = sandbox.requests.map(({ path }) => path)
          if (does === 'quote') {
            expect(status).toBe(200)
            ids.set(key(client, 'quote', name), [...sandbox.quotes.keys()].at(-1) ?? '')
          } else if (does === 'book') {
            expect(status).toBe(200)
            // A booking that was made already is answered again, and nothing is sent.
            if (paths.length > 0) ids.set(key(client, 'shipment', name), [...sandbox.shipments.keys()].at(-1) ?? '')
          } else if (does === 'approve') {
            const id = ids.get(key(client, 'quote', name))
            const booked = ids.get(key(client, 'shipment', name))
            // A quote whose name is booked is not approved again: the answer tells of the shipment.
            const approval = `/v2/quote/${id}/approve`
            // The service is asked for the shipment that the approval made, and before a second one for that of the first.
            const read = `/v2/shipments/${id}`
            const asks = approved.has(id ?? '') ? [read, approval, read] : [approval, read]
            const sent = booked === undefined ? asks : [`/v2/shipments/${booked}`]
            expect({ status, paths }).toEqual(
              id === undefined ? { status: 404, paths: [] } : { status: 200, paths: sent },
            )
            if (booked === undefined && id !== undefined) approved.add(id)
          } else {
            const id = ids.get(key(client, 'shipment', name)) ?? ids.get(key(client, 'quote', name))
            if (id !== undefined) expect(paths).toEqual([`/v2/shipments/${id}`])
            else expect(status).toBe(404)
          }
          // Every id in a request belongs to the client that sent it.
          const owners = [...sandbox.quotes.values()].map((one) => [one.shipment_id, one.client] as const)
          for (const [id, owner] of owners) {
            if (paths.some((path) => path.includes(id))) expect(owner).toBe(client)
          }
        }
      }),
      { numRuns: runs(4, 15) },
    )
  }, 120_000)
})
