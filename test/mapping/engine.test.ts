/** Promise: a row translates as declared, and reports what it lost or assumed (contract, section 4). */

import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { codec } from '../../src/language/mapping/codec.ts'
import { ifAbsent, ifPresent, ifSeveral, message, move, type Sentence } from '../../src/language/mapping/declare.ts'
import { compileReply } from '../../src/language/mapping/reply.ts'
import { SETTINGS } from '../events/office.ts'
import { post, startGateway } from '../gateway.ts'

const { actions } = await loadMappings()

describe('rows of a reply', () => {
  const ANY = { name: 'any', summary: '', decode: (text: string) => text }
  const zip = move('Zip', 'zip', codec(String, { ...ANY, passThroughUnknown: false, encode: (_, fail) => fail() }))
  const told = (sentences: readonly Sentence[], body: unknown, field = 'Message') =>
    compileReply([zip, message(field, sentences)])(body, { settings: SETTINGS, own: undefined }).reply[field]

  test.each<[string, Sentence, unknown, string | undefined]>([
    ['quotes a place', { text: 'It is {a.b}.' }, { a: { b: ' TL-1 ' } }, 'It is TL-1.'],
    ['quotes a number', { text: '{a} miles, {a}.' }, { a: 5 }, '5 miles, 5.'],
    ['quotes the first place that has a value', { text: '{a|b|c}' }, { a: ' ', b: 'x', c: 'y' }, 'x'],
    ['quotes nothing where no place has a value', { text: '({a|b})' }, { a: {} }, '()'],
    ['quotes no pattern', { text: '{a}' }, { a: '$&$1' }, '$&$1'],
    ['counts the entries of a list', { text: '{list.length}' }, { list: [1, 2] }, '2'],
    ['for a value counts if it is there', ifPresent('a', 'Yes.'), { a: 0 }, 'Yes.'],
    ['for a value counts not for blanks', ifPresent('a', 'Yes.'), { a: ' ' }, undefined],
    ['for a value counts not for an object', ifPresent('a', 'Yes.'), { a: {} }, undefined],
    ['for a value counts not if no codec can read it', ifPresent('zip', 'Yes.'), { zip: 'nowhere' }, undefined],
    ['for no value counts if there is none', ifAbsent('a', 'No.'), {}, 'No.'],
    ['for no value counts if no codec can read it', ifAbsent('zip', 'No.'), { zip: 'nowhere' }, 'No.'],
    ['for no value counts not if there is one', ifAbsent('a', 'No.'), { a: 'x' }, undefined],
    ['for several counts from two entries on', ifSeveral('a', 'Many.'), { a: [1, 2] }, 'Many.'],
    ['for several counts not for one', ifSeveral('a', 'Many.'), { a: [1] }, undefined],
    ['for several counts not for a text', ifSeveral('a', 'Many.'), { a: 'abc' }, undefined],
  ])('a sentence %s', (_, sentence, body, said) => {
    expect(told([sentence], body)).toBe(said)
  })

  test('a message has at most 500 characters, and another field 4096', () => {
    const long = Array.from({ length: 1_000 }, () => ({ text: 'xxxxxxxxx' }))
    expect(told(long, {})).toHaveLength(500)
    expect(told(long, {}, 'Notes')).toHaveLength(4_096)
  })
})

describe("a message from the service names the caller's fields", () => {
  test.each([
    [
      'quote.get',
      'pickup: must be a postal code; delivery is required',
      'TempShipFromPostalCode: must be a postal code; TempShipToPostalCode is required',
    ],
    ['quote.get', 'The field "delivery" is too short.', 'The field "TempShipToPostalCode" is too short.'],
    ['quote.get', "missing parameter 'pickup'", "missing parameter 'TempShipFromPostalCode'"],
    [
      'quote.get',
      'vehicle_type is unknown',
      'PickupCommodityCode or DeliveryCommodityCode or LoadReference is unknown',
    ],
    ['shipment.create', '/pickup/zipcode: must be an integer', 'PickupZip: must be an integer'],
    ['shipment.create', 'body.vehicles[0].year must be a number', 'Year must be a number'],
    ['shipment.create', 'vehicles.0.vin has a wrong check digit.', 'VinNo has a wrong check digit.'],
    ['shipment.create', '#/vehicles/0/vin is taken', '#VinNo is taken'],
    ['shipment.create', 'delivery[contact_phone] is not a phone number', 'DeliveryPhNo. is not a phone number'],
    ['shipment.create', 'pickup.location_name is blank', 'PickupName is blank'],
  ])('of a %s: %s', (action, text, expected) => {
    expect(actions.get(action)?.nameFields(text)).toBe(expected)
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
  ])('and leaves other words unchanged: %s', (text) => {
    for (const action of ['quote.get', 'shipment.create']) expect(actions.get(action)?.nameFields(text)).toBe(text)
  })

  test('in the answer, and says nothing twice', async () => {
    const gateway = await startGateway()
    const wrong = { TempShipFromPostalCode: 'nowhere', TempShipToPostalCode: 'SW1A 1AA' }
    const { status, json } = await post(gateway, '/getShippingQuote.php', { ...quoteExample, ...wrong })
    expect(status).toBe(422)
    expect(json.Message).toMatch(
      /TempShipFromPostalCode must be a postal code; TempShipToPostalCode must be a postal code$/,
    )
  })
})
