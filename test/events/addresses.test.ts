/** Promise: no delivery reaches a network that the operator has not allowed (contract, section 10). */

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { compileNetworks } from '../../src/language/networks.ts'
import { createPost, createResolve, isPublic } from '../../src/state/events/callback.ts'
import { endpoint, openOffice } from './office.ts'
import { startReceiver } from './receiver.ts'

/** URL hosts that lead to nonpublic addresses, in the spellings that parsers understand. */
const FORBIDDEN_HOSTS = `
  Loopback, decimal, octal, hexadecimal, short, with a trailing dot:
    127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 0x7f.0x0.0x0.0x1 127.0.0.1.
    127.255.255.254 １２７.０.０.１ 127。0。0。1
  This host, private, carrier-grade, link-local, metadata:
    0.0.0.0 0 0.1.2.3 10.0.0.1 167772161 100.64.0.1 100.100.100.200 169.254.169.254 2852039166 0xa9fea9fe
    0251.0376.0251.0376 168.63.129.16 172.16.0.1 172.31.255.255 192.168.1.1 0300.0250.1.1
  Special purposes, documentation, benchmarks, multicast, reserved, broadcast:
    192.0.0.170 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1
    255.255.255.255
  IPv6: loopback, unspecified, mapped, compatible, translated, 6to4, Teredo:
    [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8] [::127.0.0.1]
    [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::8.8.8.8] [64:ff9b:1::1] [2002:7f00:1::] [2002:a00:1::1]
    [2001:0:4136:e378:8000:63bf:3fff:fdd2]
  Unique local, link-local, site-local, multicast, discard, ORCHID, benchmarks, documentation, segment routing:
    [fc00::1] [fd00:ec2::254] [fe80::1] [febf::1] [fec0::1] [ff02::1] [100::1] [2001:20::1] [2001:2::1]
    [2001:db8::1] [3fff::1] [5f00::1]
`
  .split('\n')
  .filter((line) => line.startsWith('    '))
  .flatMap((line) => line.trim().split(' '))

const allowed = compileNetworks([])
/** Tries one delivery to a name that resolves to these addresses, none of which is allowed. */
const postTo = (url: string, addresses: readonly string[]) =>
  createPost({ resolve: async () => addresses })(endpoint(url, { allowed }), DELIVERY)
const DELIVERY = { id: 'msg_1', body: { text: '{}', format: 'json' }, at: 0 } as const
const REFUSED = { kind: 'refused', reason: expect.stringContaining('callback_networks') }

test.each(FORBIDDEN_HOSTS)(
  '%s is refused, as an address, and as the address of a name, also among public ones',
  async (host) => {
    // Nothing is looked up.
    expect(await postTo(`https://${host}/hook`, ['8.8.8.8'])).toMatchObject(REFUSED)
    const address = new URL(`https://${host}/`).hostname.replace(/^\[|\]$/g, '')
    for (const addresses of [[address], ['8.8.8.8', address], [address, '2606:4700::1111']])
      expect(await postTo('https://hook.example.com/', addresses)).toMatchObject(REFUSED)
  },
)

test.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2a00:1450::1'])('%s is public', (address) => {
  expect(isPublic(address)).toBe(true)
})

/** Counts connections to an address that must get none. */
async function startListener(host: string, port = 0) {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await once(server.listen(port, host), 'listening')
  onTestFinished(() => void server.close())
  return { port: Object(server.address()).port, connections: () => connections }
}

test('a name that changes its answer between check and use is not asked again, and leads to the checked address', async () => {
  const receiver = await startReceiver()
  const forbidden = await startListener('127.0.0.2', receiver.port)
  const answers = ['127.0.0.1', '127.0.0.2', 'asked once more'].values()
  const post = createPost({ resolve: async () => answers.take(1).toArray() })
  const host = `hook.example.com:${receiver.port}`
  const target = endpoint(`http://${host}/`, { allowed: compileNetworks(['127.0.0.1']) })
  expect(await post(target, DELIVERY)).toMatchObject({ kind: 'answered', status: 200 })
  expect(receiver.received).toMatchObject([{ headers: { host } }])
  expect(await post(target, DELIVERY)).toMatchObject({ kind: 'refused' })
  expect(forbidden.connections()).toBe(0)
})

test('no connection is made to a refused address, and the event is parked at once with the reason', async () => {
  const listener = await startListener('127.0.0.1')
  const target = `http://127.0.0.1:${listener.port}/hook`
  const { take, pass, found, lines } = await openOffice({ endpoints: [endpoint(target, { allowed })] })
  const id = await take()
  await pass(0)
  const outcome = '127.0.0.1 is private; add it to callback_networks'
  expect(await found(id)).toMatchObject({ state: 'parked', failures: 1, outcome })
  await pass(1_000_000_000)
  expect(listener.connections()).toBe(0)
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'an event is parked', outcome }))
})

describe('the name servers', () => {
  const HEADER_BYTES = 12
  const NO_ERROR = 0
  const SERVER_FAILED = 2
  const UNKNOWN_NAME = 3
  const IPV4 = '192.0.2.1'
  const IPV6 = '2001:db8::1'

  /** Addresses by the type of the question (RFC 1035), in the form of a record. */
  const DATA = new Map([
    [1, Buffer.from([192, 0, 2, 1])],
    [28, Buffer.from('20010db8000000000000000000000001', 'hex')],
  ])

  /** Starts a name server that has one answer to all questions, and returns a resolver that asks it. */
  async function resolverOf(status: number, types: readonly number[] = []) {
    const server = createSocket('udp4')
    server.on('message', (query, { port, address }) => {
      // The question ends with its type and class.
      const end = query.indexOf(0, HEADER_BYTES) + 5
      const type = query.readUInt16BE(end - 4)
      const data = types.includes(type) ? DATA.get(type) : undefined
      const reply = Buffer.concat([query.subarray(0, end), data ? recordOf(type, data) : Buffer.alloc(0)])
      reply.writeUInt16BE(0x8180 | status, 2)
      reply.writeUInt16BE(data ? 1 : 0, 6)
      reply.writeUInt32BE(0, 8)
      server.send(reply, port, address)
    })
    await once(server.bind(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    return createResolve({ servers: [`127.0.0.1:${server.address().port}`] })
  }

  /** A record of the name in the question. */
  function recordOf(type: number, data: Buffer): Buffer {
    const head = Buffer.from('c00c0000000100000001', 'hex')
    head.writeUInt16BE(type, 2)
    return Buffer.concat([head, Buffer.from([0, data.length]), data])
  }

  test.each([
    ['both families', [1, 28], [IPV4, IPV6]],
    ['one family', [28], [IPV6]],
  ])('return every address of a name, of %s', async (_, types, addresses) => {
    expect(await (await resolverOf(NO_ERROR, types))('hook.example.com')).toEqual(addresses)
  })

  test("may not know a name that is in the machine's own list", async () => {
    const addresses = await (await resolverOf(UNKNOWN_NAME))('localhost')
    expect(['127.0.0.1', '::1']).toEqual(expect.arrayContaining([...addresses]))
    expect(addresses.length).toBeGreaterThan(0)
  })

  test('may fail, and no other is asked', async () => {
    await expect((await resolverOf(SERVER_FAILED))('localhost')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })

  test('may know no such name, which is the reason of a failed delivery', async () => {
    const post = createPost({ resolve: await resolverOf(UNKNOWN_NAME) })
    const reply = await post(endpoint('https://hook.invalid/'), DELIVERY)
    expect(reply).toEqual({ kind: 'failed', reason: 'the name has no address' })
  })
})
