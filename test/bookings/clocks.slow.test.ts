import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { book, creations, expectBooked } from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'

/* Two gateways on one PostgreSQL; the clock of one is an hour ahead. */

const LONG_MS = 60_000
const HOUR_MS = 3_600_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

interface Pair {
  readonly right: TestGateway
  readonly ahead: { readonly url: string }
}

async function openPair(env: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const url = await server.createDatabase()
  const right = await startGateway({ store: await openStore(url), env })
  const nodeOptions = ['--import', join(import.meta.dirname, 'hour-ahead.ts')]
  const ahead = await startGatewayProcess({ storeUrl: url, serviceUrl: right.sandbox.url, nodeOptions, env })
  return { right, ahead }
}

const read = (gateway: { readonly url: string }, query: Record<string, string>) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(query)}`)

describe('a gateway whose clock is an hour ahead, and one whose clock is right', () => {
  test.each(['the right one', 'the one ahead'])(
    'make a booking without a reference once, whichever is first: %s',
    { timeout: LONG_MS },
    async (first) => {
      const { right, ahead } = await openPair({ DEDUPE_WINDOW: '10m' })
      const gateways = first === 'the right one' ? [right, ahead] : [ahead, right]
      const ids: string[] = []
      for (const gateway of [...gateways, ...gateways]) {
        const answer = await book(gateway, { ReferenceNumber: '' })
        ids.push(expectBooked(answer, answer.headers.has('idempotent-replayed')))
      }
      expect(new Set(ids).size).toBe(1)
      expect(creations(right)).toBe(1)
    },
  )

  test.each(['the right one', 'the one ahead'])(
    'agree on the newest shipment of a reference, whichever booked it last: %s',
    { timeout: LONG_MS },
    async (last) => {
      const { right, ahead } = await openPair()
      const gateways = last === 'the right one' ? [ahead, right] : [right, ahead]
      const vins = ['1HGCM82633A004352', '1FTFW1ET5DFC10312']
      for (const [index, gateway] of gateways.entries()) {
        expectBooked(await book(gateway, { ReferenceNumber: 'TWO', VinNo: vins[index] }))
      }
      for (const gateway of gateways) {
        expect((await read(gateway, { ReferenceNumber: 'TWO' })).json.VinNo).toBe(vins[1])
      }
    },
  )

  test('remember a quote for as long as QUOTE_MEMORY, by the same clock', { timeout: LONG_MS }, async () => {
    // Less than an hour: by its own clock, the one ahead would have forgotten it at once.
    const { right, ahead } = await openPair({ QUOTE_MEMORY: '30m' })
    const quote = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166', EquipmentType: 'ENCLOSED AUTO' }
    expect((await post(right, '/getShippingQuote.php', { ...quote, ShipmentNumber: 'W-1' })).status).toBe(200)
    expectBooked(await book(ahead, { ReferenceNumber: 'W-1' }))
    expect(right.sandbox.requests.at(-1)?.body).toContain('"transport_type":"enclosed"')
  })

  test('date stored data by the same clock', { timeout: LONG_MS }, async () => {
    const { right, ahead } = await openPair()
    expectBooked(await book(ahead, { ReferenceNumber: 'DATED' }))
    const [claim] = await right.store.listClaims({})
    const [link] = await right.store.links('demo', 'DATED')
    const entries = await right.store.audit(claim?.handle ?? '')
    for (const at of [claim?.createdAt, claim?.changedAt, link?.at, ...entries.map((entry) => entry.at)]) {
      expect(Math.abs((at ?? 0) - Date.now())).toBeLessThan(HOUR_MS / 2)
    }
  })
})
