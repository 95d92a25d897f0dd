/** Promise: a new credential is proven before it books (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { NO_SHIPMENT } from '../../src/service/account.ts'
import { basic, CLIENT, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { atOnce, book, booking, clocks, counted, exchanges, quote, read } from './edge.ts'

const OWNER = { authorization: basic() }
const STRANGER = { authorization: basic('demo', 'a guess') }
const PROOF = `/v2/shipments/${NO_SHIPMENT}`

const paths = ({ sandbox }: TestGateway) => sandbox.requests.map(({ method, path }) => `${method} ${path}`)
const openUnproven = () => startGateway({ proven: false })

/** Every call that names something, or books. */
const calls: Readonly<
  Record<string, (gateway: TestGateway, name: string, headers: typeof OWNER) => ReturnType<typeof post>>
> = {
  book: (gateway, name, headers) => book(gateway, name, headers),
  'book otherwise': (gateway, name, headers) => book(gateway, name, headers, { DeliveryName: 'Somebody Else' }),
  'book what cannot be booked': (gateway, ReferenceNumber, headers) =>
    post(gateway, '/createShipment.php', { ReferenceNumber, PickupZip: 'none' }, headers),
  'book by a key': (gateway, name, headers) =>
    post(gateway, '/createShipment.php', booking('R-KEY'), { ...headers, 'idempotency-key': name }),
  read,
  'update a quote': (gateway, ShipmentNumber, headers) =>
    post(gateway, '/getShippingQuote.php', { ActionName: 'Update Rate', ShipmentNumber }, headers),
  approve: (gateway, ShipmentNumber, headers) =>
    post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber }, headers),
  update: (gateway, ReferenceNumber, headers) =>
    post(gateway, '/updateShipment.php', { ReferenceNumber, PickupName: 'Sam' }, headers),
  cancel: (gateway, ReferenceNumber, headers) => post(gateway, '/deleteShipment.php', { ReferenceNumber }, headers),
}

/** An answer without its individual parts: the id of the call, its time, and the number that it repeats. */
function shape({ status, headers, text }: Awaited<ReturnType<typeof post>>, name: string) {
  const own = new Set(['date', 'x-request-id', 'content-length'])
  return { status, headers: [...headers].filter(([key]) => !own.has(key)), text: text.replaceAll(name, 'NAME') }
}

