import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fault, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { booking, call, DEMO, raw, TRIP } from './client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const FAULTS: readonly Fault[] = [
  { kind: 'status', status: 500 },
  { kind: 'status', status: 201, process: true, body: { id: 1 }, headers: { etag: '"1"' } },
  { kind: 'status', status: 404, body: [1] },
  { kind: 'status', status: 502, body: ' <p>Bad gateway' },
  { kind: 'status', status: 429, body: 'slow down' },
  { kind: 'reset-before' },
  { kind: 'reset-after' },
  { kind: 'reset-mid-body' },
  { kind: 'delay', ms: 1 },
  { kind: 'drip', ms: 0 },
  { kind: 'half-json' },
  { kind: 'wrong-length' },
  { kind: 'wrong-length', by: 3 },
  { kind: 'wrong-length', by: -4 },
  { kind: 'wrong-length', by: -4000 },
  { kind: 'no-id' },
  { kind: 'empty' },
  { kind: 'not-json' },
  { kind: 'body', body: '{"a":1}' },
  { kind: 'strange-strings' },
  { kind: 'deep', levels: 3 },
  { kind: 'continue-twice' },
  { kind: 'latin1' },
  { kind: 'huge', megabytes: 0.0001 },
  { kind: 'gzip' },
  { kind: 'gzip', megabytes: 0.0001 },
  { kind: 'raw-deflate' },
  { kind: 'close-on-accept' },
]

/** Sends a request over a connection of its own, and returns all that comes back, without what differs from run to run. */
async function wire(method: string, path: string, body = ''): Promise<string> {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: ${DEMO}`, 'Connection: close']
  const length = body === '' ? [] : [`Content-Length: ${body.length}`]
  const { text, error } = await raw(sandbox, `${[...head, ...length].join('\r\n')}\r\n\r\n${body}`)
  const shown = text
    .replace(/("shipment_id":")[0-9a-f-]{1,36}/, '$1ID')
    .replace(/^(Date|Keep-Alive): .*\r\n/gm, '')
    .replace(/(?:content-length: \d+\r\n)?(content-encoding: [\s\S]*?\r\n\r\n)[\s\S]*/, '$1(compressed)')
  return [shown, error].filter(Boolean).join('\n')
}

const escaped = (text: string) => text.replace(/[^\n -~]/g, (character) => JSON.stringify(character).slice(1, -1))

test('every fault looks on the wire as it did', async () => {
  const told: string[] = []
  for (const fault of [undefined, ...FAULTS]) {
    if (fault) sandbox.fail(fault)
    const reply = await wire('POST', '/v2/quote', JSON.stringify(TRIP))
    told.push(`${fault ? JSON.stringify(fault) : 'no fault'}\n${escaped(reply.replaceAll('\r\n', '\n'))}\n`)
  }
  await expect(told.join('\n')).toMatchFileSnapshot('wire.txt')
  expect(sandbox.requests.length).toBe(FAULTS.length)
})

test('the texts that are compared stay what they are among strange ones', async () => {
  sandbox.fail({ kind: 'strange-strings' })
  const { json } = await call(sandbox, 'POST', '/v2/shipments', booking())
  const { id, status, transport_type, number, vehicles } = json
  expect([status, transport_type, Object(vehicles)[0].type]).toEqual(['new', 'open', 'van'])
  expect(String(id)).toMatch(/^[0-9a-f-]{36}$/)
  expect(String(number).length).toBeGreaterThan('TL-100001'.length)
})

const CONTROLS: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ['POST', 'faults', { kind: 'status', status: 500, times: 2 }],
  [
    'POST',
    'faults',
    [
      { kind: 'delay', ms: 5, on: { method: 'GET', path: '/x*' } },
      { kind: 'empty', times: 'always' },
    ],
  ],
  ['POST', 'faults', { kind: 'status', status: 199 }],
  ['POST', 'faults', { kind: 'status', status: 1000 }],
  ['POST', 'faults', { kind: 'status', status: 200, colour: 'red' }],
  ['POST', 'faults', { kind: 'delay', ms: -1 }],
  ['POST', 'faults', { kind: 'deep', levels: 0 }],
  ['POST', 'faults', { kind: 'deep', levels: 1_000_001 }],
  ['POST', 'faults', { kind: 'huge', megabytes: 0 }],
  ['POST', 'faults', { kind: 'gzip', megabytes: -1 }],
  ['POST', 'faults', { kind: 'wrong-length', by: 1.5 }],
  ['POST', 'faults', { kind: 'empty', times: 0 }],
  ['POST', 'faults', { kind: 'empty', times: 'often' }],
  ['POST', 'faults', { kind: 'nothing' }],
  ['POST', 'faults', 'nonsense'],
  ['DELETE', 'faults'],
  ['GET', 'faults'],
  ['GET', 'requests'],
  [
    'POST',
    'settings',
    { auth: 'bearer', tokenExpiresIn: null, shipmentPath: 'plural', quoteMethod: 'GET', etag: true },
  ],
  ['POST', 'settings', { repeatedCancel: 404, approvalBooks: false, findsByReference: true, nativeError: 'no-cost' }],
  ['POST', 'settings', { nativeNoise: true, movingPrices: 3, deviations: ['challenge'] }],
  ['POST', 'settings', { auth: 'none' }],
  ['POST', 'settings', { tokenExpiresIn: '1', shipmentPath: 'x', quoteMethod: 'PUT', etag: 1, repeatedCancel: 500 }],
  ['POST', 'settings', { approvalBooks: 1, findsByReference: 1, nativeNoise: 1, movingPrices: -1 }],
  ['POST', 'settings', { colour: 'red' }],
  ['POST', 'settings', '{'],
  ['POST', 'nothing'],
]

test('the control endpoints answer as they did', async () => {
  const other = await startSandbox({ clock: () => new Date(0) })
  const told: string[] = []
  for (const [method, path, body] of CONTROLS) {
    const { status, text } = await call(other, method, `/__sandbox/${path}`, body)
    const shown = typeof body === 'string' ? body : (JSON.stringify(body) ?? '')
    told.push(`${method} ${path} ${shown}\n${status} ${text}\n`)
  }
  await other.close()
  await expect(told.join('\n')).toMatchFileSnapshot('control.txt')
})
