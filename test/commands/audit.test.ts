/** Promise: an audit finds what a list of shipments and the bookings tell differently, and nothing else (contract, section 12). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import type { ClaimState, NamesWrite, NewClaim, Store } from '../../src/outside/store/store.ts'
import { transload } from '../callers/commands.ts'
import { folder, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { addBooking, handleOf } from './transcript.ts'

const BOOKINGS = 1_000
const DAY_MS = 86_400_000
const NOW = Date.now()

const TENANT = 'acme'
const vinOf = (no: number) => `1FDXE4FN9PD${String(no).padStart(6, '0')}`
const idOf = (no: number) => `shipment-${no}`

/** Writes a shipment as a booking does, from a quote at 1,234.50. */
const record = (no: number, reference: string): NamesWrite => ({
  names: [
    { tenant: TENANT, kind: 'shipment', name: reference, id: idOf(no), givenBy: 'caller' },
    { tenant: TENANT, kind: 'shipment', name: `TL-${no}`, id: idOf(no), givenBy: 'service' },
  ],
  quote: { tenant: TENANT, id: `quote-${no}`, price: '1234.50' },
  shipment: { tenant: TENANT, id: idOf(no), quote: `quote-${no}` },
})

async function book(store: Store, no: number, state: ClaimState, more: Partial<NewClaim> = {}) {
  const reference = more.reference ?? `REF-${no}`
  await addBooking(store, no, state, 'made', { vin: vinOf(no), ...more })
  if (state === 'booked') await store.put(record(no, reference))
}

/** A day as an American spreadsheet writes it. */
const day = (days = 0) => {
  const date = new Date(NOW + days * DAY_MS)
  const two = (number: number) => String(number).padStart(2, '0')
  return `${two(date.getMonth() + 1)}/${two(date.getDate())}/${date.getFullYear()}`
}

/** A line of the list as the service would write it. */
const line = (no: number, more: Partial<Record<'number' | 'ref' | 'vin' | 'total' | 'status' | 'date', string>> = {}) =>
  [
    more.number ?? `TL-${no}`,
    more.ref ?? `REF-${no}`,
    more.vin ?? vinOf(no),
    more.total ?? '"$1,234.50"',
    more.status ?? 'Delivered',
    more.date ?? day(),
  ].join(',')
const HEADER = 'Order #,Reference No.,VIN #,Total,Status,Date'

