/** Promise: no value from a caller makes the gateway fail (contract, section 2). */

import { Pool } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, post, startGateway } from '../gateway.ts'
import { sample, size } from '../size.ts'
import { NAUGHTY } from './naughty-values.ts'

const QUOTE = '/getShippingQuote.php'
const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = 'R-1'
const names = {
  ReferenceNumber: '',
  ShipmentNumber: '',
  OrderRefNumber: '',
  shipment_id: '',
  id: '',
  number: '',
  VinNo: '',
}

/** Every action: its path, its fields, and its optional fields. */
const ACTIONS: Readonly<Record<string, { path: string; fields: Readonly<Record<string, string>>; more?: object }>> = {
  'quote.get': { path: QUOTE, fields: quoteExample },
  'quote.update': { path: QUOTE, fields: { ActionName: 'Update Rate', ShipmentNumber: NUMBER }, more: quoteExample },
  'quote.approve': { path: QUOTE, fields: { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }, more: names },
  'shipment.create': { path: '/createShipment.php', fields: bookingExample },
  'shipment.get': { path: '/getShipment.php', fields: { ReferenceNumber: REFERENCE }, more: names },
  'shipment.update': {
    path: '/updateShipment.php',
    fields: { ReferenceNumber: REFERENCE },
    more: { ...bookingExample, ...names },
  },
  'shipment.cancel': { path: '/deleteShipment.php', fields: { ReferenceNumber: REFERENCE }, more: names },
}

const CLEAN_STATUSES = new Set([200, 400, 404, 409, 413, 422])
/** The only requests that the gateway may send: known paths, with each id as one segment. */
const CLEAN_PATH = /^\/v2\/(quote|shipments?)(\/(?!\.+(\/|$))[A-Za-z0-9._~!'()*%-]+(\/approve)?)?$/
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u
const REPLY_HEADERS = new Set([
  ...[
    'access-control-allow-origin',
    'connection',
    'content-length',
    'content-type',
    'date',
    'deprecation',
    'keep-alive',
    'link',
  ],
  ...[
    'idempotent-replayed',
    'retry-after',
    'transload-shipment-id',
    'transload-shipment-number',
    'transload-assumed',
    'transload-ignored',
    'x-request-id',
  ],
])

interface NaughtyRequest {
  readonly action: string
  readonly field: string
  readonly value: string
}

/** Sends a call with one invalid value; returns the errors of the answer. */
async function attempt({ action, field, value }: NaughtyRequest, number: number, pool: Pool): Promise<string[]> {
  const { path, fields } = ACTIONS[action] ?? { path: '', fields: {} }
  const own = action === 'shipment.create' ? { ReferenceNumber: `N-${number}` } : {}
  // A null prototype makes `__proto__` an ordinary name.
  const pairs = Object.entries({ ...fields, ...own }).filter(([name]) => name !== field)
  pairs.push([field, value])
  const json = `{${pairs.map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`)}}`
  const isRead = action === 'shipment.get'
  const form = new URLSearchParams(pairs).toString()
  const response = await pool.request({
    method: isRead ? 'GET' : 'POST',
    path: isRead ? `${path}?${form}` : path,
    headers: { authorization: basic() },
    body: isRead ? null : number % 2 ? form : json,
  })
  const text = await response.body.text()
  const wrong: string[] = []
  if (!CLEAN_STATUSES.has(response.statusCode) && !(isRead && response.statusCode === 431))
    wrong.push(`status ${response.statusCode}`)
  for (const [name, header] of Object.entries(response.headers)) {
    if (!REPLY_HEADERS.has(name) || CONTROL.test(String(header))) wrong.push(`header ${name}`)
  }
  if (response.statusCode !== 200) {
    const { Message: message } = JSON.parse(text)
    if (typeof message !== 'string' || CONTROL.test(message) || message.length > 500 || !message.isWellFormed()) {
      wrong.push(`message ${message}`)
    }
  }
  return wrong.map((mistake) => `${action}, ${field} ${JSON.stringify(value).slice(0, 60)}: ${mistake}`)
}

const AT_ONCE = 16
const THOROUGH = process.env['TRANSLOAD_RUNS'] !== undefined
/** Each value is tried in several fields, and each field with several values. */
const ONE_IN = size(80, 3)

test.each(Object.keys(ACTIONS))(
  '%s: nothing naughty in any field does any harm',
  { timeout: 120_000 },
  async (action) => {
    const gateway = await startGateway({ env: { MAX_IN_FLIGHT: '10000', SOURCE_IN_FLIGHT: '10000' } })
    const pool = new Pool(gateway.url, { connections: AT_ONCE })
    onTestFinished(() => pool.close())
    expect((await post(gateway, QUOTE, quoteExample)).status).toBe(200)
    expect((await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: REFERENCE })).status).toBe(
      200,
    )

    const { fields = {}, more = {} } = ACTIONS[action] ?? {}
    const names = new Set([...Object.keys(fields), ...Object.keys(more), 'Foo', '__proto__'])
    const all: NaughtyRequest[] = [...names].flatMap((field, at) => {
      const met = NAUGHTY.filter((_, i) => THOROUGH || (i + at) % ONE_IN === 0)
      return met.map((value) => ({ action, field, value }))
    })
    // The names of fields also come from callers.
    all.push(...sample(NAUGHTY, 6).map((field) => ({ action, field, value: 'x' })))
    const queue = all.entries()
    const wrong: string[] = []
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const [number, sent] of queue) wrong.push(...(await attempt(sent, number, pool)))
      }),
    )
    expect(wrong).toEqual([])

    for (const { path, body, headers } of gateway.sandbox.requests) {
      expect(path).toMatch(CLEAN_PATH)
      expect(Object.keys(headers).filter((name) => /evil/i.test(name))).toEqual([])
      if (body !== '') expect(body.isWellFormed() && Object.hasOwn(JSON.parse(body), '__proto__')).toBe(false)
    }
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    const written = JSON.stringify(gateway.lines().map(({ time, ms, id, ...line }) => line))
    expect(NAUGHTY.filter((value) => value.length > 9 && written.includes(JSON.stringify(value).slice(1, -1)))).toEqual(
      [],
    )
  },
)
