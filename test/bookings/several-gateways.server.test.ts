/** Promise: gateways that share a PostgreSQL book each reference once, by its clock and its present content (contract, section 7). */

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { get, post, startGateway } from '../gateway.ts'
import { sample, size } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import {
  ask,
  claimOf,
  creations,
  expectBooked,
  isCreation,
  OTHER_VIN,
  REFERENCE,
  shipments,
  book as tryToBook,
} from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'
import { play, storiesIn } from './stories.ts'

const LONG_MS = 600_000
const HOUR_MS = 3_600_000
const CALLERS = 6
const VINS = ['1FDXE4FN9PDD32477', OTHER_VIN] as const

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

/** Opens two gateways before one service; the other may be a process whose clock is an hour ahead. */
async function openTwo({ isAhead = false, env = {}, approvalBooks = true } = {}) {
  const url = await server.createDatabase()
  const one = await startGateway({ store: await openStore(url), env, sandbox: { approvalBooks } })
  const serviceUrl = one.sandbox.url
  const other = isAhead
    ? await startGatewayProcess({ storeUrl: url, serviceUrl, imports: ['hour-ahead.ts'], env })
    : await startGateway({ store: await openStore(url), serviceUrl })
  return { one, other, gateways: [one, other] as const }
}

/** Books. If the machine stands still for seconds, a lease lapses; then nothing is sent, and the caller asks again. */
const book: typeof tryToBook = (...call) =>
  vi.waitUntil(
    async () => {
      const answer = await tryToBook(...call)
      return answer.status !== 503 && answer
    },
    { timeout: 60_000, interval: 200 },
  )

const idOf = (answer: Awaited<ReturnType<typeof book>>) =>
  expectBooked(answer, answer.headers.has('idempotent-replayed'))
const quote = (gateway: { readonly url: string }, ShipmentNumber: string, changes: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ...quoteExample, OrderRefNumber: '', ShipmentNumber, ...changes })

/** Books through both gateways at once, and checks that all get the same shipment; returns the answers. */
async function bookAtOnce([one, other]: Awaited<ReturnType<typeof openTwo>>['gateways'], changes: object) {
  const calls = Array.from({ length: CALLERS }, (_, caller) => book(caller % 2 === 0 ? one : other, changes))
  const answers = await Promise.all(calls)
  expect(new Set(answers.map(idOf)).size).toBe(1)
  return answers
}

