/** Promise: a new credential is proven before it books (contract, section 5). */

import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { NO_SHIPMENT } from '../../src/outside/service/account.ts'
import { basic, CLIENT, get, startGateway, type TestGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import noProof from './no-proof.json' with { type: 'json' }
import { atOnce, book, CALLS, exchanges, KINDS, linksOf, quote, read, seen, statuses } from './tenants-gateway.ts'

const OWNER = { authorization: basic() }
const STRANGER = { authorization: basic('demo', 'a guess') }
const PROOF = `/v2/shipments/${NO_SHIPMENT}`

const paths = ({ sandbox }: TestGateway) => sandbox.requests.map(({ method, path }) => `${method} ${path}`)
const openUnproven = () => startGateway({ proven: false })

/** Every call that names something, or books. */
const NAMING = KINDS.filter((kind) => kind !== 'quote')

describe('a new credential', () => {
  test('is accepted by a page with 404, if the service has shown no other 404', async () => {
    const gateway = await openUnproven()
    gateway.sandbox.fail({ kind: 'status', status: 404, body: '<p>', times: 'always', on: { method: 'GET' } })
    expect(await book(gateway, 'R-1', OWNER)).toMatchObject({ status: 200 })
  })

  test('is proven once for any number of concurrent calls', async () => {
    const gateway = await startGateway({
      proven: false,
      env: { V2_TOKEN: 'oauth2' },
      sandbox: { auth: 'bearer', shipmentPath: 'plural' },
    })
    const answers = await atOnce(200, (i) => (i % 2 ? book(gateway, `R-${i}`, OWNER) : read(gateway, 'NONE', OWNER)))
    expect(statuses(answers)).toEqual({ 200: 100, 404: 100 })
    expect(exchanges(gateway)).toHaveLength(1)
    expect(gateway.sandbox.requests.filter(({ path }) => path === PROOF).length).toBeLessThanOrEqual(1)
  })

  test('is waited for until the deadline of each call: a later one gets the verdict that comes too late for the first', async () => {
    const gateway = await startGateway({ proven: false, env: { UPSTREAM_TIMEOUT_MS: '2000' } })
    gateway.sandbox.fail({ kind: 'delay', ms: 2_600, on: { path: PROOF } })
    const first = book(gateway, 'R-1', OWNER)
    await setTimeout(1_200)
    const second = book(gateway, 'R-2', OWNER)
    expect(await first).toMatchObject({ status: 503, json: { TransportationBooked: 'No' } })
    expect((await second).json.TransportationBooked).toBe('Yes')
    expect(paths(gateway).filter((path) => path.endsWith(NO_SHIPMENT)).length).toBeLessThanOrEqual(2)
  })
})

describe('a refused credential', () => {
  test.each([401, 403, 500])('reveals nothing of names, and leaves no row, after a %i', async (verdict) => {
    const gateway = await startGateway()
    await quote(gateway, OWNER, { ShipmentNumber: 'QUOTED', OrderRefNumber: 'ORDERED' })
    await book(gateway, 'BOOKED', OWNER)
    await CALLS['book by a key'](gateway, 'KEYED', OWNER)
    const rows = async () => JSON.stringify([await gateway.store.listClaims({}), await linksOf(gateway.store)])
    const rowsBefore = await rows()
    for (const secret of [CLIENT.secret, basic()]) expect(rowsBefore).not.toContain(secret.replace('Basic ', ''))
    const [id = ''] = gateway.sandbox.shipments.keys()
    gateway.sandbox.requests.length = 0
    gateway.sandbox.fail({ kind: 'status', status: verdict, times: 'always', on: { path: PROOF } })
    for (const what of NAMING) {
      /** Without the number that the answer repeats. */
      const told = async (name: string) => seen(await CALLS[what](gateway, name, STRANGER)).replaceAll(name, 'NAME')
      const unknown = await told('UNKNOWN')
      expect(unknown).toMatch(new RegExp(`^${verdict === 500 ? 503 : verdict}`))
      for (const name of ['QUOTED', 'ORDERED', 'BOOKED', 'KEYED', id, '..']) expect(await told(name)).toBe(unknown)
    }
    expect(new Set(paths(gateway))).toEqual(new Set([`GET ${PROOF}`]))
    expect(await rows()).toEqual(rowsBefore)
    // The owner is served as before.
    expect((await read(gateway, 'BOOKED', OWNER)).json.TransportationBooked).toBe('Yes')
    expect((await book(gateway, 'NEW', OWNER)).json.TransportationBooked).toBe('Yes')
  })
})

describe('an answer that proves nothing', () => {
  const cases = noProof as Record<string, { fault: Fault; status?: number; retryAfter?: string }>
  test.each(Object.entries(cases))('claims, finds and sends nothing: %s', async (_, one) => {
    const { fault, status = 503, retryAfter = '5' } = one
    const gateway = await startGateway({ proven: false, env: { UPSTREAM_TIMEOUT_MS: '600' } })
    gateway.sandbox.fail({ ...fault, times: 'always', on: { method: 'GET' } })
    const answer = await book(gateway, 'R-1', OWNER)
    expect(answer).toMatchObject({ status, json: { TransportationBooked: 'No' } })
    expect(answer.headers.get('retry-after')).toBe(retryAfter)
    if (status === 503) expect(answer.json.Message).toMatch(/nothing was sent/)
    // Too few, with all retries, to open the circuit.
    for (const what of ['read', 'cancel', 'approve'] as const) {
      expect(await CALLS[what](gateway, 'R-1', OWNER)).toMatchObject({ status })
    }
    expect(await gateway.store.listClaims({})).toEqual([])
    expect(paths(gateway).join()).not.toMatch(/POST|PUT|DELETE/)
    gateway.sandbox.clearFaults()
    expect(await book(gateway, 'R-1', OWNER)).toMatchObject({ status: 200 })
  })

  test('is used by a stranger, but the owner still books, meanwhile and afterwards', async () => {
    const gateway = await startGateway({ env: { UPSTREAM_TIMEOUT_MS: '1000' } })
    gateway.sandbox.fail({ kind: 'timeout-unprocessed', on: { path: PROOF } })
    const asked = gateway.sandbox.next(({ path }) => path === PROOF)
    const stranger = book(gateway, 'R-1', STRANGER)
    await asked
    expect(await book(gateway, 'R-1', OWNER)).toMatchObject({ status: 200 })
    gateway.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { path: PROOF } })
    expect(await book(gateway, 'R-2', STRANGER)).toMatchObject({ status: 503 })
    expect(await book(gateway, 'R-2', OWNER)).toMatchObject({ status: 200 })
    expect(await stranger).toMatchObject({ status: 503 })
  })
})

