/** Promise: explanations of pasted text are limited (contract, section 11). */

import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { actions } from '../../mappings/index.ts'
import { post, startGateway } from '../gateway.ts'
import { dial } from '../http/wire.ts'

const MIB = 1024 * 1024
const MOST_ROWS = 1_000
const MEMBERS = 12_000
const NOBODY = { authorization: '' }
const gateway = await startGateway({ closeAt: afterAll })
const LONG_NAME = 'a'.repeat(250_000)

/** Many members below many levels: their paths together have 864 million characters. */
const DEEP = deep(MEMBERS)

function deep(members: number): string {
  const levels = Array.from({ length: 90 }, () => `{"${'n'.repeat(800)}":`)
  const inner = Array.from({ length: members }, (_, i) => `"m${i}":1`).join(',')
  return `{"vehicles":[],"x":${levels.join('')}{${inner}}${'}'.repeat(90)}}`
}

const explanations = [
  ...[...new Set(actions.flatMap(({ legacy }) => legacy.paths))].map((path) => `/dry-run${path}`),
  ...actions.map(({ name }) => `/dry-run/reply/${name}`),
  '/dry-run/webhook/shipment.updated',
]

describe('an object of 12,000 members below 90 levels', () => {
  test.each([
    ['/dry-run/reply/shipment.get', 'gzip'],
    ['/dry-run/reply/shipment.get', 'identity'],
    ['/dry-run/createShipment.php', 'identity'],
  ])('%s (%s) lists no path that is longer than all paths may be, and counts the rows', async (path, encoding) => {
    const body = encoding === 'gzip' ? Uint8Array.from(gzipSync(DEEP)) : DEEP
    const { status, text, json } = await post(gateway, path, body, { ...NOBODY, 'content-encoding': encoding })
    expect(status).toBe(200)
    expect(json).toMatchObject({ truncated: true, more: MEMBERS })
    expect(Buffer.byteLength(text)).toBeLessThan(MIB)
    expect(text).not.toContain(`${'n'.repeat(800)}.`)
  })

  test('a thousand of many leaves with short names are listed', async () => {
    const flat = JSON.stringify(Object.fromEntries(Array.from({ length: MEMBERS }, (_, i) => [`m${i}`, 1])))
    const reply = await post(gateway, '/dry-run/reply/quote.get', flat, NOBODY)
    expect(reply.json).toMatchObject({ truncated: true, more: MEMBERS - MOST_ROWS })
    expect(reply.json.unknown).toHaveLength(MOST_ROWS)
    const event = await post(gateway, '/dry-run/webhook/shipment.updated', `{"data":${flat}}`, NOBODY)
    expect(event.json).toMatchObject({ truncated: true, more: MEMBERS - MOST_ROWS })
  })
})

test.each(explanations)('%s suggests nothing for a name of 250,000 letters', async (path) => {
  const named = { [LONG_NAME]: '1' }
  const reply = await post(gateway, path, path.includes('webhook') ? { data: named } : named, NOBODY)
  expect(reply.status).toBe(200)
  expect(reply.json.didYouMean).toBeUndefined()
  expect(Buffer.byteLength(reply.text)).toBeLessThan(MIB)
})

test.each([
  ['texts that JSON writes longer', '/dry-run/createShipment.php', { fill: '"', size: 4_000 }],
  ['one long text', '/dry-run/createShipment.php', { fill: "'", size: 250_000 }],
  ['one long text of a reply', '/dry-run/reply/shipment.get', { fill: '"', size: 120_000 }],
])('%s: the answer has at most 1 MiB', async (_, path, { fill, size }) => {
  const text = fill.repeat(size)
  const names = actions.find(({ name }) => name === 'shipment.create')?.example.request ?? {}
  const body = size > 4_000 ? { pickup: { notes: text } } : Object.fromEntries(Object.keys(names).map((n) => [n, text]))
  const reply = await post(gateway, path, body, NOBODY)
  expect(reply.status).toBe(200)
  expect(Buffer.byteLength(reply.text)).toBeLessThan(MIB)
})

test('the workbench accepts 32 KiB, and shows no page beyond 1 MiB', async () => {
  const paste = (body: string) => post(gateway, '/', body, { ...NOBODY, accept: 'text/html' })
  expect((await paste(`body=${JSON.stringify({ [LONG_NAME]: 1 })}`)).status).toBe(413)
  for (const body of [
    `body=${JSON.stringify({ ['"'.repeat(10_000)]: 1 })}`,
    `body={"PickupName":"${"'".repeat(4_000)}","DeliveryName":"${"'".repeat(4_000)}","PickupZip":"x"}`,
    'action=shipment.get&body={}&reply={',
    `action=shipment.get&body={}&reply={${Array.from({ length: 3_000 }, (_, i) => `"m${i}":1`).join(',')}}`,
  ]) {
    const { status, text } = await paste(body)
    expect(status).toBe(200)
    expect(Buffer.byteLength(text)).toBeLessThan(MIB)
  }
})

test('an explanation takes eight times its body; it is refused if that exceeds the share of a source, although the call itself is not', async () => {
  const gateway = await startGateway({ env: { BODY_LIMIT_BYTES: '65536', BODIES_LIMIT_BYTES: '262144' } })
  const ofBytes = (bytes: number) =>
    JSON.stringify({ PickupName: 'x'.repeat(bytes / 3), a: 'x'.repeat(bytes / 3), b: 'x'.repeat(bytes / 3) })
  const explain = async (bytes: number) =>
    (await post(gateway, '/dry-run/createShipment.php', ofBytes(bytes), NOBODY)).status
  expect([await explain(3_000), await explain(7_000), await explain(9_000)]).toEqual([200, 429, 413])
  expect((await post(gateway, '/createShipment.php', ofBytes(9_000))).status).toBe(422)
})

const requestOf = (line: string, length: number) =>
  `${line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n${'{'.repeat(length)}`

const connected = (count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const wire = await dial(gateway)
      wire.write(requestOf('GET /healthz', 0))
      await wire.received(1)
      return wire
    }),
  )

test.each([
  ['explanations', 10, 'POST /dry-run/reply/quote.get', 2],
  ['pages', 10, 'GET /reference', 0],
  ['long bodies', 10, 'POST /createShipment.php', 5_000],
  ['requests of one connection', 1, 'GET /nowhere', 0],
])(
  '%s at once have a turn of the event loop each: other calls go on between them',
  async (_, connections, line, length) => {
    const wires = await connected(connections)
    const done = () => gateway.lines().length
    const all = done()
    for (const wire of wires) wire.write(requestOf(line, length).repeat(10 / connections))
    for (let before = all; before < all + 10; before = done()) {
      await new Promise(setImmediate)
      expect(done()).toBeLessThan(before + 2)
    }
  },
)

test('a long body does not wait for an explanation', async () => {
  const wires = await connected(11)
  for (const [i, wire] of wires.entries())
    wire.write(i < 10 ? requestOf('POST /dry-run/reply/quote.get', 2) : requestOf('POST /createShipment.php', 5_000))
  await Promise.all(wires.map((wire) => wire.received(2)))
  expect(gateway.lines().at(-1)).toMatchObject({ action: 'quote.get' })
})
