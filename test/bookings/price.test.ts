/** Promise: a booking at a price other than the quoted one says so, and stands (contract, section 12). */

import { expect, test } from 'vitest'
import { as, book, type Edge, named, openEdge, quote } from '../callers/tenants-gateway.ts'
import { get } from '../gateway.ts'

const ACME = as('acme')
const HEADER = 'transload-price'

/** Puts this price into the next reply. */
const price = ({ sandbox }: Edge, value: unknown, path: string) =>
  sandbox.fail({
    kind: 'change',
    change: ({ body, ...answer }) => ({
      ...answer,
      body: JSON.stringify({ ...JSON.parse(String(body)), price: value }),
    }),
    process: true,
    on: { method: 'POST', path },
  })

/** Asks for a quote and books it, at these prices. */
async function quotedAndBooked(edge: Edge, reference: string, quoted: unknown, booked: unknown) {
  price(edge, quoted, '/v2/quote*')
  expect((await quote(edge, ACME, { ShipmentNumber: reference })).status).toBe(200)
  price(edge, booked, '/v2/shipment*')
  const answer = await book(edge, reference, ACME)
  expect(answer.json).toMatchObject({ TransportationBooked: 'Yes' })
  return answer.headers.get(HEADER)
}

test('two prices that differ in cents are reported, also on a replay, logged, and counted once for the tenant', async () => {
  const edge = await openEdge(named(['acme', 'other']))
  const both = 'quoted=1234.50, booked=1310.00'
  expect(await quotedAndBooked(edge, 'R-OTHER', 1234.5, 1309.999)).toBe(both)
  expect(await quotedAndBooked(edge, 'R-SAME', 1234.5, '1234.499')).toBeNull()
  expect((await book(edge, 'R-NO-QUOTE', ACME)).headers.get(HEADER)).toBeNull()

  const again = await book(edge, 'R-OTHER', ACME)
  expect([again.headers.get('idempotent-replayed'), again.headers.get(HEADER)]).toEqual(['true', both])
  expect(edge.lines().filter((line) => line['price'] === both)).toHaveLength(2)

  const admin = (path: string) => get({ url: edge.adminUrl }, path)
  expect((await admin('/metrics')).text).toContain('\ntransload_other_prices_total{tenant="acme"} 1\n')

  const pricesOf = async (name: string) => (await admin(`/migration/${name}`)).json.tenants[0].otherPrices
  expect([await pricesOf('acme'), await pricesOf('other')]).toEqual([1, 0])
})

test('a quote that was changed without a new price has none to compare', async () => {
  const edge = await openEdge(named(['acme']))
  price(edge, 1, '/v2/quote*')
  await quote(edge, ACME, { ShipmentNumber: 'R-1' })
  edge.sandbox.fail({ kind: 'status', status: 204, on: { method: 'PUT' }, process: true })
  const changed = await quote(edge, ACME, { ShipmentNumber: 'R-1', ActionName: 'Update Rate' })
  expect(changed.json.Message).toContain('no new price')
  expect((await book(edge, 'R-1', ACME)).headers.get(HEADER)).toBeNull()
})