describe('a new credential', () => {
  test('is asked about before it books, and not again', async () => {
    const gateway = await openUnproven()
    expect((await book(gateway, 'R-1', OWNER)).status).toBe(200)
    expect((await book(gateway, 'R-2', OWNER)).status).toBe(200)
    expect(paths(gateway)).toEqual([`GET ${PROOF}`, `GET ${PROOF.replace('shipments', 'shipment')}`, ...TWO_BOOKINGS])
  })
  const TWO_BOOKINGS = ['POST /v2/shipments', 'POST /v2/shipments']

  test('that asks for a quote proves itself by that', async () => {
    const gateway = await openUnproven()
    expect((await quote(gateway, OWNER)).status).toBe(200)
    expect((await book(gateway, 'R-1', OWNER)).status).toBe(200)
    expect(paths(gateway)).toEqual(['POST /v2/quote', 'POST /v2/shipments'])
  })

  test.each([200, 204, 404, 410])('is accepted by an answer %i to that read', async (status) => {
    const gateway = await openUnproven()
    gateway.sandbox.fail({ kind: 'status', status, on: { path: PROOF } })
    expect((await book(gateway, 'R-1', OWNER)).json.TransportationBooked).toBe('Yes')
  })

  test('is proven once for any number of concurrent calls', async () => {
    const gateway = await startGateway({
      proven: false,
      env: { V2_TOKEN: 'oauth2' },
      sandbox: { auth: 'bearer', shipmentPath: 'plural' },
    })
    const answers = await atOnce(200, (i) => (i % 2 ? book(gateway, `R-${i}`, OWNER) : read(gateway, 'NONE', OWNER)))
    expect(counted(answers.map(({ status }) => status))).toEqual({ 200: 100, 404: 100 })
    expect(exchanges(gateway)).toHaveLength(1)
    expect(gateway.sandbox.requests.filter(({ path }) => path === PROOF).length).toBeLessThanOrEqual(1)
  })

  test('that is accepted is asked about again after a while, and when the service refuses it', async () => {
    const { pass } = clocks()
    const gateway = await startGateway({ proven: false, sandbox: { shipmentPath: 'plural' } })
    const asked = async (reference: string) => {
      const before = gateway.sandbox.requests.length
      await book(gateway, reference, OWNER)
      return gateway.sandbox.requests.slice(before).some(({ path }) => path === PROOF)
    }
    expect(await asked('R-1')).toBe(true)
    pass(14 * 60_000)
    expect(await asked('R-2')).toBe(false)
    pass(14 * 60_000)
    expect(await asked('R-3')).toBe(false)
    pass(15 * 60_000)
    expect(await asked('R-4')).toBe(true)
    gateway.sandbox.fail({ kind: 'status', status: 401, on: { path: '/v2/quote' } })
    expect((await quote(gateway, OWNER)).status).toBe(401)
    expect(await asked('R-5')).toBe(true)
  })

  test('in another spelling of the same is asked about by itself', async () => {
    const gateway = await startGateway()
    await book(gateway, 'R-1', { authorization: basic().replace('Basic', 'BASIC') })
    expect(paths(gateway)).toContain(`GET ${PROOF}`)
  })

  test('that another client could be read from is none', async () => {
    const gateway = await openUnproven()
    // The service may skip characters outside the alphabet, or unused bits.
    const spellings = ['Basic ZGVt-bzpkZW1vLXNlY3JldA==', 'Basic ZGVtbzpkZW1vLXNlY3JldB==', 'Basic ZGVt_bzpkZW1v']
    for (const authorization of spellings) expect((await quote(gateway, { authorization })).status).toBe(401)
    expect(gateway.sandbox.requests).toEqual([])
  })
})

describe('a refused credential', () => {
  test.each(Object.keys(calls))('learns nothing of names: %s', async (what) => {
    const gateway = await startGateway()
    await quote(gateway, OWNER, { ShipmentNumber: 'QUOTED', OrderRefNumber: 'ORDERED' })
    await book(gateway, 'BOOKED', OWNER)
    await post(gateway, '/createShipment.php', booking('R-K'), { ...OWNER, 'idempotency-key': 'KEYED' })
    const [id = ''] = gateway.sandbox.shipments.keys()
    const call = calls[what] ?? expect.fail(what)
    const unknown = shape(await call(gateway, 'UNKNOWN', STRANGER), 'UNKNOWN')
    expect(unknown.status).toBe(401)
    expect(unknown.text).toMatch(/does not accept the credential/)
    const before = gateway.sandbox.requests.length
    for (const name of ['QUOTED', 'ORDERED', 'BOOKED', 'KEYED', id, '..', 'no such name']) {
      expect(shape(await call(gateway, name, STRANGER), name)).toEqual(unknown)
    }
    const asked = new Set(gateway.sandbox.requests.slice(before).map(({ method, path }) => `${method} ${path}`))
    expect([...asked]).toEqual([`GET ${PROOF}`])
  })

  test('that is forbidden gets 403, and books nothing', async () => {
    const gateway = await openUnproven()
    gateway.sandbox.fail({ kind: 'status', status: 403, on: { path: PROOF }, body: { message: 'not yours' } })
    const answer = await book(gateway, 'R-1', OWNER)
    expect([answer.status, answer.json.TransportationBooked]).toEqual([403, 'No'])
    expect(answer.json.Message).toMatch(/not yours/)
    expect(await gateway.store.listClaims({})).toEqual([])
  })

  test('leaves no row', async () => {
    const gateway = await startGateway()
    await atOnce(40, (i) => book(gateway, `R-${i % 3}`, STRANGER))
    await atOnce(40, (i) => quote(gateway, STRANGER, { ShipmentNumber: `Q-${i}` }))
    expect(await gateway.store.listClaims({})).toEqual([])
    for await (const links of gateway.store.scan({})) expect(links).toEqual([])
  })
})

