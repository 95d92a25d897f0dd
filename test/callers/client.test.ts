/** Promise: in client mode, the service itself says who a caller is (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'

const ACCEPT = { ActionName: 'Accept Rate', ShipmentNumber: quoteExample.ShipmentNumber }
const FIXED = { V2_CLIENT_ID: 'sidecar', V2_CLIENT_SECRET: 's3cret' }
const OWN = basic(FIXED.V2_CLIENT_ID, FIXED.V2_CLIENT_SECRET)

function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Makes every kind of call that reaches the service. */
async function callAll(gateway: TestGateway, authorization: string): Promise<number[]> {
  const named = { ReferenceNumber: bookingExample.ReferenceNumber }
  const headers = { authorization }
  const answers = [
    await post(gateway, '/getShippingQuote.php', quoteExample, headers),
    await post(gateway, '/getShippingQuote.php', { ...ACCEPT, ActionName: 'Update Rate' }, headers),
    await post(gateway, '/createShipment.php', bookingExample, headers),
    await get(gateway, `/getShipment.php?${new URLSearchParams(named)}`, headers),
    await post(gateway, '/updateShipment.php', { ...named, PickupName: 'X' }, headers),
    await post(gateway, '/deleteShipment.php', named, headers),
    await post(gateway, '/getShippingQuote.php', ACCEPT, headers),
    await post(gateway, '/getShippingQuote.php', { pickup: '10314', delivery: '33166' }, headers),
  ]
  return answers.map(({ status }) => status)
}

describe('in client mode', () => {
  test("every call goes out with the caller's own credential, to the letter", async () => {
    const gateway = await startGateway({ sandbox: { credentials: { 'acme co': 'päss:wörd' } } })
    const authorization = `bAsIC  ${encoded('acme co:päss:wörd')}`
    expect(await callAll(gateway, authorization)).toEqual([200, 200, 200, 200, 200, 200, 200, 200])
    expect(new Set(gateway.sandbox.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set([authorization]),
    )
  })

  const useless: [name: string, authorization: string][] = [
    ['none', ''],
    ['a token', 'Bearer abc'],
    ['another scheme', `Digest ${encoded('a:b')}`],
    ['Basic without a value', 'Basic'],
    ['Basic that is not Base64', 'Basic %%%'],
    ['Basic without a colon', `Basic ${encoded('acme')}`],
    ['Basic without an id', `Basic ${encoded(':secret')}`],
    ['Basic with more behind it', `Basic ${encoded('a:b')} x`],
  ]
  test.each(useless)(
    'a legacy call with a credential that is of no use (%s) is 401, and nothing is sent',
    async (_, authorization) => {
      const gateway = await startGateway()
      expect(await callAll(gateway, authorization)).toEqual([401, 401, 401, 401, 401, 401, 401, 401])
      const { headers } = await post(gateway, '/getShippingQuote.php', quoteExample, { authorization })
      expect(headers.get('www-authenticate')).toBe('Basic realm="transload", charset="UTF-8"')
      expect(gateway.sandbox.requests).toEqual([])
    },
  )

  test('a credential that the service does not know is 401, and learns no number', async () => {
    const gateway = await startGateway()
    await post(gateway, '/createShipment.php', bookingExample)
    const guess = { authorization: basic('demo', 'a guess') }
    const known = await get(gateway, `/getShipment.php?ReferenceNumber=${bookingExample.ReferenceNumber}`, guess)
    expect(known.status).toBe(401)
    expect(known.text).not.toMatch(/TL-|[0-9a-f]{8}-[0-9a-f]{4}/)
    const unknown = await get(gateway, '/getShipment.php?ReferenceNumber=UNKNOWN', guess)
    expect(unknown.status).toBe(401)
  })

  test('an empty secret is the business of the service', async () => {
    const gateway = await startGateway({ sandbox: { credentials: { acme: '' } } })
    const answer = await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: basic('acme', '') })
    expect(answer.status).toBe(200)
  })

  test('two secrets of one id are one client', async () => {
    const gateway = await startGateway({ sandbox: { credentials: 'any' } })
    await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: basic('acme', 'old') })
    const accepted = await post(gateway, '/getShippingQuote.php', ACCEPT, { authorization: basic('acme', 'new') })
    expect(accepted.status).toBe(200)
  })

  test('ids differ by case and by every character', async () => {
    const gateway = await startGateway({ sandbox: { credentials: 'any' } })
    await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: basic('acme', 'x') })
    for (const id of ['ACME', 'acme ', ' acme', 'acm', 'acmé']) {
      expect((await post(gateway, '/getShippingQuote.php', ACCEPT, { authorization: basic(id, 'x') })).status).toBe(404)
    }
  })

  test('an id in UTF-8 and one in Latin-1 that look alike are two clients', async () => {
    const gateway = await startGateway({ sandbox: { credentials: 'any' } })
    const [utf8, latin1, other] = (['utf8', 'latin1', 'utf8'] as const).map((encoding, i) => ({
      authorization: `Basic ${Buffer.from(i === 2 ? 'latin1:ä:x' : 'ä:x', encoding).toString('base64')}`,
    }))
    await post(gateway, '/getShippingQuote.php', quoteExample, utf8)
    expect((await post(gateway, '/getShippingQuote.php', ACCEPT, latin1)).status).toBe(404)
    expect(gateway.sandbox.requests.filter(({ path }) => path.includes('approve'))).toEqual([])
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'L-1' }, latin1)
    const named = { ...ACCEPT, ShipmentNumber: 'L-1' }
    for (const headers of [utf8, other])
      expect((await post(gateway, '/getShippingQuote.php', named, headers)).status).toBe(404)
    expect((await post(gateway, '/getShippingQuote.php', named, latin1)).status).toBe(200)
  })

  test.each(['acme\u0000', 'ac\nme', '\u007facme'])(
    'an id with a control character (%j) is 401 with the reason, and nothing is sent',
    async (id) => {
      const gateway = await startGateway({ sandbox: { credentials: 'any' } })
      const headers = { authorization: basic(id, 'x') }
      const answer = await post(gateway, '/getShippingQuote.php', quoteExample, headers)
      expect(answer.status).toBe(401)
      expect(answer.json.Message).toContain('control character')
      expect(gateway.sandbox.requests).toEqual([])
    },
  )

  test('unreadable bodies and unknown paths are refused before the caller is identified', async () => {
    const gateway = await startGateway()
    const nobody = { authorization: '' }
    expect((await post(gateway, '/createShipment.php', 'nonsense', nobody)).status).toBe(400)
    expect((await get(gateway, '/createShipment.php', nobody)).status).toBe(405)
    expect((await post(gateway, '/nothing.php', {}, nobody)).status).toBe(404)
  })
})

