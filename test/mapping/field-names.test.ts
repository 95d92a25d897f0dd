import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { post, startGateway } from '../gateway.ts'

const { actions } = await loadMappings()

/** A message of the service as a caller of the action reads it. */
const told = (action: string, text: string) => actions.get(action)?.nameFields(text)

describe('a message of the service names the fields of the caller', () => {
  test.each([
    ['pickup must be a postal code', 'TempShipFromPostalCode must be a postal code'],
    [
      'pickup: must be a postal code; delivery is required',
      'TempShipFromPostalCode: must be a postal code; TempShipToPostalCode is required',
    ],
    ['Invalid pickup', 'Invalid TempShipFromPostalCode'],
    ['The field "delivery" is too short.', 'The field "TempShipToPostalCode" is too short.'],
    ["missing parameter 'pickup'", "missing parameter 'TempShipFromPostalCode'"],
    ['transport_type must be one of open, enclosed', 'EquipmentType must be one of open, enclosed'],
    ['vehicle_type is unknown', 'PickupCommodityCode or DeliveryCommodityCode or LoadReference is unknown'],
  ])('of a quote: %s', (text, expected) => {
    expect(told('quote.get', text)).toBe(expected)
  })

  test.each([
    ['pickup.zipcode must be an integer', 'PickupZip must be an integer'],
    ['/pickup/zipcode: must be an integer', 'PickupZip: must be an integer'],
    ['body.vehicles[0].year must be a number', 'Year must be a number'],
    ['vehicles.0.vin has a wrong check digit.', 'VinNo has a wrong check digit.'],
    ['#/vehicles/0/vin is taken', '#VinNo is taken'],
    ['delivery[contact_phone] is not a phone number', 'DeliveryPhNo. is not a phone number'],
    ['pickup.location_name is blank', 'PickupName is blank'],
    ['external_id is taken', 'ReferenceNumber is taken'],
  ])('of a booking: %s', (text, expected) => {
    expect(told('shipment.create', text)).toBe(expected)
  })

  test.each([
    'There is no driver for pickup and delivery on that day.',
    'The pickup date has passed.',
    'pickup/delivery',
    'See https://service.example.com/pickup/zipcode for help.',
    'vehicles[1].year must be a number',
    'transport.type must be open',
    'the transport_types',
    '',
  ])('and leaves other words alone: %s', (text) => {
    expect(told('quote.get', text)).toBe(text)
    expect(told('shipment.create', text)).toBe(text)
  })

  test('in the answer, and says nothing twice', async () => {
    const gateway = await startGateway()
    const { status, json } = await post(gateway, '/getShippingQuote.php', {
      ...quoteExample,
      TempShipFromPostalCode: 'nowhere',
      TempShipToPostalCode: 'SW1A 1AA',
    })
    expect(status).toBe(422)
    expect(json.Message).toMatch(
      /TempShipFromPostalCode must be a postal code; TempShipToPostalCode must be a postal code$/,
    )
  })
})