describe('an answer that proves nothing', () => {
  const doubts: readonly (readonly [what: string, fault: Fault, status: number])[] = [
    ['500', { kind: 'status', status: 500 }, 503],
    ['502', { kind: 'status', status: 502 }, 503],
    ['503', { kind: 'status', status: 503, headers: { 'retry-after': '7' } }, 503],
    ['429', { kind: 'status', status: 429, headers: { 'retry-after': '7' } }, 429],
    ['400', { kind: 'status', status: 400 }, 503],
    ['422', { kind: 'status', status: 422 }, 503],
    ['a redirect', { kind: 'status', status: 302, headers: { location: 'https://example.com/' } }, 503],
    ['a lost connection', { kind: 'reset-after' }, 503],
    ['half of a body', { kind: 'reset-mid-body' }, 503],
    ['nothing in time', { kind: 'timeout' }, 503],
    ['no end', { kind: 'huge', megabytes: 16 }, 503],
  ]
  test.each(doubts)('claims, finds and sends nothing: %s', async (_, fault, status) => {
    const gateway = await startGateway({ proven: false, env: { UPSTREAM_TIMEOUT_MS: '600' } })
    gateway.sandbox.fail({ ...fault, times: 'always', on: { method: 'GET' } })
    const answer = await book(gateway, 'R-1', OWNER)
    expect([answer.status, answer.json.TransportationBooked]).toEqual([status, 'No'])
    expect(answer.headers.get('retry-after')).toBe('headers' in fault && status !== 302 ? later(fault) : '5')
    if (status === 503) expect(answer.json.Message).toMatch(/nothing was sent/)
    // Too few to open the circuit, with all retries.
    for (const what of ['read', 'cancel', 'approve']) {
      expect((await calls[what]?.(gateway, 'R-1', OWNER))?.status).toBe(status)
    }
    expect(await gateway.store.listClaims({})).toEqual([])
    expect(new Set(paths(gateway).map((path) => path.split(' ')[0]))).toEqual(new Set(['GET']))
    gateway.sandbox.clearFaults()
    expect((await book(gateway, 'R-1', OWNER)).json.TransportationBooked).toBe('Yes')
  })
  const later = (fault: Fault) => ('headers' in fault ? (fault.headers?.['retry-after'] ?? '5') : '5')

  test('is used by a stranger, and the owner still books, meanwhile and afterwards', async () => {
    const gateway = await startGateway({ env: { UPSTREAM_TIMEOUT_MS: '1000' } })
    gateway.sandbox.fail({ kind: 'timeout-unprocessed', on: { path: PROOF } })
    const asked = gateway.sandbox.next(({ path }) => path === PROOF)
    const stranger = book(gateway, 'R-1', STRANGER)
    await asked
    expect((await book(gateway, 'R-1', OWNER)).json.TransportationBooked).toBe('Yes')
    gateway.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { path: PROOF } })
    expect((await book(gateway, 'R-2', STRANGER)).status).toBe(503)
    expect((await book(gateway, 'R-2', OWNER)).json.TransportationBooked).toBe('Yes')
    expect((await stranger).status).toBe(503)
  })
})