async function openFilled(fill: (store: Store) => Promise<void>) {
  const place = folder()
  const store = await openStore(join(place, 'store.db'))
  await fill(store)
  await store.close()
  return (lines: readonly string[], ...words: string[]) => {
    writeFileSync(join(place, 'list.csv'), `${lines.join('\r\n')}\r\n`)
    return transload(['bookings', 'audit', 'list.csv', ...words], place, { STORE_URL: 'store.db' })
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

test('twenty anomalies among a thousand shipments are found, and none is invented', async () => {
  const audit = await openFilled(async (store) => {
    await Promise.all(range(0, BOOKINGS).map((no) => book(store, no, 'booked')))
    // Neither of these is an anomaly, except that the list has the shipment of the unknown one.
    await book(store, 20_000, 'unknown')
    await book(store, 20_001, 'refused')
    await book(store, 20_002, 'freed')
    await book(store, 20_003, 'booked', { doubtSince: NOW - 40 * DAY_MS })
    await book(store, 20_004, 'booked', { reference: 'REF-1' })
    // A quote that was approved, and one number of an import.
    await store.put(record(20_005, 'REF-20005'))
    const imported = {
      tenant: TENANT,
      kind: 'shipment',
      name: 'TL-20006',
      id: 'imported',
      givenBy: 'caller',
      vin: '',
    } as const
    await store.load([imported], { replace: false })
  })
  const twice = range(100, 105)
  const others = range(200, 204)
  const missing = new Set(range(300, 305))
  const dearer = range(400, 405)
  const lines = [
    HEADER,
    ...range(0, BOOKINGS)
      .filter((no) => !missing.has(no) && no !== 500 && no !== 501)
      .map((no) =>
        line(no, dearer.includes(no) ? { total: '$1310.00' } : no === 502 ? { status: 'Not canceled' } : {}),
      ),
    ...twice.map((no) => line(no, { number: `TL-99000${no}` })),
    ...others.map((no) => line(0, { number: `TL-98000${no}`, ref: `WEB-${no}`, vin: vinOf(50_000 + no) })),
    line(20_000),
    // A shipment of two vehicles, a part of the price each; one that is canceled there; cells that people write in their own way.
    line(500, { total: '1000.25' }),
    line(500, { total: '234.25', vin: vinOf(60_000) }),
    line(501, { vin: ` ${vinOf(501).toLowerCase()} `, status: 'CANCELLED', total: '' }),
    line(501, { number: 'TL-70501', status: 'canceled', date: day(1) }),
    line(0, { number: 'TL-70502', ref: 'WEB-1', status: 'Void' }),
    line(20_004, { ref: 'REF-1' }),
    line(20_005),
    line(20_006, { total: 'n/a' }),
    `,,,"$12,345,678.00",,`,
  ]
  const { code, out, err } = await audit([...lines.slice(0, 1), ...lines.slice(1).reverse()], '--json')
  const found = out
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  const of = (kind: string, name: string) => found.flatMap((one) => (one.kind === kind ? [one[name]] : [])).sort()
  expect(of('twice', 'numbers')).toEqual(twice.map((no) => `TL-${no} TL-99000${no}`))
  expect(of('not-booked-here', 'number')).toEqual(['TL-20000', ...others.map((no) => `TL-98000${no}`)])
  expect(of('not-listed', 'handle')).toEqual([...missing].map(handleOf))
  expect(of('other-price', 'number')).toEqual(dearer.map((no) => `TL-${no}`))
  expect(of('canceled-there', 'number')).toEqual(['TL-501'])
  expect(err).toContain('Prices compared with a quote: 996. Not compared, without a quote here: 0.\n')
  expect(err).toContain('21 anomalies in 1,011 rows.')
  expect([found.length, code]).toEqual([21, 1])
})

test('shipments from before the first booking here are not compared, and counted', async () => {
  const audit = await openFilled((store) => book(store, 1, 'booked'))
  const { code, out, err } = await audit([
    HEADER,
    line(1),
    line(0, { number: 'TL-2', ref: 'WEB-2', date: '01/02/2020' }),
  ])
  expect([code, out]).toEqual([0, ''])
  expect(err).toContain('Not compared: shipments from before the first booking here (1).\n')
})

test('each line says what to do', async () => {
  const audit = await openFilled(async (store) => {
    await book(store, 1, 'booked')
    await book(store, 2, 'booked')
    await book(store, 3, 'unknown')
  })
  const list = ['Load;1,Customer,Chassis,Charged', `TL-1,REF-1,${vinOf(1)},1300`, `TL-11,REF-1,${vinOf(1)},1234.5`]
  const columns = ['--columns', 'number=load;1, reference=Customer,vin=CHASSIS,price=Charged']
  const { code, out, err } = await audit([...list, `TL-3,REF-3,${vinOf(3)},`], ...columns)
  expect(out).toBe(
    [
      `REF-1 with VIN ${vinOf(1)} stands more than once: TL-1, TL-11. Here ${handleOf(1)} made TL-1. Cancel the others at the service.`,
      `TL-3 (REF-3, ${vinOf(3)}): no booking here made it. ${handleOf(3)} may have: look it up at the service and settle that booking with its id: "transload bookings settle ${handleOf(3)} --shipment-id ID".`,
      'TL-1 (REF-1) costs 1300.00, and its quote said 1234.50. Ask the service about the difference.',
      '',
    ].join('\n'),
  )
  expect(err).toBe(
    'Not compared, because the list has no such columns: status, date.\nPrices compared with a quote: 1. Not compared, without a quote here: 0.\n3 anomalies in 3 rows.\n',
  )
  expect(code).toBe(1)
  // Older shipments than the first booking are not the gateway's.
  expect(await audit([HEADER, line(1), line(2), line(5, { date: '01/31/2020' })])).toMatchObject({ code: 0, out: '' })
})

test('what a list says otherwise of shipments that are known is found', async () => {
  const audit = await openFilled(async (store) => {
    await Promise.all(range(1, 12).map((no) => book(store, no, 'booked')))
    for (const no of [1, 2])
      await store.put({ names: [], shipment: { tenant: TENANT, id: idOf(no), state: 'canceled' } })
    const [claim] = await store.claimsNamed(handleOf(3), 1)
    if (claim) await store.change(claim, { state: 'freed', instance: 'gateway-2', why: 'canceled' })
    // These have no quote.
    for (const no of [20, 21]) {
      await book(store, no, 'booked')
      await store.put({ names: [], shipment: { tenant: TENANT, id: idOf(no), quote: '' } })
    }
  })
  const { out, err } = await audit([
    HEADER,
    line(1),
    line(2, { status: 'canceled' }),
    line(3),
    line(4, { status: 'Canceled' }),
    line(5, { ref: 'REF-99' }),
    // A caller's number in other letters, and no reference.
    line(6, { ref: 'ref-6' }),
    line(7, { ref: '' }),
    line(8, { total: '0' }),
    // The same at the quoted price, the same in two halves, the same line, and other prices for one vehicle.
    line(9),
    line(9, { date: day(1) }),
    ...[1, 2].map(() => line(10, { total: '617.25' })),
    ...[1, 2].map(() => line(20, { total: '50' })),
    line(21, { total: '50' }),
    line(21, { total: '60' }),
    line(11),
  ])
  const handle = handleOf
  expect(out.trim().split('\n')).toEqual([
    'TL-1 (REF-1) stands in the list and is canceled here. Read it at the service: if it is canceled there, reject its price; if not, cancel it.',
    'TL-3 (REF-3) stands in the list and is canceled here. Read it at the service: if it is canceled there, reject its price; if not, cancel it.',
    `TL-4 (REF-4) is canceled in the list, and ${handle(4)} stands here. Read it at the service: if it is canceled there, tell the caller that nothing is transported.`,
    `TL-5 is listed with the reference REF-99, and ${handle(5)} booked it as REF-5. Ask the service which one is right.`,
    'TL-8 (REF-8) costs 0.00, and its quote said 1234.50. Ask the service about the difference.',
    `TL-20 (REF-20, ${vinOf(20)}) is listed 2 times at 50.00. Ask the service to bill it once.`,
    `TL-9 (REF-9, ${vinOf(9)}) is listed 2 times at 1234.50. Ask the service to bill it once.`,
  ])
  expect(err).toBe('Prices compared with a quote: 9. Not compared, without a quote here: 2.\n7 anomalies in 17 rows.\n')
})

test('a column of references that are none of the bookings says nothing', async () => {
  const audit = await openFilled((store) => book(store, 1, 'booked'))
  expect(await audit([HEADER, line(1, { ref: 'PO-77' })])).toMatchObject({ code: 0, out: '' })
})

test('a tenant that the tenants file does not have is refused, and one without bookings is named', async () => {
  const place = folder()
  const store = await openStore(join(place, 'store.db'))
  await book(store, 1, 'booked')
  await store.close()
  writeFileSync(join(place, 'list.csv'), `${HEADER}\n${line(1)}\n`)
  const TENANTS_FILE = join(place, 'tenants.json')
  writeTenants(TENANTS_FILE, tenant(place, TENANT), tenant(place, 'zenith'))
  const audit = (name: string, env: object = { TENANTS_FILE }) =>
    transload(['bookings', 'audit', 'list.csv', '--tenant', name], place, { STORE_URL: 'store.db', ...env })
  expect(await audit('acmee')).toMatchObject({
    code: 64,
    out: '',
    err: expect.stringContaining('There is no tenant acmee; did you mean acme?'),
  })
  expect(await audit(TENANT)).toMatchObject({ code: 0 })
  expect((await audit('zenith')).err).toContain('The store has no bookings of zenith.\n')
  const unmade = await audit('acmee', {})
  expect(unmade).toMatchObject({ code: 1, err: expect.stringContaining('The store has no bookings of acmee.\n') })
  expect(unmade.out).toContain('The gateway keeps no record of version-2 calls')
})

test.each([
  [
    'a list without a number',
    ['A,B', '1,2'],
    [],
    'has no known column for the number; name it with --columns number=A',
  ],
  ['a column that is not there', [HEADER], ['--columns', 'price=Sum'], 'has no column Sum; its columns are Order #,'],
  [
    'semicolons between cells',
    ['Order #;VIN #', 'TL-1;X'],
    [],
    'separates its cells by ";", not by commas; save it as CSV with commas',
  ],
  ['semicolons, with a column named', ['Order No;VIN #', 'TL-1;X'], ['--columns', 'number=Order No'], 'cells by ";"'],
  ['tabs between cells', ['Order No\tVIN #'], [], 'separates its cells by tabs'],
  ['an empty file', [''], [], 'is empty'],
  ['cells that are shifted', [HEADER, `${line(1)},1`], [], 'has more fields in line 2 than in the first one'],
  ['a quote that is not closed', [HEADER, '"TL-1,'], [], 'is not CSV'],
])('%s cannot be read, which is another exit code', async (_name, lines, words, reason) => {
  const audit = await openFilled(async () => {})
  const { code, out, err } = await audit(lines, ...words)
  expect(err).toMatch(/^(Not compared.*\n)?transload: list\.csv .*\n$/)
  expect(err).toContain(reason)
  expect([code, out]).toEqual([65, ''])
})
