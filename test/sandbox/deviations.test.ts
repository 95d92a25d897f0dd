import { expect, test } from 'vitest'
import { at, call, sandboxFor, TRIP } from './client.ts'

test('deviations are set at the start or while it runs, and apply to their kind of request alone', async () => {
  await using sandbox = await sandboxFor({ deviations: ['price-is-number'] })
  const price = async () => typeof at((await call(sandbox, 'POST', '/v2/quote', TRIP)).json, 'price')
  expect(await price()).toBe('string')
  const set = (deviations: readonly string[]) => call(sandbox, 'POST', '/__sandbox/settings', { deviations })
  expect((await set([])).status).toBe(200)
  expect(await price()).toBe('number')
  expect((await set(['quote-returns-shipment-id', 'price-in-cents'])).status).toBe(200)
  const { json } = await call(sandbox, 'POST', '/v2/quote', TRIP)
  expect(Object.keys(json).sort()).toEqual(['price', 'quote_id'])
  expect(json['price']).toBe(1234.567)
  expect((await call(sandbox, 'GET', '/v2/shipments/none')).status).toBe(404)
})

test('a deviation that does not exist is refused', async () => {
  await using sandbox = await sandboxFor()
  const { status, text } = await call(sandbox, 'POST', '/__sandbox/settings', { deviations: ['price-is-prime'] })
  expect(status).toBe(422)
  expect(text).toContain('deviations')
})
