import { describe, expect, test } from 'vitest'
import { createPost } from '../../src/events/callback.ts'
import { compileNetworks } from '../../src/networks.ts'
import { signingKey } from '../../src/webhook-signature.ts'
import { endpoint } from './office.ts'
import { replies, startReceiver } from './receiver.ts'

const BODY = { text: '{"Event":"shipment.created"}', format: 'json' } as const
const TRY = { id: 'msg_1', body: BODY, at: 1_700_000_000_999 }
const post = createPost({ resolve: async () => ['127.0.0.1'] })

test('a try is one request, with a time in whole seconds, and its answer is a reply', async () => {
  const receiver = await startReceiver(replies(202, { 'retry-after': '7' }))
  const asked = endpoint(`http://hook.example.com:${receiver.port}/hook?key=1`)
  expect(await post(asked, TRY)).toEqual({ kind: 'answered', status: 202, retryAfter: '7' })
  expect(receiver.received).toHaveLength(1)
  expect(receiver.received[0]).toMatchObject({
    method: 'POST',
    path: '/hook?key=1',
    body: BODY.text,
    headers: {
      host: `hook.example.com:${receiver.port}`,
      'content-type': 'application/json',
      'user-agent': 'transload',
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1700000000',
    },
  })
  expect(receiver.received[0]?.headers).not.toHaveProperty('authorization')
})

test.each([
  ['caller:pass%3Aword@', 'caller:pass:word'],
  ['caller@', 'caller:'],
  [':word@', ':word'],
])('the address http://%s… sends the credential %s', async (user, pair) => {
  const receiver = await startReceiver()
  await post(endpoint(receiver.url.replace('http://', `http://${user}`)), TRY)
  expect(receiver.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from(pair).toString('base64')}`)
})

test('of several addresses, one that is not allowed is enough for a refusal', async () => {
  const receiver = await startReceiver()
  const both = createPost({ resolve: async () => ['127.0.0.1', '10.0.0.1'] })
  const asked = endpoint(`http://hook.example.com:${receiver.port}/`, { allowed: compileNetworks(['127.0.0.1']) })
  expect(await both(asked, TRY)).toEqual({
    kind: 'refused',
    reason: 'hook.example.com is the address 10.0.0.1, which callback_networks does not allow',
  })
  expect(receiver.received).toEqual([])
})

test('a reply may take its time, and its connection ends with the try', async () => {
  const closed = Promise.withResolvers<void>()
  const receiver = await startReceiver((outgoing, _, incoming) => {
    incoming.socket.once('close', closed.resolve)
    setTimeout(() => outgoing.writeHead(200).flushHeaders(), 30)
    setTimeout(() => outgoing.write('{'), 60)
    setTimeout(() => outgoing.end('}'), 90)
  })
  expect(await post(endpoint(receiver.url), TRY)).toMatchObject({ kind: 'answered', status: 200 })
  await closed.promise
})

test('a try that gets no whole reply in time says how long it waited', async () => {
  const hasty = createPost({ resolve: async () => ['127.0.0.1'], timeoutMs: 50 })
  const receiver = await startReceiver(() => undefined)
  expect(await hasty(endpoint(receiver.url), TRY)).toEqual({
    kind: 'failed',
    reason: 'no whole reply within 0.05 s',
  })
  const nowhere = createPost({ resolve: async () => [] })
  expect(await nowhere(endpoint('http://hook.example.com/'), TRY)).toEqual({ kind: 'failed', reason: 'failed (Error)' })
})

test('a try is signed if the endpoint has keys', async () => {
  const receiver = await startReceiver()
  const key = signingKey(`whsec_${Buffer.alloc(24, 1).toString('base64')}`) ?? expect.fail('no key')
  await post(endpoint(receiver.url, { keys: [key] }), TRY)
  await post(endpoint(receiver.url), TRY)
  const [signed, plain] = receiver.received.map(({ headers }) => headers)
  expect(signed).toMatchObject({ 'webhook-id': 'msg_1', 'webhook-signature': expect.stringMatching(/^v1,\S{44}$/) })
  expect(plain).toMatchObject({ 'webhook-id': 'msg_1', 'webhook-timestamp': '1700000000' })
  expect(plain).not.toHaveProperty('webhook-signature')
})

test('a form is sent as one', async () => {
  const receiver = await startReceiver()
  await post(endpoint(receiver.url), { ...TRY, body: { text: 'Event=created', format: 'form' } })
  expect(receiver.received[0]).toMatchObject({
    body: 'Event=created',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
})

describe('a try without a reply tells the reason, without the address:', () => {
  test.each([
    ['ECONNREFUSED', 'connection refused'],
    ['ENOTFOUND', 'the name has no address'],
    ['ECONNRESET', 'connection lost'],
    ['HPE_INVALID_CONSTANT', 'the reply is not HTTP'],
    ['EHOSTUNREACH', 'failed (EHOSTUNREACH)'],
  ])('%s', async (code, reason) => {
    const fails = createPost({ resolve: () => Promise.reject(Object.assign(new Error('secret'), { code })) })
    expect(await fails(endpoint('http://hook.example.com/'), TRY)).toEqual({ kind: 'failed', reason })
  })

  test.each([
    [new TypeError('secret'), 'failed (TypeError)'],
    [Object.assign(new Error('secret'), { code: 5 }), 'failed (Error)'],
    ['secret', 'failed'],
  ])('%s', async (thrown, reason) => {
    const fails = createPost({ resolve: () => Promise.reject(thrown) })
    expect(await fails(endpoint('http://hook.example.com/'), TRY)).toEqual({ kind: 'failed', reason })
  })

  test('its caller has ended it', async () => {
    const receiver = await startReceiver(() => undefined)
    const ending = new AbortController()
    const reply = post(endpoint(receiver.url), { ...TRY, signal: ending.signal })
    await receiver.count(1)
    ending.abort()
    expect(await reply).toEqual({ kind: 'failed', reason: 'interrupted' })
  })
})
