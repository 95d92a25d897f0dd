/** Promise: no delivery reaches a network that the operator did not allow (contract, section 10). */

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { compileNetworks } from '../../src/language/networks.ts'
import { createPost, createResolve, isPublic } from '../../src/state/events/callback.ts'
import { endpoint, openOffice } from './office.ts'
import { startReceiver } from './receiver.ts'

describe('addresses', () => {
  /** Hosts of URLs that lead to addresses which are not public, in the spellings that parsers understand. */
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
    .filter((line) => line.startsWith('      '))
    .flatMap((line) => line.trim().split(' '))

  const NOWHERE = compileNetworks([])
  const delivery = { id: 'msg_1', body: { text: '{}', format: 'json' }, at: 0 } as const

  describe('a literal address', () => {
    test.each(FORBIDDEN_HOSTS)('%s is refused, and nothing is looked up', async (host) => {
      const post = createPost({ resolve: () => Promise.reject(new Error('looked up')) })
      const reply = await post(endpoint(`https://${host}/hook`, { allowed: NOWHERE }), delivery)
      expect(reply).toMatchObject({ kind: 'refused', reason: expect.stringContaining('callback_networks') })
    })

    test.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2a00:1450::1'])('%s is public', (address) => {
      expect(isPublic(address)).toBe(true)
    })
  })

  /** The addresses of the list, as a resolver would give them. */
  const ADDRESSES = FORBIDDEN_HOSTS.map((host) => new URL(`https://${host}/`).hostname.replace(/^\[|\]$/g, ''))

  describe('a name', () => {
    test.each([...new Set(ADDRESSES)])(
      'that resolves to %s is refused, also among public addresses',
      async (address) => {
        for (const addresses of [[address], ['8.8.8.8', address], [address, '2606:4700::1111']]) {
          const post = createPost({ resolve: async () => addresses })
          const reply = await post(endpoint('https://hook.example.com/', { allowed: NOWHERE }), delivery)
          expect(reply.kind).toBe('refused')
        }
      },
    )

    test('that nobody knows is the reason of a failed delivery', async () => {
      const unknown = Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
      const post = createPost({ resolve: () => Promise.reject(unknown) })
      const reply = await post(endpoint('https://hook.example.com/', { allowed: NOWHERE }), delivery)
      expect(reply).toEqual({ kind: 'failed', reason: 'the name has no address' })
    })

    test('that changes its answer between check and use is not asked again, and leads to the checked address', async () => {
      const allowed = await startReceiver()
      const forbidden = await startListener('127.0.0.2', allowed.port)
      const answers = [['127.0.0.1'], ['127.0.0.2']]
      let asked = 0
      const post = createPost({
        resolve: async () => {
          asked += 1
          return answers[asked - 1] ?? ['127.0.0.2']
        },
      })
      const target = endpoint(`http://hook.example.com:${allowed.port}/`, { allowed: compileNetworks(['127.0.0.1']) })
      expect(await post(target, delivery)).toMatchObject({ kind: 'answered', status: 200 })
      expect(asked).toBe(1)
      expect(allowed.received[0]?.headers.host).toBe(`hook.example.com:${allowed.port}`)
      expect(await post(target, delivery)).toMatchObject({ kind: 'refused' })
      expect(forbidden.connections()).toBe(0)
    })
  })

  test('no refused address is connected to, and the event is parked at once with the reason', async () => {
    const listener = await startListener('127.0.0.1')
    const target = `http://127.0.0.1:${listener.port}/hook`
    const { take, pass, found, lines } = await openOffice({ endpoints: [endpoint(target, { allowed: NOWHERE })] })
    const id = await take()
    await pass(0)
    const outcome = '127.0.0.1 is private; add it to callback_networks'
    expect(await found(id)).toMatchObject({ state: 'parked', failures: 1, outcome })
    await pass(1_000_000_000)
    expect(listener.connections()).toBe(0)
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'an event is parked', outcome }))
  })

  /** Counts connections to an address, which nothing may open. */
  async function startListener(host: string, port = 0) {
    let connections = 0
    const server = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    server.listen(port, host)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const address = server.address()
    return {
      port: typeof address === 'object' && address !== null ? address.port : 0,
      connections: () => connections,
    }
  }
})

describe('names', () => {
  const IPV4 = 1
  const IPV6 = 28
  const NO_ERROR = 0
  const SERVER_FAILED = 2
  const UNKNOWN_NAME = 3

  /** The answers of a name server: the status of a name, and its addresses by type. */
  type Zone = Readonly<
    Record<string, { readonly status?: number; readonly [IPV4]?: string[]; readonly [IPV6]?: string[] }>
  >

  /** Starts a name server (RFC 1035) that knows these names, and returns a resolver that asks it. */
  async function resolverOf(zone: Zone) {
    const server = createSocket('udp4')
    server.on('message', (query, from) => server.send(replyTo(query, zone), from.port, from.address))
    server.bind(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return createResolve({ servers: [`127.0.0.1:${server.address().port}`] })
  }

  function replyTo(query: Buffer, zone: Zone): Buffer {
    const HEADER = 12
    const labels: string[] = []
    let at = HEADER
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += length + 1
    }
    const type = query.readUInt16BE(at + 1)
    const question = query.subarray(HEADER, at + 5)
    const known = zone[labels.join('.').toLowerCase()]
    const status = known ? (known.status ?? NO_ERROR) : UNKNOWN_NAME
    const addresses = (type === IPV4 || type === IPV6) && status === NO_ERROR ? (known?.[type] ?? []) : []
    const header = Buffer.alloc(HEADER)
    header.writeUInt16BE(query.readUInt16BE(0), 0)
    header.writeUInt16BE(0x8180 | status, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(addresses.length, 6)
    return Buffer.concat([header, question, ...addresses.map((address) => recordOf(address, type))])
  }

  function recordOf(address: string, type: number): Buffer {
    const data = type === IPV4 ? Buffer.from(address.split('.').map(Number)) : Buffer.from(address, 'hex')
    const head = Buffer.alloc(12)
    // The name is that of the question.
    head.writeUInt16BE(0xc00c, 0)
    head.writeUInt16BE(type, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt32BE(1, 6)
    head.writeUInt16BE(data.length, 10)
    return Buffer.concat([head, data])
  }

  const IPV6_HEX = '20010db8000000000000000000000001'

  test('every address of a name is found, of both families', async () => {
    const resolve = await resolverOf({
      'both.example.com': { [IPV4]: ['192.0.2.1', '192.0.2.2'], [IPV6]: [IPV6_HEX] },
      'one.example.com': { [IPV6]: [IPV6_HEX] },
    })
    expect([...(await resolve('both.example.com'))].sort()).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
    expect(await resolve('one.example.com')).toEqual(['2001:db8::1'])
  })

  test('a name that the servers do not know may be in the list of the machine', async () => {
    const resolve = await resolverOf({})
    const addresses = await resolve('localhost')
    expect(addresses.every((address) => address === '127.0.0.1' || address === '::1')).toBe(true)
    expect(addresses.length).toBeGreaterThan(0)
  })

  test('a failure of the servers is one, and is not asked elsewhere', async () => {
    const resolve = await resolverOf({ localhost: { status: SERVER_FAILED } })
    await expect(resolve('localhost')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })
})
