import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openStore } from '../../src/store/open.ts'
import { post, startGateway } from '../gateway.ts'
import { size } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { book, creations, expectBooked, isCreation, REFERENCE, shipments } from './desk.ts'

const REFERENCES = size(60, 2_000)
const CALLERS = 6
/** References that are wanted at the same time. */
const ABREAST = 8
const LONG_MS = 600_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

test('two gateways on one PostgreSQL book every reference once, with many concurrent callers', {
  timeout: LONG_MS,
}, async () => {
  const url = await server.createDatabase()
  const one = await startGateway({ store: await openStore(url) })
  const other = await startGateway({ store: await openStore(url), serviceUrl: one.sandbox.url })
  let next = 0
  const lane = async () => {
    while (next < REFERENCES) {
      next += 1
      const changes = { ReferenceNumber: `${REFERENCE}-${next}` }
      const calls = Array.from({ length: CALLERS }, (_, caller) => book(caller % 2 === 0 ? one : other, changes))
      const answers = await Promise.all(calls)
      const ids = answers.map((answer) => expectBooked(answer, answer.headers.has('idempotent-replayed')))
      expect(new Set(ids).size).toBe(1)
      expect(answers.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
    }
  }
  await Promise.all(Array.from({ length: ABREAST }, lane))
  expect(creations(one)).toBe(REFERENCES)
  const references = shipments(one).map(({ external_id }) => external_id)
  expect(references).toHaveLength(REFERENCES)
  expect(new Set(references).size).toBe(REFERENCES)
  // Both won some, or there was no race.
  const winners = one.sandbox.requests.filter(isCreation).map(({ headers }) => headers['x-request-id'])
  const of = (gateway: typeof one) => gateway.lines().filter(({ id }) => winners.includes(String(id))).length
  expect(Math.min(of(one), of(other))).toBeGreaterThan(REFERENCES / 20)
  const states = (await one.store.listClaims({ limit: REFERENCES * 2 })).map(({ state }) => state)
  expect(states).toEqual(Array.from({ length: REFERENCES }, () => 'booked'))
})

describe.each([{ approvalBooks: true }, { approvalBooks: false }])(
  'two gateways with approved quotes, of which the service makes shipments: $approvalBooks',
  ({ approvalBooks }) => {
    const QUOTES = size(8, 100)
    const VINS = ['1FDXE4FN9PDD32477', '1HGCM82633A004352'] as const

    async function openPair() {
      const url = await server.createDatabase()
      const one = await startGateway({ store: await openStore(url), sandbox: { approvalBooks } })
      const other = await startGateway({ store: await openStore(url), serviceUrl: one.sandbox.url })
      const approved = async (nth: number) => {
        const ShipmentNumber = `${quoteExample.ShipmentNumber}-${nth}`
        const quote = { ...quoteExample, ShipmentNumber, OrderRefNumber: '' }
        expect((await post(one, '/getShippingQuote.php', quote)).status).toBe(200)
        const accept = { ActionName: 'Accept Rate', ShipmentNumber }
        const { json } = await post(other, '/getShippingQuote.php', accept)
        expect(json.TransportationBooked).toBe(approvalBooks ? 'Yes' : 'No')
        return ShipmentNumber
      }
      return { gateways: [one, other] as const, one, approved }
    }

    test('make one shipment of each, whichever of them is asked', { timeout: LONG_MS }, async () => {
      const { gateways, one, approved } = await openPair()
      for (let nth = 0; nth < QUOTES; nth += 1) {
        const ReferenceNumber = await approved(nth)
        const answers = await Promise.all(
          Array.from({ length: CALLERS }, (_, caller) => book(gateways[caller % 2 ? 1 : 0], { ReferenceNumber })),
        )
        const ids = answers.map((answer) => expectBooked(answer, answer.headers.has('idempotent-replayed')))
        expect(new Set(ids).size).toBe(1)
        expect(shipments(one).filter(({ external_id }) => external_id === ReferenceNumber)).toHaveLength(1)
      }
      expect(shipments(one)).toHaveLength(QUOTES)
      expect(creations(one)).toBe(approvalBooks ? 0 : QUOTES)
    })

    test('give it to one of two vehicles, and the other has its own', { timeout: LONG_MS }, async () => {
      const { gateways, one, approved } = await openPair()
      for (let nth = 0; nth < QUOTES; nth += 1) {
        const ReferenceNumber = await approved(nth)
        const answers = await Promise.all(
          VINS.map((VinNo, index) => book(gateways[index === 0 ? 0 : 1], { ReferenceNumber, VinNo })),
        )
        expect(new Set(answers.map((answer) => expectBooked(answer))).size).toBe(2)
        const vins = shipments(one, ReferenceNumber).flatMap(({ vehicles }) => vehicles.map(({ vin }) => vin))
        expect(vins.sort()).toEqual(VINS.toSorted())
      }
      expect(shipments(one)).toHaveLength(2 * QUOTES)
    })
  },
)