describe('a stored booking', () => {
  test('holds nothing of the credential that made it', async () => {
    const gateway = await startGateway()
    await book(gateway, 'R-1', OWNER)
    const stored = JSON.stringify(await gateway.store.listClaims({}))
    expect(stored).toContain('R-1')
    expect(stored).not.toContain('credential')
    expect(stored).not.toContain(CLIENT.secret)
  })

  test('of an older gateway is replayed to a credential that may read the shipment', async () => {
    const first = await startGateway()
    await book(first, 'R-1', OWNER)
    const [claim] = await first.store.listClaims({})
    const store = {
      ...first.store,
      claim: async (wanted: Parameters<typeof first.store.claim>[0]) => {
        const { won, claim: found } = await first.store.claim(wanted)
        return { won, claim: { ...found, credential: 'a slow hash of those days' } }
      },
    }
    const second = await startGateway({ store, serviceUrl: first.sandbox.url })
    const before = first.sandbox.requests.length
    const replayed = await book(second, 'R-1', OWNER)
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
    expect(paths(first).slice(before).at(-1)).toBe(`GET /v2/shipments/${claim?.shipment}`)
  })

  test.each<{ fault: Fault; status: number }>([
    { fault: { kind: 'status', status: 403 }, status: 403 },
    { fault: { kind: 'status', status: 429 }, status: 429 },
    { fault: { kind: 'status', status: 500 }, status: 502 },
    { fault: { kind: 'status', status: 503, times: 'always' }, status: 503 },
    { fault: { kind: 'body', body: '[]' }, status: 502 },
    { fault: { kind: 'timeout-unprocessed' }, status: 504 },
  ])('is never called not booked after another process: its read gives $fault', async ({ fault, status }) => {
    const first = await startGateway()
    await book(first, 'R-1', OWNER)
    const env = { UPSTREAM_TIMEOUT_MS: '1000' }
    const second = await startGateway({ env, store: first.store, serviceUrl: first.sandbox.url })
    const [claim] = await first.store.listClaims({})
    first.sandbox.fail({ ...fault, on: { path: `/v2/shipments/${claim?.shipment}` } })
    const doubtful = await book(second, 'R-1', OWNER)
    expect(doubtful.status).toBe(status)
    expect(doubtful.json.TransportationBooked).toBe('Unknown')
    first.sandbox.clearFaults()
    expect((await book(second, 'R-1', OWNER)).json.TransportationBooked).toBe('Yes')
  })

  test('is replayed in fixed mode without a question, by any process', async () => {
    const env = { V2_CLIENT_ID: 'demo', V2_CLIENT_SECRET: 'demo-secret' }
    const first = await startGateway({ env })
    await book(first, 'R-1', OWNER)
    const second = await startGateway({ env, store: first.store, serviceUrl: first.sandbox.url })
    const before = first.sandbox.requests.length
    expect((await book(second, 'R-1', STRANGER)).headers.get('idempotent-replayed')).toBe('true')
    expect(first.sandbox.requests).toHaveLength(before)
  })
})

describe('a passed-through call', () => {
  test('proves a credential for no legacy call, for its caller chooses the path', async () => {
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      const isOpen = incoming.url === '/v2/quote/public'
      outgoing.writeHead(isOpen ? 200 : 401).end('{}')
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    expect((await get(gateway, '/v2/quote/public', STRANGER)).status).toBe(200)
    expect((await quote(gateway, STRANGER)).status).toBe(401)
  })

  test.each([
    ['GET', '/v2/open', 3],
    ['OPTIONS', '/v2/shipments/x', 3],
    ['GET', '/v2/shipments/x', 2],
    ['POST', '/oauth2/token', 2],
  ])('has a connection of its own until an answer to a credential comes back: %s %s', async (method, path, count) => {
    const service = await openService(
      (incoming, outgoing) => void incoming.resume().on('end', () => outgoing.end('{}')),
    )
    const gateway = await startGateway({ serviceUrl: service.url })
    for (let i = 0; i < 3; i += 1) {
      const answer = await fetch(gateway.url + path, { method, headers: { authorization: 'Bearer abc' } })
      expect(answer.status).toBe(200)
      await answer.text()
    }
    expect(new Set(service.requests.map(({ socket }) => socket)).size).toBe(count)
  })

  test('of a new credential sends no stream before the credential is accepted', async () => {
    const gateway = await openUnproven()
    const big = 'x'.repeat(200_000)
    const refused = await post(gateway, '/v2/documents', big, STRANGER)
    expect([refused.status, refused.json.Message]).toEqual([401, expect.stringMatching(/does not accept/)])
    expect(new Set(paths(gateway))).toEqual(new Set([`GET ${PROOF}`]))
    expect((await post(gateway, '/v2/documents', big, OWNER)).status).toBe(404)
    expect(paths(gateway).at(-1)).toBe('POST /v2/documents')
  })
})