test('every reference is booked once, with many callers at once', { timeout: LONG_MS }, async () => {
  const REFERENCES = size(30, 2_000)
  const { one, gateways } = await openTwo()
  let next = 0
  const lane = async () => {
    while (next < REFERENCES) {
      next += 1
      const answers = await bookAtOnce(gateways, { ReferenceNumber: `REF-${next}` })
      expect(answers.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  expect(creations(one)).toBe(REFERENCES)
  // Each won some, or there was no race.
  const winners = one.sandbox.requests.filter(isCreation).map(({ headers }) => headers['x-request-id'])
  const own = one.lines().filter(({ id }) => winners.includes(String(id))).length
  expect(Math.min(own, REFERENCES - own)).toBeGreaterThan(REFERENCES / 20)
})

test.each([true, false])(
  'an approved quote is one shipment, a second vehicle another (approving books: %s)',
  {
    timeout: LONG_MS,
  },
  async (approvalBooks) => {
    const { one, other, gateways } = await openTwo({ approvalBooks })
    for (let nth = 0; nth < size(5, 100); nth += 1) {
      for (const isOfTwo of [false, true]) {
        const ReferenceNumber = `Q-${nth}-${isOfTwo}`
        await quote(one, ReferenceNumber)
        // The gateway has seen the quote without its approval.
        await post(one, '/dry-run/createShipment.php', { ReferenceNumber })
        const accept = { ActionName: 'Accept Rate', ShipmentNumber: ReferenceNumber }
        const { json } = await post(other, '/getShippingQuote.php', accept)
        expect(json.TransportationBooked).toBe(approvalBooks ? 'Yes' : 'No')
        if (isOfTwo) {
          const bookVin = (VinNo: string, index: number) => book(gateways[index] ?? one, { ReferenceNumber, VinNo })
          expect(new Set((await Promise.all(VINS.map(bookVin))).map((answer) => expectBooked(answer))).size).toBe(2)
        } else {
          await bookAtOnce(gateways, { ReferenceNumber })
        }
        const vins = shipments(one, ReferenceNumber).flatMap(({ vehicles }) => vehicles.map(({ vin }) => vin))
        expect(vins.sort()).toEqual(isOfTwo ? VINS : [VINS[0]])
      }
    }
    expect(shipments(one)).toHaveLength(3 * size(5, 100))
  },
)

// On the embedded store, each of them is a test of `npm test`.
test.each(sample(storiesIn(import.meta.dirname, 'approved.txt'), 4))('%s', (_, steps) =>
  play(steps, async (options) => ({
    gateway: await startGateway({ store: await openStore(await server.createDatabase()), ...options }),
  })),
)

test('a gateway clock that is an hour ahead has no effect', { timeout: LONG_MS }, async () => {
  // Less than an hour: by its own clock, the one ahead would forget a quote at once.
  const env = { DEDUPE_WINDOW: '10m', QUOTE_MEMORY: '30m' }
  const { one, other: ahead, gateways } = await openTwo({ isAhead: true, env })
  // A booking without a reference is made once, whichever gateway is first.
  for (const order of [gateways, gateways.toReversed()]) {
    const ids: string[] = []
    for (const gateway of [...order, ...order]) {
      ids.push(idOf(await book(gateway, { ReferenceNumber: '', DeliveryName: `Of ${order[0]?.url}` })))
    }
    expect(new Set(ids).size).toBe(1)
  }
  // A quote is remembered, and everything dated, by the store's clock.
  await quote(one, 'W-1', { EquipmentType: 'ENCLOSED AUTO' })
  expectBooked(await book(ahead, { ReferenceNumber: 'W-1' }))
  expect(one.sandbox.requests.at(-1)?.body).toContain('"transport_type":"enclosed"')
  const { handle, createdAt, changedAt } = await claimOf(one, 'W-1')
  const names = await one.store.named('demo', 'W-1')
  const times = [...names, ...(await one.store.audit(handle))].map(({ at }) => at)
  for (const at of [createdAt, changedAt, ...times]) expect(Math.abs(at - Date.now())).toBeLessThan(HOUR_MS / 2)
})

test('while PostgreSQL is down, a cancellation under /v2/ waits for it', { timeout: LONG_MS }, async () => {
  const env = { UPSTREAM_TIMEOUT_MS: '2000' }
  const gateway = await startGateway({ env, store: await openStore(await server.createDatabase()) })
  gateway.sandbox.fail({ kind: 'status', status: 204, process: true, on: { method: 'DELETE' } })
  const id = expectBooked(await book(gateway))
  await server.stop()
  expect((await ask(gateway, 'DELETE', `/v2/shipments/${id}`)).status).toBe(204)
  await server.start()
  // The first booking that the store accepts sees the cancellation, although there has been no heartbeat since.
  expect((await book(gateway)).status).toBe(200)
  expect(expectBooked(await book(gateway), true)).not.toBe(id)
})

test('an update of a gateway that was killed keeps its shipment in doubt until it must be done', {
  timeout: LONG_MS,
}, async () => {
  const storeUrl = await server.createDatabase()
  const one = await startGateway({ store: await openStore(storeUrl) })
  const { sandbox } = one
  const killed = await startGatewayProcess({ storeUrl, serviceUrl: sandbox.url })
  expectBooked(await book(killed, { VinNo: '' }))
  sandbox.fail({ kind: 'delay', ms: 0, lateMs: 2_000, on: { method: 'PUT' } })
  const begun = sandbox.next(({ method }) => method === 'PUT')
  const update = post(killed, '/updateShipment.php', { ReferenceNumber: REFERENCE, Model: 'T' }).catch(() => undefined)
  await begun
  killed.child.kill('SIGKILL')
  await update
  await get(one, `/getShipment.php?ReferenceNumber=${REFERENCE}`)
  const [same, other] = await Promise.all(['T', 'U'].map((Model) => book(one, { VinNo: '', Model })))
  expect(same).toMatchObject({ status: 409, json: { TransportationBooked: 'Unknown' } })
  expectBooked(other ?? expect.fail())
  expect(shipments(one)).toHaveLength(2)
})
