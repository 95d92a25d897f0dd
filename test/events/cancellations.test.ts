import { expect, test } from 'vitest'
import { book, creations, expectBooked } from '../bookings/desk.ts'
import { startGateway, type TestGateway } from '../gateway.ts'
import { deliver, EVENT, HOOK, SECRET, startReceiver, untilState } from './deliver.ts'

/** A booking whose shipment has sent no events, and its key. */
async function openBooked(gateway: TestGateway) {
  gateway.sandbox.set({ webhookUrl: undefined })
  const id = expectBooked(await book(gateway))
  const [claim] = await gateway.store.listClaims({})
  return { id, handle: claim?.handle ?? expect.fail('no claim') }
}

/** Lets the service cancel a shipment by itself. */
function cancel({ sandbox }: TestGateway, id: string): void {
  const shipment = sandbox.shipments.get(id) ?? expect.fail('no shipment')
  sandbox.shipments.set(id, { ...shipment, status: 'canceled' })
}

const isRead = (id: string) => (request: { readonly method: string; readonly path: string }) =>
  request.method === 'GET' && request.path.toLowerCase().endsWith(`/${id}`)

test.each([
  ['shipment.canceled', (id: string) => id],
  ['shipment.canceled_by_carrier', (id: string) => id],
  ['shipment.canceled', (id: string) => id.toUpperCase()],
])('a shipment that the service has canceled (%s) frees the key of its booking', async (event, spelled) => {
  const gateway = await startReceiver()
  const { id, handle } = await openBooked(gateway)
  cancel(gateway, id)
  await deliver(gateway, { ...EVENT, event, shipment_id: spelled(id) })
  await untilState(gateway.store, handle, 'freed')
  expect((await gateway.store.audit(handle)).at(-1)?.why).toBe('canceled')
  const again = expectBooked(await book(gateway))
  expect(again).not.toBe(id)
  expect(creations(gateway)).toBe(2)
})

test('a shipment that the service does not find any more frees it as well', async () => {
  const gateway = await startReceiver()
  const { id, handle } = await openBooked(gateway)
  gateway.sandbox.shipments.delete(id)
  await deliver(gateway, { ...EVENT, event: 'shipment.canceled', shipment_id: id })
  await untilState(gateway.store, handle, 'freed')
})

test.each([
  ['the service shows it with another status', 'shipment.canceled_by_carrier', undefined],
  ['the read fails', 'shipment.canceled', { kind: 'status', status: 500, times: 'always' }],
  [
    'the read shows something else',
    'shipment.canceled',
    { kind: 'body', body: '{"status":"canceled"}', times: 'always' },
  ],
] as const)('the key stays where %s', async (_, event, fault) => {
  const gateway = await startReceiver()
  const { id } = await openBooked(gateway)
  if (fault) gateway.sandbox.fail({ ...fault, on: { method: 'GET' } })
  const read = gateway.sandbox.next(isRead(id))
  await deliver(gateway, { ...EVENT, event, shipment_id: id })
  await read
  await gateway.sandbox.idle()
  gateway.sandbox.clearFaults()
  expect(expectBooked(await book(gateway), true)).toBe(id)
  expect(creations(gateway)).toBe(1)
})

test('without a credential of its own, in client mode, the gateway reads nothing', async () => {
  const gateway = await startGateway({ env: { WEBHOOK_SECRET: SECRET } })
  const { id } = await openBooked(gateway)
  cancel(gateway, id)
  const before = gateway.sandbox.requests.length
  const { status } = await deliver(gateway, { ...EVENT, event: 'shipment.canceled', shipment_id: id }, {}, HOOK)
  expect(status).toBe(200)
  await gateway.sandbox.idle()
  expect(expectBooked(await book(gateway), true)).toBe(id)
  expect(gateway.sandbox.requests.slice(before)).toEqual([])
})
