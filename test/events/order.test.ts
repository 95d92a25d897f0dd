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

const created = {
  tenant: 'acme',
  shipment: 's-9',
  event: 'shipment.created',
  date: 'now',
  digest: '',
  payload: '{}',
  deliver: true,
}

const claim = { tenant: 'acme', key: 'k', handle: 'bk_1', body: '', instance: 'i', reference: 'REF-9', vin: '' }

test.each(['sending', 'unknown'] as const)(
  'while a booking is %s, an event of an unnamed shipment waits for it',
  async (state) => {
    const receiver = await startReceiver()
    const { store, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    await store.claim(claim)
    if (state === 'unknown') await store.change({ ...claim, version: 1 }, { state, instance: 'i', why: 'late' })
    const { id } = await store.takeEvent(created)
    await pass(0)
    await pass(1_000)
    expect(await found(id)).toMatchObject({ state: 'due', failures: 0, outcome: '' })
    expect(receiver.received.length).toBe(0)
    const version = state === 'unknown' ? 2 : 1
    const made = { state: 'booked', instance: 'i', shipment: 's-9', reply: '', why: 'made' } as const
    await store.change({ ...claim, version }, made)
    await pass(1_000)
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ ReferenceNumber: 'REF-9' })
  },
)

const NAMELESS = {
  Event: 'shipment.created',
  EventDate: 'now',
  ShipmentNumber: 's-9',
  ReferenceNumber: '',
  Status: 'new',
  Message: 'Shipment s-9 is new.',
}

test('it waits ten seconds at most', async () => {
  const receiver = await startReceiver()
  const { store, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  await store.claim(claim)
  await store.takeEvent(created)
  for (let i = 0; i < 10; i += 1) await pass(1_000)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual(NAMELESS)
})

test('an event of a shipment that no booking can have made is delivered at once, with the id of the service', async () => {
  const receiver = await startReceiver()
  const { store, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  await store.claim({ ...claim, tenant: 'other' })
  await store.takeEvent(created)
  await pass(0)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual(NAMELESS)
})
