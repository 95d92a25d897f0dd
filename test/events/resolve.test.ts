import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createResolve } from '../../src/events/callback.ts'

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
