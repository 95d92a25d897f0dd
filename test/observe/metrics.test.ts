import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, post, startGateway } from '../gateway.ts'

const scrape = async (adminUrl: string) => {
  const response = await fetch(`${adminUrl}/metrics`)
  return { type: response.headers.get('content-type') ?? '', lines: (await response.text()).split('\n') }
}

describe('the metrics', () => {
  test('count calls by route, action, status and error', async () => {
    const gateway = await startGateway()
    await post(gateway, '/quotes/GETSHIPPINGQUOTE.php/', quoteExample)
    await post(gateway, '/createShipment.php', { PickupZip: 'nowhere' })
    const { type, lines } = await scrape(gateway.adminUrl)
    expect(type).toContain('text/plain')
    expect(lines).toContain(
      'transload_calls_total{route="/legacy/getShippingQuote.php",action="quote.get",status="200",error="",tenant=""} 1',
    )
    expect(lines).toContain(
      'transload_calls_total{route="/legacy/createShipment.php",action="shipment.create",status="422",error="untranslatable",tenant=""} 1',
    )
    expect(lines).toContain('transload_call_seconds_count{action="quote.get"} 1')
  })

  test('count the fields that no mapping knows, and do not name them', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1', Bar: '2' })
    const { lines } = await scrape(gateway.adminUrl)
    expect(lines).toContain('transload_unknown_fields_total{action="quote.get"} 2')
    expect(lines.join('\n')).not.toMatch(/Foo|Bar/)
  })

  test('get no new series from values of callers', async () => {
    const gateway = await startGateway({ proven: false })
    for (const path of ['/a.php', '/b.php', '/v2/c', '/v2/d', '/%zz']) await get(gateway, path)
    const { lines } = await scrape(gateway.adminUrl)
    const routes = lines
      .filter((line) => line.startsWith('transload_calls_total'))
      .map((line) => /route="([^"]*)"/.exec(line)?.[1])
    expect(new Set(routes)).toEqual(new Set(['/*', '/service', '/unreadable']))
  })

  test('are not on the public listener', async () => {
    const gateway = await startGateway()
    expect((await get(gateway, '/metrics')).status).toBe(404)
  })
})
