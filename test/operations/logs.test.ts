/** Promise: a call is one line, without bodies, personal data or secrets (contract, section 11). */

import { afterAll, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { lineForPeople } from '../../src/runtime/log.ts'
import { book } from '../bookings/desk.ts'
import { OWN, post, startGateway, type TestGateway } from '../gateway.ts'

const gateway = await startGateway({ closeAt: afterAll })
const calls = ({ lines }: TestGateway) => lines().filter(({ msg }) => msg === 'call')
const lastCall = (of = gateway) => calls(of).at(-1) ?? expect.fail('no line of a call')
const quote = (headers = {}, more: object = {}, to = gateway) =>
  post(to, '/getShippingQuote.php', { ...quoteExample, ...more }, headers)

test('the line of a call has these fields, and no others', async () => {
  const id = 'A.b_c-9'.padEnd(64, 'x')
  gateway.sandbox.fail({ kind: 'delay', ms: 120, times: 1 })
  const headers = { 'user-agent': 'LegacyShop/4.2 (PHP)', 'x-request-id': id }
  await quote(headers, { EquipmentType: '', Foo: 'bar' })
  const { time, ms, gateway_ms, store_ms: _, service_ms, ...rest } = lastCall()
  expect(rest).toEqual({
    level: 'info',
    name: 'transload',
    msg: 'call',
    id,
    tenant: 'demo',
    ...{ method: 'POST', path: '/legacy/getShippingQuote.php', action: 'quote.get' },
    status: 200,
    service_status: 200,
    tries: 1,
    unknown_fields: 1,
    notes: ['transport_type assumed'],
    ...{ source: '127.0.0.1', user_agent: 'LegacyShop/4.2 (PHP)' },
  })
  const [whole, own, service] = [Number(ms), Number(gateway_ms), Number(service_ms)]
  expect(service).toBeGreaterThanOrEqual(115)
  expect(own + service).toBeLessThanOrEqual(whole + 0.2)
  expect(typeof time).toBe('number')
})

test('it names losses and assumptions, but never a value', async () => {
  await book(gateway, {
    ReferenceNumber: 'NO-QUOTE',
    PickupZip: '02134-9876',
    'DeliveryPhNo.': 'TBD',
    VinNo: 'ODD-VIN-77',
  })
  const notes = ['PickupZip lossy', 'DeliveryPhNo. lossy', 'VinNo warning', 'transport_type assumed']
  expect(lastCall()).toMatchObject({ notes: expect.arrayContaining(notes) })
  expect(JSON.stringify(lastCall())).not.toMatch(/02134|9876|TBD|ODD-VIN/)
  expect(JSON.stringify(lastCall())).not.toContain(bookingExample.BillToName)
})

test('a call that failed because of the gateway itself has the cause, with its place, only in the log', async () => {
  const put = () => Promise.reject(new TypeError('a bug of the store'))
  const to = await startGateway({ env: OWN, store: { ...createMemoryStore(), put } })
  const { status, text } = await quote({}, {}, to)
  expect(status).toBe(500)
  expect(text).not.toContain('a bug of the store')
  expect(await to.logged(/^call/)).toMatchObject({
    level: 'error',
    msg: 'call failed',
    error: 'gateway-failed',
    status: 500,
    err: { type: 'TypeError', message: 'a bug of the store', stack: expect.stringContaining('logs.test.ts') },
  })
})

test('lines for people have the time, what happened, and what is wrong', () => {
  const time = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
  const shown = (entry: object) => lineForPeople(JSON.stringify({ level: 'info', time, name: 'transload', ...entry }))
  const call = { msg: 'call', status: 200, method: 'POST', path: '/createShipment.php', action: 'shipment.create' }
  expect(shown({ ...call, ms: 12, id: 'r-1' })).toBe(
    '03:04:05.006  200  POST  /createShipment.php  shipment.create  12 ms  r-1\n',
  )
  expect(shown({ level: 'warn', msg: 'store not ready', err: { message: 'gone' }, server: 'db' })).toBe(
    '03:04:05.006  WARN  store not ready  gone  server=db\n',
  )
})