describe('in fixed mode', () => {
  const gatewayOfSidecar = () => startGateway({ env: FIXED, sandbox: { credentials: { sidecar: 's3cret' } } })

  test.each([
    ['none', ''],
    ['one of the old service', basic('legacy', 'old')],
    ['a token', 'Bearer abc'],
    ['nonsense', 'nonsense'],
  ])(
    "every call goes out with the gateway's own credential, whatever the caller sent: %s",
    async (_, authorization) => {
      const gateway = await gatewayOfSidecar()
      expect(await callAll(gateway, authorization)).toEqual([200, 200, 200, 200, 200, 200, 200, 200])
      expect(new Set(gateway.sandbox.requests.map(({ headers }) => headers.authorization))).toEqual(new Set([OWN]))
    },
  )

  test('all callers are one: each may use the numbers of the others', async () => {
    const gateway = await gatewayOfSidecar()
    await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: basic('one', 'x') })
    expect((await post(gateway, '/getShippingQuote.php', ACCEPT, { authorization: basic('two', 'y') })).status).toBe(
      200,
    )
  })

  test('a credential that the service refuses is 401', async () => {
    const gateway = await startGateway({ env: FIXED })
    const { status, json } = await post(gateway, '/getShippingQuote.php', quoteExample)
    expect(status).toBe(401)
    expect(json.Message).toMatch(/Client Secret/)
    expect(json.Message).not.toContain('s3cret')
  })
})

test('no secret, no field and no path of a caller gets into the log, with any outcome', async () => {
  const canaries = Array.from({ length: 40 }, (_, i) => `CANARY${i}X`)
  const unused = [...canaries]
  const next = () => unused.pop() ?? 'MORE'
  const env = { ...FIXED, V2_CLIENT_SECRET: next() }
  const gateway = await startGateway({ env, sandbox: { credentials: 'any' } })
  const headers = { authorization: basic('acme', next()), cookie: next(), 'x-api-key': next() }
  const fields = (): Record<string, string> => ({
    PickupName: next(),
    VinNo: next(),
    BillToEmailAddress: next(),
    Unknown: next(),
  })

  await post(gateway, '/createShipment.php', { ...bookingExample, ...fields() }, headers)
  await post(gateway, '/createShipment.php', { ...fields(), PickupZip: next() }, headers)
  await post(
    gateway,
    '/getShippingQuote.php',
    { ...quoteExample, ShipmentNumber: next(), BillToContact: next() },
    headers,
  )
  await post(gateway, '/getShippingQuote.php', { ActionName: next() }, headers)
  await post(gateway, '/updateShipment.php', `{"PickupName":"${next()}"`, headers)
  await get(gateway, `/getShipment.php?ReferenceNumber=${next()}&BillToName=${next()}`, headers)
  await get(gateway, `/${next()}/getShipment.php`, headers)
  await get(gateway, `/webhooks/${next()}`, headers)
  await get(gateway, `/v2/shipments/${next()}?token=${next()}`, headers)
  await get(gateway, `/v2/..%2f${next()}`, headers)
  await post(gateway, `/dry-run/reply/${next()}`, { a: next() }, headers)
  await post(gateway, '/dry-run/createShipment.php', { ...bookingExample, ...fields() }, headers)
  await gateway.store.close()
  await post(gateway, '/deleteShipment.php', { ReferenceNumber: next() }, headers)

  expect(unused.length).toBeLessThan(10)
  const log = JSON.stringify(gateway.lines())
  expect(gateway.lines().filter(({ msg }) => String(msg).startsWith('call'))).toHaveLength(13)
  for (const canary of canaries) expect(log).not.toContain(canary)
})
