import { expect, test } from 'vitest'
import { book, expectBooked, REFERENCE } from '../bookings/desk.ts'
import { as, openEdge, tenant } from '../callers/edge.ts'
import { type Answered, basic, CLIENT, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { deliver, EVENT, metric, SECRET } from './deliver.ts'

const env = { ...OWN, STATUS_CACHE: '1h', WEBHOOK_SECRET: SECRET }
const POLL = `/getShipment.php?ReferenceNumber=${REFERENCE}`

const reads = ({ sandbox }: TestGateway) => sandbox.requests.filter(({ method }) => method === 'GET').length

/** Opens a gateway with a booked shipment that was read once. */
async function polled(more: Readonly<Record<string, string>> = {}) {
  const gateway = await startGateway({ env: { ...env, ...more } })
  const id = expectBooked(await book(gateway))
  expect((await get(gateway, POLL)).json.Status).toBe('new')
  gateway.sandbox.requests.length = 0
  return { gateway, id }
}

/** Changes a shipment at the service without an event. */
function changeSilently({ sandbox }: TestGateway, id: string): void {
  const shipment = sandbox.shipments.get(id) ?? expect.fail('no shipment')
  sandbox.shipments.set(id, { ...shipment, status: 'assigned' })
}

test('reads are answered from the last one, under every name, and the answers are the same', async () => {
  const { gateway, id } = await polled()
  const first = await get(gateway, POLL)
  changeSilently(gateway, id)
  const again = await get(gateway, POLL)
  expect([again.status, again.text]).toEqual([200, first.text])
  expect((await get(gateway, `/getShipment.php?id=${id.toUpperCase()}`)).json.Status).toBe('new')
  expect(reads(gateway)).toBe(0)
  expect(await metric(gateway, 'transload_status_cache_total')).toEqual({ 'answer="cache"': 3, 'answer="service"': 1 })
})

test('without STATUS_CACHE, every read asks the service', async () => {
  const gateway = await startGateway({ env: OWN })
  expectBooked(await book(gateway))
  await get(gateway, POLL)
  await get(gateway, POLL)
  expect(reads(gateway)).toBe(2)
})

test('an answer is used for so long and no longer', async () => {
  const { gateway, id } = await polled({ STATUS_CACHE: '200ms' })
  changeSilently(gateway, id)
  await expect.poll(async () => (await get(gateway, POLL)).json.Status).toBe('assigned')
})

test('an event drops the last read, a copy of one too', async () => {
  const { gateway, id } = await polled()
  for (const status of ['assigned', 'assigned']) {
    changeSilently(gateway, id)
    await deliver(gateway, { ...EVENT, shipment_id: id })
    expect((await get(gateway, POLL)).json.Status).toBe(status)
  }
  expect(reads(gateway)).toBe(2)
})

const changes: readonly (readonly [name: string, change: (gateway: TestGateway, id: string) => Promise<Answered>])[] = [
  [
    'an update',
    (gateway) => post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'Gate 9' }),
  ],
  ['a cancellation', (gateway) => post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })],
  ['a version-2 body', (gateway, id) => post(gateway, '/deleteShipment.php', { id, instructions: 'Call first.' })],
  ['a version-2 update', (gateway, id) => put(gateway, `/v2/shipments/${id}`)],
  ['one under the other path', (gateway, id) => put(gateway, `/v2/shipment/${id}`)],
  ['one of an encoded id', (gateway, id) => put(gateway, `/v2/shipments/${id.replace('-', '%2D')}`)],
]

async function put(gateway: TestGateway, path: string): Promise<Answered> {
  const body = JSON.stringify({ instructions: 'Call first.' })
  const response = await fetch(gateway.url + path, { method: 'PUT', body, headers: { authorization: basic() } })
  return { status: response.status, headers: response.headers, text: await response.text(), json: undefined }
}

test.each(changes)('%s drops the last read', async (_name, change) => {
  const { gateway, id } = await polled()
  expect((await change(gateway, id)).status).toBe(200)
  gateway.sandbox.requests.length = 0
  await get(gateway, POLL)
  expect(reads(gateway)).toBe(1)
})

test('a change whose outcome is not known drops the last read, too', async () => {
  const { gateway } = await polled({ UPSTREAM_TIMEOUT_MS: '300' })
  gateway.sandbox.fail({ kind: 'timeout', on: { method: 'PUT' } })
  expect(
    (await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'Gate 9' })).status,
  ).toBe(504)
  expect((await get(gateway, POLL)).json.PickupName).toBe('Gate 9')
})

test('a change that is refused drops nothing', async () => {
  const { gateway } = await polled()
  expect((await put(gateway, '/v2/shipments/no-such-shipment')).status).toBe(404)
  await get(gateway, POLL)
  expect(reads(gateway)).toBe(0)
})

test('a read that began before an event is not kept', async () => {
  const { gateway, id } = await polled()
  await deliver(gateway, { ...EVENT, shipment_id: id })
  // Its answer shows the shipment as it was when the request arrived.
  gateway.sandbox.fail({ kind: 'delay', ms: 300, on: { method: 'GET' } })
  const asked = gateway.sandbox.next(({ method }) => method === 'GET')
  const early = get(gateway, POLL)
  await asked
  changeSilently(gateway, id)
  await deliver(gateway, { ...EVENT, shipment_id: id, event: 'shipment.modified' })
  expect((await early).json.Status).toBe('new')
  expect((await get(gateway, POLL)).json.Status).toBe('assigned')
})

test('failures and doubtful replies are not kept', async () => {
  const gateway = await startGateway({ env })
  expectBooked(await book(gateway))
  const on = { method: 'GET' }
  gateway.sandbox.fail({ kind: 'status', status: 404, on }, { kind: 'body', body: '{"id":"other"}', on })
  expect((await get(gateway, POLL)).status).toBe(404)
  expect((await get(gateway, POLL)).status).toBe(502)
  expect((await get(gateway, POLL)).status).toBe(200)
})

test('in client mode, a read is kept for the credential that the service showed it to', async () => {
  const credentials = { [CLIENT.id]: CLIENT.secret }
  const gateway = await startGateway({ env: { STATUS_CACHE: '1h' }, sandbox: { credentials } })
  expectBooked(await book(gateway))
  await get(gateway, POLL)
  await get(gateway, POLL)
  expect(reads(gateway)).toBe(1)
  // The same Client ID with another secret, which the service does not accept.
  const wrong = await get(gateway, POLL, { authorization: basic(CLIENT.id, 'wrong') })
  expect(wrong.status).toBe(401)
  // And one that it accepts by now: the operator has changed the secret.
  gateway.sandbox.set({ credentials: { [CLIENT.id]: 'new-secret' } })
  gateway.sandbox.requests.length = 0
  const renewed = { authorization: basic(CLIENT.id, 'new-secret') }
  expect((await get(gateway, POLL, renewed)).status).toBe(200)
  expect(reads(gateway)).toBeGreaterThan(0)
})

test('tenants do not share reads', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'zenith')], {
    env: { STATUS_CACHE: '1h' },
  })
  const id = expectBooked(await book(edge, {}, as('acme')))
  const path = `/getShipment.php?id=${id}`
  expect((await get(edge, path, as('acme'))).status).toBe(200)
  expect((await get(edge, path, as('acme'))).status).toBe(200)
  expect(reads(edge)).toBe(1)
  expect((await get(edge, path, as('zenith'))).status).toBe(404)
})
