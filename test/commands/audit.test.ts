/** Promise: an audit finds the differences between a list of shipments and the bookings, and nothing else (contract, section 12). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { addBooking, fillStore, handleOf } from './transcript.ts'

const BOOKINGS = 1_000
const DAY_MS = 86_400_000
const NOW = Date.now()

/** A day as an American spreadsheet writes it. */
const day = (days = 0) =>
  new Date(NOW + days * DAY_MS).toLocaleDateString('en-US', { year: 'numeric', month: '2-digit', day: '2-digit' })

/** A line of the list as the service would write it. */
const line = (no: number, more: object = {}) => {
  const cells = { number: `TL-${no}`, ref: `REF-${no}`, vin: `VIN-${no}`, total: '"$1,234.50"', status: 'Delivered' }
  return Object.values({ ...cells, date: day(), ...more }).join(',')
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

test('exactly the twenty anomalies among a thousand shipments are found', async () => {
  const place = folder()
  const quoted = '1234.50'
  await fillStore(place, async (store) => {
    await Promise.all(range(0, BOOKINGS).map((no) => addBooking(store, no, 'booked', 'made', { quoted })))
    // Neither of these is an anomaly, except that the list has the shipment of the unknown one.
    await addBooking(store, 20_000, 'unknown', 'made')
    await addBooking(store, 20_001, 'refused', 'made')
    await addBooking(store, 20_002, 'freed', 'made')
    await addBooking(store, 20_003, 'booked', 'made', { doubtSince: NOW - 40 * DAY_MS, quoted })
    await addBooking(store, 20_004, 'booked', 'made', { reference: 'REF-1', quoted })
    // Like an imported number, an approved quote has names but no booking.
    const name = { tenant: 'acme', kind: 'shipment', givenBy: 'caller', vin: '' } as const
    await store.load(
      [
        { ...name, name: 'REF-20005', id: 'approved' },
        { ...name, name: 'TL-20005', id: 'approved', givenBy: 'service' },
        { ...name, name: 'TL-20006', id: 'imported' },
      ],
      { replace: false },
    )
  })
  const twice = range(100, 105)
  const others = range(200, 204)
  const missing = range(300, 305)
  const dearer = range(400, 405)
  const notPlain = [...missing, 500, 501]
  const lines = [
    ...range(0, BOOKINGS)
      .filter((no) => !notPlain.includes(no))
      .map((no) =>
        line(no, dearer.includes(no) ? { total: '$1310.00' } : no === 502 ? { status: 'Not canceled' } : {}),
      ),
    ...twice.map((no) => line(no, { number: `TL-99000${no}` })),
    ...others.map((no) => line(0, { number: `TL-98000${no}`, ref: `WEB-${no}`, vin: `VIN-${50_000 + no}` })),
    line(20_000),
    // A shipment of two vehicles, each with a part of the price; one that is canceled there; cells with unusual spellings.
    line(500, { total: '1000.25' }),
    line(500, { total: '234.25', vin: 'VIN-60000' }),
    line(501, { vin: ' vin-501 ', status: 'CANCELLED', total: '' }),
    line(501, { number: 'TL-70501', status: 'canceled', date: day(1) }),
    line(0, { number: 'TL-70502', ref: 'WEB-1', status: 'Void' }),
    line(20_004, { ref: 'REF-1' }),
    line(20_005),
    line(20_007, { number: 'approved' }),
    line(20_006, { total: 'n/a' }),
    `,,,"$12,345,678.00",,`,
  ]
  const list = ['Order #,Reference No.,VIN #,Total,Status,Date', ...lines.reverse(), '']
  writeFileSync(join(place, 'list.csv'), list.join('\r\n'))
  const { code, out, err } = await transload(['bookings', 'audit', 'list.csv', '--json'], place, {
    STORE_URL: 'store.db',
  })
  const found = out
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  const of = (kind: string, name: string) => found.flatMap((one) => (one.kind === kind ? [one[name]] : [])).sort()
  expect(of('twice', 'numbers')).toEqual(twice.map((no) => `TL-${no} TL-99000${no}`))
  expect(of('not-booked-here', 'number')).toEqual(['TL-20000', ...others.map((no) => `TL-98000${no}`)])
  expect(of('not-listed', 'handle')).toEqual(missing.map(handleOf))
  expect(of('other-price', 'number')).toEqual(dearer.map((no) => `TL-${no}`))
  expect(of('canceled-there', 'number')).toEqual(['TL-501'])
  expect(err).toContain('Prices compared with a quote: 995. Not compared, without a quote here: 2.\n')
  expect(err).toContain('21 anomalies in 1,012 rows.')
  expect([found.length, code]).toEqual([21, 1])
})
