import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, type House, openHouse, post } from '../gateway.ts'

const ACCEPT = { ActionName: 'Accept Rate', ShipmentNumber: quoteExample.ShipmentNumber }
const FIXED = { V2_CLIENT_ID: 'sidecar', V2_CLIENT_SECRET: 's3cret' }
const OWN = basic(FIXED.V2_CLIENT_ID, FIXED.V2_CLIENT_SECRET)

function encoded(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Makes every kind of call that reaches the service. */
async function callAll(house: House, authorization: string): Promise<number[]> {
  const named = { ReferenceNumber: bookingExample.ReferenceNumber }
  const headers = { authorization }
  const answers = [
    await post(house, '/getShippingQuote.php', quoteExample, headers),
    await post(house, '/getShippingQuote.php', { ...ACCEPT, ActionName: 'Update Rate' }, headers),
    await post(house, '/createShipment.php', bookingExample, headers),
    await get(house, `/getShipment.php?${new URLSearchParams(named)}`, headers),
    await post(house, '/updateShipment.php', { ...named, PickupName: 'X' }, headers),
    await post(house, '/deleteShipment.php', named, headers),
    await post(house, '/getShippingQuote.php', ACCEPT, headers),
    await post(house, '/getShippingQuote.php', { pickup: '10314', delivery: '33166' }, headers),
  ]
  return answers.map(({ status }) => status)
}

describe('in client mode', () => {
  test("every call goes out with the caller's own credential, to the letter", async () => {
    const house = await openHouse({ sandbox: { credentials: { 'acme co': 'päss:wörd' } } })
    const authorization = `bAsIC  ${encoded('acme co:päss:wörd')}`
    expect(await callAll(house, authorization)).toEqual([200, 200, 200, 200, 200, 200, 200, 200])
    expect(new Set(house.sandbox.requests.map(({ headers }) => headers.authorization))).toEqual(
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
      const house = await openHouse()
      expect(await callAll(house, authorization)).toEqual([401, 401, 401, 401, 401, 401, 401, 401])
      const { headers } = await post(house, '/getShippingQuote.php', quoteExample, { authorization })
      expect(headers.get('www-authenticate')).toBe('Basic realm="transload", charset="UTF-8"')
      expect(house.sandbox.requests).toEqual([])
    },
  )

  test('a credential that the service does not know is 401, and learns no number', async () => {
    const house = await openHouse()
    await post(house, '/createShipment.php', bookingExample)
    const guess = { authorization: basic('demo', 'a guess') }
    const known = await get(house, `/getShipment.php?ReferenceNumber=${bookingExample.ReferenceNumber}`, guess)
    expect(known.status).toBe(401)
    expect(known.text).not.toMatch(/TL-|[0-9a-f]{8}-[0-9a-f]{4}/)
    const unknown = await get(house, '/getShipment.php?ReferenceNumber=UNKNOWN', guess)
    expect(unknown.status).toBe(401)
  })

  test('an empty secret is the business of the service', async () => {
    const house = await openHouse({ sandbox: { credentials: { acme: '' } } })
    const answer = await post(house, '/getShippingQuote.php', quoteExample, { authorization: basic('acme', '') })
    expect(answer.status).toBe(200)
  })

  test('two secrets of one id are one client', async () => {
    const house = await openHouse({ sandbox: { credentials: 'any' } })
    await post(house, '/getShippingQuote.php', quoteExample, { authorization: basic('acme', 'old') })
    const accepted = await post(house, '/getShippingQuote.php', ACCEPT, { authorization: basic('acme', 'new') })
    expect(accepted.status).toBe(200)
  })

  test('ids are told apart by case and by every character', async () => {
    const house = await openHouse({ sandbox: { credentials: 'any' } })
    await post(house, '/getShippingQuote.php', quoteExample, { authorization: basic('acme', 'x') })
    for (const id of ['ACME', 'acme ', ' acme', 'acm', 'acme\u0000', 'acmé']) {
      expect((await post(house, '/getShippingQuote.php', ACCEPT, { authorization: basic(id, 'x') })).status).toBe(404)
    }
  })

  test('what cannot be read or is not served says so before anybody asks who calls', async () => {
    const house = await openHouse()
    const nobody = { authorization: '' }
    expect((await post(house, '/createShipment.php', 'nonsense', nobody)).status).toBe(400)
    expect((await get(house, '/createShipment.php', nobody)).status).toBe(405)
    expect((await post(house, '/nothing.php', {}, nobody)).status).toBe(404)
  })
})

describe('in fixed mode', () => {
  const houseOfSidecar = () => openHouse({ env: FIXED, sandbox: { credentials: { sidecar: 's3cret' } } })

  test.each([
    ['none', ''],
    ['one of the old service', basic('legacy', 'old')],
    ['a token', 'Bearer abc'],
    ['nonsense', 'nonsense'],
  ])(
    "every call goes out with the gateway's own credential, whatever the caller sent: %s",
    async (_, authorization) => {
      const house = await houseOfSidecar()
      expect(await callAll(house, authorization)).toEqual([200, 200, 200, 200, 200, 200, 200, 200])
      expect(new Set(house.sandbox.requests.map(({ headers }) => headers.authorization))).toEqual(new Set([OWN]))
    },
  )

  test('all callers are one: what one was told, another may ask for', async () => {
    const house = await houseOfSidecar()
    await post(house, '/getShippingQuote.php', quoteExample, { authorization: basic('one', 'x') })
    expect((await post(house, '/getShippingQuote.php', ACCEPT, { authorization: basic('two', 'y') })).status).toBe(200)
  })

  test('a credential that the service refuses is told as 401', async () => {
    const house = await openHouse({ env: FIXED })
    const { status, json } = await post(house, '/getShippingQuote.php', quoteExample)
    expect(status).toBe(401)
    expect(json.Message).toMatch(/Client Secret/)
    expect(json.Message).not.toContain('s3cret')
  })
})

test('no secret, no field and no path of a caller gets into the log, whatever becomes of the call', async () => {
  const canaries = Array.from({ length: 40 }, (_, i) => `CANARY${i}X`)
  const unused = [...canaries]
  const next = () => unused.pop() ?? 'MORE'
  const house = await openHouse({ env: { ...FIXED, V2_CLIENT_SECRET: next() }, sandbox: { credentials: 'any' } })
  const headers = { authorization: basic('acme', next()), cookie: next(), 'x-api-key': next(), 'user-agent': next() }
  const fields = (): Record<string, string> => ({
    PickupName: next(),
    VinNo: next(),
    BillToEmailAddress: next(),
    Unknown: next(),
  })

  await post(house, '/createShipment.php', { ...bookingExample, ...fields() }, headers)
  await post(house, '/createShipment.php', { ...fields(), PickupZip: next() }, headers)
  await post(
    house,
    '/getShippingQuote.php',
    { ...quoteExample, ShipmentNumber: next(), BillToContact: next() },
    headers,
  )
  await post(house, '/getShippingQuote.php', { ActionName: next() }, headers)
  await post(house, '/updateShipment.php', `{"PickupName":"${next()}"`, headers)
  await get(house, `/getShipment.php?ReferenceNumber=${next()}&BillToName=${next()}`, headers)
  await get(house, `/${next()}/getShipment.php`, headers)
  await get(house, `/webhooks/${next()}`, headers)
  await get(house, `/v2/shipments/${next()}?token=${next()}`, headers)
  await get(house, `/v2/..%2f${next()}`, headers)
  await post(house, `/dry-run/reply/${next()}`, { a: next() }, headers)
  await post(house, '/dry-run/createShipment.php', { ...bookingExample, ...fields() }, headers)
  await house.store.close()
  await post(house, '/deleteShipment.php', { ReferenceNumber: next() }, headers)

  expect(unused.length).toBeLessThan(10)
  const log = JSON.stringify(house.lines())
  expect(house.lines().filter(({ msg }) => String(msg).startsWith('call'))).toHaveLength(13)
  for (const canary of canaries) expect(log).not.toContain(canary)
})
