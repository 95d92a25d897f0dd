import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { book } from '../bookings/desk.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'

/** Returns the lines of calls. */
const calls = ({ lines }: TestGateway) => lines().filter(({ msg }) => msg === 'call')
const lastCall = (gateway: TestGateway) => calls(gateway).at(-1) ?? expect.fail('no line of a call')

describe('the line of a call', () => {
  test('has these fields, and no others', async () => {
    const gateway = await startGateway()
    const headers = { 'user-agent': 'LegacyShop/4.2 (PHP)', 'x-request-id': 'call-1' }
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, EquipmentType: '', Foo: 'bar' }, headers)
    const { time, ms, gateway_ms, store_ms, service_ms, ...rest } = lastCall(gateway)
    expect(rest).toEqual({
      level: 'info',
      name: 'transload',
      id: 'call-1',
      method: 'POST',
      path: '/legacy/getShippingQuote.php',
      action: 'quote.get',
      status: 200,
      service_status: 200,
      tries: 1,
      tenant: 'demo',
      unknown_fields: 1,
      notes: ['transport_type assumed'],
      source: '127.0.0.1',
      user_agent: 'LegacyShop/4.2 (PHP)',
      msg: 'call',
    })
    const [whole, own, service] = [Number(ms), Number(gateway_ms), Number(service_ms)]
    expect(service).toBeGreaterThan(0)
    expect(own + service).toBeLessThanOrEqual(whole + 0.2)
    expect(typeof time).toBe('number')
    expect([undefined, 'number']).toContain(store_ms === undefined ? undefined : typeof store_ms)
  })

  test('tells the time at the service from the time of the gateway', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'delay', ms: 120, times: 1 })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    const { service_ms, gateway_ms } = lastCall(gateway)
    expect(service_ms).toBeGreaterThanOrEqual(115)
    expect(gateway_ms).toBeLessThan(100)
  })

  test('counts every request to the service, and has the status of the last reply', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status: 503, times: 2 })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    expect(lastCall(gateway)).toMatchObject({ status: 200, service_status: 200, tries: 3 })
    gateway.sandbox.fail({ kind: 'status', status: 418, times: 1 })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    expect(lastCall(gateway)).toMatchObject({ status: 418, service_status: 418, tries: 1 })
    await post(gateway, '/getShippingQuote.php', { TempShipFromPostalCode: '10314' })
    expect(lastCall(gateway)).not.toHaveProperty('tries')
    await get(gateway, '/v2/shipments/none')
    expect(lastCall(gateway)).toMatchObject({ path: '/service', status: 404, service_status: 404, tries: 1 })
  })

  test('names what was lost or assumed, never a value', async () => {
    const gateway = await startGateway()
    await book(gateway, { PickupZip: '02134-9876', 'DeliveryPhNo.': 'TBD', VinNo: 'ODD-VIN-77' })
    const { notes } = lastCall(gateway)
    expect(notes).toEqual(
      expect.arrayContaining(['PickupZip lossy', 'DeliveryPhNo. lossy', 'VinNo warning', 'transport_type assumed']),
    )
    expect(JSON.stringify(lastCall(gateway))).not.toMatch(/02134|9876|TBD|ODD-VIN/)
    expect(JSON.stringify(lastCall(gateway))).not.toContain(bookingExample.BillToName)
  })
})

describe('the source address and the user agent', () => {
  const ask = async (LOG_ADDRESSES: string) => {
    const gateway = await startGateway({ env: { LOG_ADDRESSES } })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    const answered = lastCall(gateway)
    await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: basic('demo', 'wrong') })
    return [answered, lastCall(gateway)].map(({ source, user_agent, client }) => [source, typeof user_agent, client])
  }

  test('are in the lines of the calls that LOG_ADDRESSES names', async () => {
    expect(await ask('all')).toEqual([
      ['127.0.0.1', 'string', undefined],
      ['127.0.0.1', 'string', 'demo'],
    ])
    expect(await ask('refused')).toEqual([
      [undefined, 'string', undefined],
      ['127.0.0.1', 'string', 'demo'],
    ])
    expect(await ask('none')).toEqual([
      [undefined, 'string', undefined],
      [undefined, 'string', 'demo'],
    ])
  })

  test('are those behind a trusted proxy', async () => {
    const gateway = await startGateway({ env: { TRUST_PROXY: '127.0.0.1' } })
    await post(gateway, '/getShippingQuote.php', quoteExample, { 'x-forwarded-for': '198.51.100.7, 192.0.2.9' })
    expect(lastCall(gateway)['source']).toBe('192.0.2.9')
  })

  test('hostile ones are cut and cannot steer a terminal or forge a line', async () => {
    const gateway = await startGateway()
    const hostile = [
      '\u009b31mred',
      `${'x'.repeat(200)}`,
      '"},{"msg":"forged"',
      'é\u0085next',
      '\u00adsoft\u009d0;title',
    ]
    for (const agent of hostile) await post(gateway, '/getShippingQuote.php', quoteExample, { 'user-agent': agent })
    const agents = calls(gateway).map(({ user_agent }) => String(user_agent))
    expect(agents).toHaveLength(hostile.length)
    for (const agent of agents) {
      expect(agent).not.toMatch(/\p{Cc}/u)
      expect(agent.length).toBeLessThanOrEqual(128 * 6)
    }
    expect(agents[0]).toBe('\\u009b31mred')
    expect(agents[1]).toHaveLength(128)
    expect(agents[2]).toBe('"},{"msg":"forged"')
  })
})
