/** Promise: gateways that share a store share numbers and turns (contract, sections 4 and 6). */

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { approve, quote } from './program.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

const ROUNDS = 15

/** Two gateways, each with a store on the same data, before one service. */
async function twoGateways(storeUrl: string): Promise<readonly [TestGateway, TestGateway]> {
  // The service makes no shipment of an approved quote, because an approval of a booked one would be answered from the booking.
  const one = await startGateway({ store: await openStore(storeUrl), sandbox: { approvalBooks: false } })
  const other = await startGateway({ store: await openStore(storeUrl), serviceUrl: one.sandbox.url })
  return [one, other]
}

const read = (gateway: { readonly url: string }, query: Record<string, string>) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(query)}`)

/** The path of the last request to the service that was not a read. */
const lastPath = ({ sandbox }: TestGateway) => sandbox.requests.findLast(({ method }) => method !== 'GET')?.path

describe.each([
  ['PostgreSQL', () => server.createDatabase()],
  ['a file', async () => join(folder(), 'store.db')],
])('two gateways on %s', (_, storeUrl) => {
  test('whichever of two wins that use a number at the same time, both agree', async () => {
    const [one, other] = await twoGateways(await storeUrl())
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all([one, other, one, other].map((gateway) => quote(gateway, 'W-RACE')))
      expect((await approve(one, 'W-RACE')).status).toBe(200)
      const first = lastPath(one)
      expect((await approve(other, 'W-RACE')).status).toBe(200)
      expect(lastPath(one)).toBe(first)
    }
  })

  test('updates of one shipment at both gateways keep both changes, although the service sends no ETag', async () => {
    const [one, other] = await twoGateways(await storeUrl())
    const ReferenceNumber = 'REF-BOTH'
    expect((await post(one, '/createShipment.php', { ...bookingExample, ReferenceNumber })).status).toBe(200)
    one.sandbox.fail({ kind: 'delay', ms: 5, times: 'always' })
    for (let round = 0; round < ROUNDS; round += 1) {
      const changes = [{ PickupName: `Gate ${round}` }, { DeliveryName: `Ramp ${round}` }, { Model: `Model ${round}` }]
      const answers = await Promise.all(
        changes.map((change, index) =>
          post(index % 2 === 0 ? one : other, '/updateShipment.php', { ReferenceNumber, ...change }),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      expect((await read(other, { ReferenceNumber })).json).toMatchObject(Object.assign({}, ...changes))
    }
  })
})