test.each<[fault: Fault, status: number]>([
  [{ kind: 'status', status: 403 }, 403],
  [{ kind: 'status', status: 429 }, 429],
  [{ kind: 'status', status: 500 }, 502],
  [{ kind: 'status', status: 503, times: 'always' }, 503],
  [{ kind: 'body', body: '[]' }, 502],
  [{ kind: 'timeout-unprocessed' }, 504],
])('a booking is never called not booked after another process: its read gives %j', async (fault, status) => {
  const first = await startGateway()
  await book(first, 'R-1', OWNER)
  const env = { UPSTREAM_TIMEOUT_MS: '1000' }
  const second = await startGateway({ env, store: first.store, serviceUrl: first.sandbox.url })
  const [claim] = await first.store.listClaims({})
  first.sandbox.fail({ ...fault, on: { path: `/v2/shipments/${claim?.shipment}` } })
  expect(await book(second, 'R-1', OWNER)).toMatchObject({ status, json: { TransportationBooked: 'Unknown' } })
  first.sandbox.clearFaults()
  expect((await book(second, 'R-1', OWNER)).json.TransportationBooked).toBe('Yes')
})

describe('a passed-through call', () => {
  test('does not prove a credential for legacy calls, because its caller chooses the path', async () => {
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      const isOpen = incoming.url === '/v2/quote/public'
      outgoing.writeHead(isOpen ? 200 : 401).end('{}')
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    expect((await get(gateway, '/v2/quote/public', STRANGER)).status).toBe(200)
    expect((await quote(gateway, STRANGER)).status).toBe(401)
  })
})
