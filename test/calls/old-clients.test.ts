/** Promise: what old clients send in place of nothing counts as nothing (contract, section 2). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { OWN, post, startGateway } from '../gateway.ts'

/* What old integrations send, and what the people behind them need to hear. */

const CREATE = '/createShipment.php'
const QUOTE = '/getShippingQuote.php'

test('a VIN that is not known yet is no VIN', async () => {
  const gateway = await startGateway({ env: OWN })
  const { Year: _, ...without } = bookingExample
  const refused = await post(gateway, CREATE, { ...without, VinNo: 'TBD' })
  expect(refused).toMatchObject({ status: 422, json: { Message: expect.stringContaining('VinNo, or Year with Make') } })
  expect((await post(gateway, CREATE, { ...bookingExample, VinNo: 'TBD' })).status).toBe(200)
  const [shipment] = gateway.sandbox.shipments.values()
  expect(shipment?.vehicles[0]?.vin).toBeUndefined()
  const body = { ReferenceNumber: bookingExample.ReferenceNumber, VinNo: 'N/A' }
  expect((await post(gateway, '/deleteShipment.php', body)).status).toBe(200)
})

test.each(['data', 'json', 'BODY'])('a body in the one field %s of a form is read as that body', async (field) => {
  const gateway = await startGateway({ env: OWN })
  const form = new URLSearchParams({ [field]: JSON.stringify(quoteExample) })
  expect((await post(gateway, QUOTE, form.toString())).json).toMatchObject({
    ShipmentNumber: quoteExample.ShipmentNumber,
  })
  form.set('more', '1')
  expect((await post(gateway, QUOTE, form.toString())).status).toBe(422)
})

test.each([
  ['Bearer abc', 'must use HTTP Basic: "Basic " followed by'],
  [
    `Basic ${Buffer.from('no colon').toString('base64')}`,
    'The Basic credential is not valid Base64 of ClientID:ClientSecret',
  ],
  ['Basic', 'The Basic credential is not valid Base64'],
])('the credential %s is told what is wrong with it', async (authorization, says) => {
  const answer = await post(await startGateway(), QUOTE, quoteExample, { authorization })
  expect(answer).toMatchObject({ status: 401, json: { Message: expect.stringContaining(says) } })
})

test('an empty body with a query is told that in the body, not in the URL', async () => {
  const { json } = await post(await startGateway(), `${QUOTE}?ShipmentNumber=1`, '')
  expect(json.Message).toContain('in the body, not in the URL')
})

test('a message that asks for a person names whom to ask', async () => {
  const doubtful = async (env: Record<string, string>) => {
    const gateway = await startGateway({ env: { ...OWN, ...env } })
    gateway.sandbox.fail({ kind: 'status', status: 500, on: { method: 'POST' } })
    return (await post(gateway, CREATE, bookingExample)).json.Message
  }
  expect(await doubtful({})).toMatch(/; contact the operator of this gateway and give them bk_[0-9a-f]{12}\.$/)
  expect(await doubtful({ SUPPORT_CONTACT: 'help@example.com' })).toMatch(
    /; contact help@example\.com and give them bk_[0-9a-f]{12}\.$/,
  )
  const tooLarge = await startGateway({ env: { ...OWN, SUPPORT_CONTACT: 'the help desk ($&)' } })
  tooLarge.sandbox.fail({ kind: 'huge', megabytes: 9 })
  const { json } = await post(tooLarge, QUOTE, quoteExample)
  expect(json.Message).toBe("The service's reply is too large. Contact the help desk ($&).")
})

test('a dry run of an unknown ActionName, and one with wrong names of fields, says what was meant', async () => {
  const gateway = await startGateway({ env: OWN })
  const unknown = await post(gateway, `/dry-run${QUOTE}`, { ...quoteExample, ActionName: 'Frobnicate' })
  expect(unknown).toMatchObject({
    status: 200,
    json: { ok: false, problems: [{ field: 'ActionName', message: expect.stringContaining('Get Rate') }] },
  })
  const { json } = await post(gateway, `/dry-run${QUOTE}`, {
    ...quoteExample,
    TempShipFromZip: '1',
    PickupComodityCode: 'x',
  })
  expect(json.didYouMean).toEqual({ PickupComodityCode: 'PickupCommodityCode' })
  expect(json.remembered.filter(({ from }: { from: string[] }) => from.includes('BillToContact'))).toMatchObject([
    { to: 'contact_name', after: 'Pat Example' },
    { to: 'contact_phone', after: '2145550000' },
    { to: 'contact_email', after: 'pat@example.com' },
  ])
})

test('a dry run of a reply says what its message is made from, and that null is blank', async () => {
  const gateway = await startGateway({ env: OWN })
  const vehicle = { id: 'v', vin: 'VIN1', trim: 'LX', weight: 5, photos: [{ id: 'p' }] }
  const reply = {
    id: 'S',
    number: 'TL-1',
    status: 'new',
    price: null,
    vehicles: [vehicle, { ...vehicle, vin: 'VIN2' }],
  }
  const { json } = await post(gateway, '/dry-run/reply/shipment.get', reply)
  const message = json.fields.find(({ to }: { to: string }) => to === 'Message')
  expect(message.from).toEqual(['id', 'vehicles[1].vin'])
  expect(json.unused).toContainEqual({ field: 'price', why: 'blank, which counts as absent' })
  expect(json.unknown).toEqual([])
})
