import { expect, test } from 'vitest'
import { endpoint, openOffice } from './office.ts'
import { type Handle, replies, startReceiver } from './receiver.ts'

/** The tries of an event before it is parked. */
const TRIES = 10
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Longer than the jitter of any pause. */
const ALMOST = 1.11

const failing: readonly { readonly fault: string; readonly handle: Handle; readonly outcome: string }[] = [
  { fault: 'a server error', handle: replies(500), outcome: 'answered 500' },
  { fault: 'a refusal', handle: replies(400), outcome: 'answered 400' },
  { fault: 'a redirect', handle: replies(302, { location: 'http://127.0.0.1:1/elsewhere' }), outcome: 'answered 302' },
  { fault: 'a permanent redirect', handle: replies(308, { location: '/elsewhere' }), outcome: 'answered 308' },
  { fault: 'not modified', handle: replies(304), outcome: 'answered 304' },
  { fault: 'no answer', handle: () => undefined, outcome: 'no whole reply within 1 s' },
  {
    fault: 'a success that ends in a reset',
    handle: (outgoing, _, incoming) => {
      outgoing.writeHead(200, { 'content-length': '100' })
      outgoing.write('{"ok":', () => incoming.socket.resetAndDestroy())
    },
    outcome: 'connection lost',
  },
  {
    fault: 'a success whose body never ends',
    handle: (outgoing) => void outgoing.writeHead(200, { 'content-length': '100' }).write('{"ok":'),
    outcome: 'no whole reply within 1 s',
  },
  {
    fault: 'a connection that closes',
    handle: (_, __, incoming) => incoming.socket.destroy(),
    outcome: 'connection lost',
  },
  {
    fault: 'a reply that is not HTTP',
    handle: (_, __, incoming) => void incoming.socket.end('hello\r\n\r\n'),
    outcome: 'the reply is not HTTP',
  },
]

test.each(failing)('$fault is a failure, and is tried again after 5 s', async ({ handle, outcome }) => {
  const receiver = await startReceiver(handle)
  const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)], timeoutMs: 1_000 })
  const id = await take()
  await pass(0)
  expect(await found(id)).toMatchObject({ state: 'due', failures: 1, outcome })
  await pass(4_000)
  expect(receiver.received.length).toBe(1)
  receiver.answer(replies(204))
  await pass(2_000)
  expect(await found(id)).toMatchObject({ state: 'delivered', failures: 1, outcome: 'answered 204' })
  const [first, second] = receiver.received
  expect(second?.body).toBe(first?.body)
  expect(second?.headers['webhook-id']).toBe(id)
})

test('a name without an address, and a look-up that does not end, are failures', async () => {
  const unknown = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))
  for (const [resolve, outcome] of [
    [unknown, 'the name has no address'],
    [async () => [], 'failed (Error)'],
    [() => new Promise<never>(() => undefined), 'no whole reply within 0.1 s'],
  ] as const) {
    const { take, pass, found } = await openOffice({
      endpoints: [endpoint('http://hook.example.com/')],
      resolve,
      timeoutMs: 100,
    })
    const id = await take()
    await pass(0)
    expect(await found(id)).toMatchObject({ state: 'due', outcome })
  }
})

test('a long reply is not read to its end', async () => {
  let written = 0
  const receiver = await startReceiver((outgoing) => {
    outgoing.writeHead(200)
    const chunk = Buffer.alloc(64 * 1024)
    const more = () => {
      while (!outgoing.destroyed && outgoing.write(chunk)) written += chunk.length
      written += chunk.length
      if (!outgoing.destroyed) outgoing.once('drain', more)
    }
    more()
  })
  const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const id = await take()
  await pass(0)
  expect((await found(id)).state).toBe('delivered')
  // The buffers of two sockets, and no more.
  expect(written).toBeLessThan(32 * 1024 * 1024)
})

