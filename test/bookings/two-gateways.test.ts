import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { startGateway } from '../gateway.ts'
import { size } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { book, creations, expectBooked, isCreation, REFERENCE, shipments } from './desk.ts'

const REFERENCES = size(60, 2_000)
const CALLERS = 6
/** References that are wanted at the same time. */
const ABREAST = 8
const LONG_MS = 180_000

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
