import { expect, test } from 'vitest'
import { bookingExample } from '../mappings/booking-rows.ts'
import { quoteExample } from '../mappings/quote-rows.ts'
import { get, openHouse, post } from './house.ts'

test('a trip is quoted, changed, approved; another is booked, read, changed and canceled', async () => {
  const house = await openHouse()
  const quote = await post(house, '/quotes/getShippingQuoteWTS.php', quoteExample)
  expect(quote.json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: quoteExample.ShipmentNumber })

  const own = { ShipmentNumber: quoteExample.ShipmentNumber }
  const updated = await post(house, '/getShippingQuote.php', { ...own, ActionName: 'Update Rate', EquipmentType: 'ENCLOSED AUTO' })
  expect(Number(updated.json.Cost)).toBeGreaterThan(Number(quote.json.Cost))

  const booked = await post(house, '/createShipment.php', bookingExample)
  expect(booked.json).toEqual({ Message: expect.stringContaining('TL-100001'), TransportationBooked: 'Yes' })
  const reference = { ReferenceNumber: bookingExample.ReferenceNumber }
  const read = await get(house, `/getShipment.php?${new URLSearchParams(reference)}`)
  expect(read.json).toMatchObject({ ...reference, DeliveryZip: '33166', Status: 'new' })

  expect((await post(house, '/updateShipment.php', { ...reference, DeliveryName: 'Sam' })).json.TransportationBooked).toBe('Yes')
  expect((await get(house, `/getShipment.php?${new URLSearchParams(reference)}`)).json.DeliveryName).toBe('Sam')
  expect((await post(house, '/deleteShipment.php', reference)).json.TransportationBooked).toBe('No')
  expect((await post(house, '/deleteShipment.php', reference)).json.TransportationBooked).toBe('No')

  const approved = await post(house, '/getShippingQuote.php', { ...own, ActionName: 'Accept Rate' })
  expect(approved.json).toMatchObject({ ...own, TransportationBooked: 'Yes' })
})
