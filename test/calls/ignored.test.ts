/** Promise: an answer says in a header which fields had no place (contract, section 4). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { OWN, post, startGateway } from '../gateway.ts'

const CREATE = '/createShipment.php'
const QUOTE = '/getShippingQuote.php'
const TRIP = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166', ShipmentNumber: 'Q-1' }

test('quotes, bookings, updates and replays name the fields that have no place', async () => {
  const gateway = await startGateway({ env: OWN })
  const ignored = async (path: string, body: object) => {
    const { status, headers } = await post(gateway, path, body)
    expect(status).toBe(200)
    return headers.get('transload-ignored')
  }
  expect(await ignored(QUOTE, { ...TRIP, Foo: '1', CSR: 'A. Agent', ActionName: 'Get Rate' })).toBe('Foo, CSR')
  expect(await ignored(QUOTE, { ...TRIP, ActionName: 'Update Rate', TempShipToCity: 'Miami' })).toBe('TempShipToCity')
  expect(await ignored(CREATE, bookingExample)).toBeNull()
  expect(await ignored(CREATE, { ...bookingExample, DelivryZip: '33166', Blank: ' ', List: [] })).toBe(
    'DelivryZip, List',
  )
  const { ReferenceNumber } = bookingExample
  expect(await ignored('/updateShipment.php', { ReferenceNumber, Make: 'Kia', Status: 'new', Foo: '1' })).toBe(
    'Foo, Status',
  )
  expect(await ignored('/deleteShipment.php', { ReferenceNumber, Foo: '1' })).toBeNull()
})

test('names are percent-encoded, and a long list ends with the number of the others', async () => {
  const gateway = await startGateway({ env: OWN })
  const named = async (names: readonly string[]) => {
    const body = { ...TRIP, ...Object.fromEntries(names.map((name) => [name, 'x'])) }
    return (await post(gateway, QUOTE, body)).headers.get('transload-ignored') ?? ''
  }
  expect(await named(['Straße 1', 'a,b'])).toBe('Stra%C3%9Fe%201, a%2Cb')
  const many = Array.from({ length: 150 }, (_, i) => `Unknown${1000 + i}`)
  const list = await named(many)
  expect(list.length).toBeLessThanOrEqual(1024)
  const shown = list.split(', ')
  expect(shown.at(-1)).toBe(`+${many.length - shown.length + 1}`)
  expect(shown.slice(0, -1)).toEqual(many.slice(0, shown.length - 1))
})
