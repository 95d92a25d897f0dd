/** Promise: `translate` explains a call as a dry run does (contract, section 8). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { post, startGateway } from '../gateway.ts'
import { transcript } from './transcript.ts'

test('translations are explained as they were', async () => {
  const place = folder()
  const booking = JSON.stringify({ ...bookingExample, PickupZip: '02134-1234', Foo: '1' })
  const files = {
    'booking.json': booking,
    'quote.txt': 'TempShipFromPostalCode=10314&TempShipToPostalCode=33166&EquipmentType=ENCLOSED+AUTO',
    'wrong.txt': 'TempShipFromPostalCode=10314&TempShipToCity=Miami&EquipmentType=BOAT',
    'update.json':
      '{"ActionName":"Update Rate","ShipmentNumber":"REF-1","TempShipToPostalCode":"33166","EquipmntType":"OPEN"}',
    'slip.json': JSON.stringify({ ...bookingExample, ActionName: 'MakeBoking' }),
    'broken.json': '{"a":',
    'quote.xml': '<xml/>',
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(place, name), content)
  const lines = [
    'translate shipment.create booking.json',
    'translate shipment.create booking.json --json',
    'translate quote.get quote.txt',
    'translate quote.get wrong.txt',
    'translate shipment.get booking.json',
    'translate shipment.update booking.json --as python',
    ...['broken.json', 'quote.xml', 'none.json', '.'].map((name) => `translate quote.get ${name}`),
    // By its path, where `ActionName` chooses; a name that the path does not know is refused, as on the wire.
    'translate /CreateShipment.php/ booking.json',
    'translate /getShippingQuote.php update.json',
    'translate /createShipment.php slip.json',
    'translate /createShipmnt.php booking.json',
    'translate quote.gte booking.json',
    'translate nothing',
    'translate quote.get',
  ]
  await expect(await transcript(place, lines)).toMatchFileSnapshot('output/translate.txt')
})

test('the answer of a dry run is printed for standard input, and nothing is sent', async () => {
  const gateway = await startGateway()
  const { json } = await post(gateway, '/dry-run/createShipment.php', bookingExample, { authorization: '' })
  const env = { V2_BASE_URL: gateway.sandbox.url }
  const { out } = await transload(
    ['translate', '--json', 'shipment.create'],
    folder(),
    env,
    JSON.stringify(bookingExample),
  )
  expect(JSON.parse(out)).toEqual(json)
  expect(gateway.sandbox.requests).toEqual([])
})