test('a receiver that is down for three days gets the event in ten tries, and then it is parked', async () => {
  const receiver = await startReceiver(replies(503))
  const { take, pass, found, lines } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const id = await take()
  await pass(0)
  const pauses = [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS)]
  for (const [i, pauseMs] of pauses.entries()) {
    await pass(pauseMs * 0.89)
    expect(receiver.received.length).toBe(i + 1)
    await pass(pauseMs * (ALMOST - 0.89))
    expect(receiver.received.length).toBe(i + 2)
  }
  expect(TRIES).toBe(pauses.length + 1)
  expect(await found(id)).toMatchObject({ state: 'parked', failures: TRIES, outcome: 'answered 503' })
  await pass(1_000 * HOUR_MS)
  expect(receiver.received.length).toBe(TRIES)
  const told = lines.filter(({ msg }) => /%|parked/.test(String(msg))).map(({ level, msg }) => `${level}: ${msg}`)
  expect(told).toEqual([
    'warn: an event has used 50 % of its tries',
    'warn: an event has used 70 % of its tries',
    'warn: an event has used 90 % of its tries',
    'error: an event is parked',
  ])
})

test('events of a parked one are delivered, and a replay delivers that one', async () => {
  const receiver = await startReceiver(replies(500))
  const { take, pass, found, store } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const id = await take({ event: 'shipment.created' })
  for (let i = 0; i < TRIES; i += 1) await pass(30 * HOUR_MS)
  expect((await found(id)).state).toBe('parked')
  receiver.answer(replies(200))
  const next = await take({ event: 'shipment.assigned' })
  await pass(0)
  expect((await found(next)).state).toBe('delivered')
  expect(await store.replayEvents([id])).toBe(1)
  await pass(0)
  expect(await found(id)).toMatchObject({ state: 'delivered', failures: 0 })
})

test('410 stops the endpoint until an operator resumes it, and events go on being stored', async () => {
  const receiver = await startReceiver(replies(410))
  const { take, pass, found, store, lines } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const first = await take()
  await pass(0)
  const second = await take({ shipment: 's-2' })
  await pass(100 * HOUR_MS)
  expect(receiver.received.length).toBe(1)
  expect(await store.endpoints()).toMatchObject([{ tenant: 'acme', stopped: true }])
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'an endpoint has stopped its deliveries', level: 'error' }),
  )
  receiver.answer(replies(200))
  await store.resumeEndpoint('acme')
  await pass(0)
  for (const id of [first, second]) expect((await found(id)).state).toBe('delivered')
})

test.each([429, 502, 504])('%i slows the whole endpoint down, as long as it asks', async (status) => {
  const receiver = await startReceiver(replies(status, { 'retry-after': '600' }))
  const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)], slots: 1 })
  await take()
  await pass(0)
  const other = await take({ shipment: 's-2' })
  await pass(590_000)
  expect(receiver.received.length).toBe(1)
  receiver.answer(replies(200))
  await pass(11_000)
  expect((await found(other)).state).toBe('delivered')
})

test('a shutdown interrupts a try, which does not count', async () => {
  const receiver = await startReceiver(() => undefined)
  const { take, deliveries, found } = await openOffice({ endpoints: [endpoint(receiver.url)], timeoutMs: 60_000 })
  const id = await take()
  deliveries.wake('acme')
  await receiver.count(1)
  await deliveries.close(10)
  expect(await found(id)).toMatchObject({ state: 'due', failures: 0, outcome: 'interrupted by a shutdown' })
  expect(receiver.received.length).toBe(1)
  deliveries.wake('acme')
  await deliveries.idle()
  expect(receiver.received.length).toBe(1)
})

test('an event that cannot be translated is parked, and the next one of its shipment goes out', async () => {
  const receiver = await startReceiver()
  const { take, pass, found, lines } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const broken = await take({ event: 'shipment.created', payload: '{"data":' })
  const next = await take({ event: 'shipment.assigned' })
  await pass(0)
  expect(await found(broken)).toMatchObject({ state: 'parked', outcome: 'cannot be translated' })
  expect((await found(next)).state).toBe('delivered')
  expect(lines).toContainEqual(expect.objectContaining({ level: 'error', event: broken }))
})
