import { expect, test } from 'vitest'
import { endpoint, openOffice } from './office.ts'
import { replies, startReceiver } from './receiver.ts'

const eventOf = (body: string): string => JSON.parse(body).Event

test('the events of a shipment are delivered in order, although one of them fails', async () => {
  const receiver = await startReceiver()
  const { take, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  receiver.answer(replies(500))
  for (const event of ['shipment.created', 'shipment.assigned', 'shipment.picked_up']) await take({ event })
  await pass(0)
  await pass(1_000)
  expect(receiver.received.map(({ body }) => eventOf(body))).toEqual(['shipment.created'])
  receiver.answer(replies(200))
  await pass(10_000)
  expect(receiver.received.map(({ body }) => eventOf(body)).slice(1)).toEqual([
    'shipment.created',
    'shipment.assigned',
    'shipment.picked_up',
  ])
})

test('a shipment that fails holds up no other', async () => {
  const receiver = await startReceiver((outgoing, { body }) => {
    outgoing.writeHead(body.includes('"REF-s-1"') ? 500 : 200).end()
  })
  const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const stuck = await take()
  const others = await Promise.all(Array.from({ length: 20 }, (_, i) => take({ shipment: `s-${i + 2}` })))
  await pass(0)
  expect((await found(stuck)).state).toBe('due')
  for (const id of others) expect((await found(id)).state).toBe('delivered')
})

test('one event of a shipment is under way at a time, over two processes', async () => {
  let underWay = 0
  let most = 0
  const receiver = await startReceiver((outgoing) => {
    underWay += 1
    most = Math.max(most, underWay)
    setImmediate(() => {
      underWay -= 1
      outgoing.end()
    })
  })
  const one = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const other = await openOffice({ endpoints: [endpoint(receiver.url)], store: one.store })
  const sent = Array.from({ length: 40 }, (_, i) => `event.${i}`)
  for (const event of sent) await one.take({ event })
  await Promise.all([one.pass(0), other.pass(0)])
  while (receiver.received.length < sent.length) await Promise.all([one.pass(0), other.pass(0)])
  expect(receiver.received.map(({ body }) => eventOf(body))).toEqual(sent)
  expect(most).toBe(1)
})

test('an event whose shipment has no name yet waits for the booking to be recorded', async () => {
  const receiver = await startReceiver()
  const { store, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const event = {
    tenant: 'acme',
    shipment: 's-1',
    event: 'shipment.created',
    date: 'now',
    digest: '',
    payload: '{}',
    deliver: true,
  }
  const { id } = await store.takeEvent(event)
  await pass(0)
  expect(await found(id)).toMatchObject({ state: 'due', failures: 0, outcome: '' })
  expect(receiver.received.length).toBe(0)
  await store.put({ links: [], thing: { tenant: 'acme', id: 's-1', own: 'MY-1', facts: null } })
  await pass(1_000)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ ShipmentNumber: 'MY-1' })
})

test('an event of a shipment that the gateway never booked is delivered with the id of the service', async () => {
  const receiver = await startReceiver()
  const { store, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  await store.takeEvent({
    tenant: 'acme',
    shipment: 's-9',
    event: 'shipment.created',
    date: 'now',
    digest: '',
    payload: '{}',
    deliver: true,
  })
  for (let i = 0; i < 11; i += 1) await pass(1_000)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual({
    Event: 'shipment.created',
    EventDate: 'now',
    ShipmentNumber: 's-9',
    ReferenceNumber: '',
    Status: 'new',
    Message: 'Shipment s-9 is new.',
  })
})
