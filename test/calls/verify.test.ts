/** Promise: a reply that is not what was asked for is no success (contract, section 9). */

import { expect, test } from 'vitest'
import {
  bookedShipment,
  cancellationOf,
  changeOf,
  newQuote,
  notCanceled,
  requireWhole,
  shipmentNamed,
  shipmentWithId,
} from '../../src/calls/verify.ts'

/*
 * The fault that a caller reads in the answer, where the service's reply is not what was asked for.
 */

const SHIPMENT = { id: 'id-1', number: 'T-1', status: 'new' }

const reply = (body: unknown) => ({
  status: 200,
  headers: {},
  body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
})

const shown = (body: unknown) => () => shipmentWithId(reply(body), 'id-1')
const named = (body: unknown) => () => shipmentNamed(reply(body), 'id-1')
const booked = (body: unknown) => () => bookedShipment(reply(body))
const quoted = (body: unknown) => () => newQuote(reply(body))
const changed = (body: unknown) => () => changeOf(reply(body), 'quote', 'id-1')
const changedShipment = (body: unknown) => () => changeOf(reply(body), 'shipment', 'id-1')
const canceled = (body: unknown) => () => cancellationOf(reply(body), 'id-1', 'canceled')
const whole = (body: object) => () => requireWhole({ id: 'id-1', body: { ...body } }, { vehicles: [] }, 0)

test.each([
  ['another id', shown({ ...SHIPMENT, id: 'id-2' }), 'it shows a shipment with another id'],
  ['another name', named({ ...SHIPMENT, id: 'id-2' }), 'it shows another shipment'],
  ['an id alone', shown({ id: 'id-1', status: ' ', customer: null }), 'it shows nothing of the shipment'],
  ['no id', shown({ number: 'T-1', shipment_id: 'id-1' }), 'it shows no shipment with an id'],
  ['a booking that is canceled', booked({ ...SHIPMENT, status: 'canceled' }), 'it shows a canceled shipment'],
  [
    'a booking that is canceled, in another spelling',
    booked({ ...SHIPMENT, status: 'Cancelled' }),
    'it shows a canceled shipment',
  ],
  ['an empty quote', quoted(undefined), 'it is empty'],
  ['a list of quotes', quoted([{ id: 'q-1' }]), 'it is not a JSON object'],
  ['a failed success', quoted({ id: 'q-1', success: 0 }), 'it says that the call failed'],
  ['a failed ok', quoted({ id: 'q-1', ok: 'No' }), 'it says that the call failed'],
  ['an error', quoted({ id: 'q-1', error: 'no route' }), 'it has an error'],
  ['errors', quoted({ id: 'q-1', errors: [{ code: 7 }] }), 'it has an error'],
  ['a shipment without its stops', whole({ vehicles: [] }), 'it does not show the whole shipment'],
  ['one without vehicles', whole({ pickup: {} }), 'it does not show the whole shipment'],
  ['one with a vehicle as text', whole({ pickup: {}, vehicles: ['VIN'] }), 'it does not show the whole shipment'],
  ['one whose vehicle has no id', whole({ pickup: {}, vehicles: [{}] }), 'it shows a vehicle without its id'],
])('%s', (_case, check, fault) => {
  expect(check).toThrow(`The service's reply is not what was asked for: ${fault}. Try again later.`)
})

test.each([
  ['the change of another id', changed({ id: 'id-2' }), 'it names another id'],
  ['the change of another shipment', changed({ shipment_id: 'id-2' }), 'it names another id'],
  ['the change of another quote', changed({ quote_id: 'id-2' }), 'it names another id'],
  ['the change of something without a usable id', changed({ id: ['id-1'] }), 'it names another id'],
  ['the change of a shipment that is another', changedShipment({ shipment_id: 'id-2' }), 'it names another id'],
  ['one that is another by both ids', changedShipment({ id: 'id-3', shipment_id: 'id-2' }), 'it names another id'],
  ['the change of a quote with an id of its own', changed({ id: 'c-7', shipment_id: 'id-1' }), 'it names another id'],
  [
    'the change of another quote that has the shipment',
    changed({ id: 'id-1', quote_id: 'id-2' }),
    'it names another id',
  ],
  ['a change with an error', changed({ id: 'id-1', error: 'closed' }), 'it has an error'],
])('%s: the caller is to send it again', (_case, check, fault) => {
  expect(check).toThrow(`: ${fault}. The change may have been made or not; send it again.`)
})

const STATUS = 'it does not show the shipment as canceled'

test.each([
  ['the cancellation of another id', canceled({ id: 'id-2' }), 'it names another id'],
  ['one of another by both ids', canceled({ id: 'id-3', shipment_id: 'id-2' }), 'it names another id'],
  ['a cancellation with another status', canceled({ id: 'id-1', status: 'new' }), STATUS],
  ['a cancellation with another status in capitals', canceled({ status: ' PICKED_UP ' }), STATUS],
  ['a cancellation that failed', canceled({ success: false }), 'it says that the call failed'],
  [
    'a read after it with another status',
    () => {
      throw notCanceled()
    },
    STATUS,
  ],
])('%s: the caller is to cancel again', (_case, check, fault) => {
  expect(check).toThrow(`: ${fault}. The shipment may not be canceled; cancel it again later.`)
})

test('a reply that shows the thing, or says nothing against it, passes', () => {
  const blank = { id: ' ID-1 ', shipment_id: null, quote_id: ' ', success: 'yes', error: { code: 0, text: '' } }
  expect(changed(blank)()).toEqual(blank)
  expect(changed(undefined)()).toBeUndefined()
  const numbered = { id: 'id-1', status: 'canceled', shipment_id: 'T-1' }
  expect(changedShipment(numbered)()).toEqual(numbered)
  expect(canceled(numbered)()).toEqual(numbered)
  const ofQuote = { id: 'id-1', status: 'canceled', quote_id: 'id-2' }
  expect(changedShipment(ofQuote)()).toEqual(ofQuote)
  expect(canceled(ofQuote)()).toEqual(ofQuote)
  expect(canceled({ id: 'ID-1', status: 'canceled' })()).toEqual({ id: 'ID-1', status: 'canceled' })
  const ofChange = { id: 'change-7', status: 'canceled', shipment_id: 'ID-1' }
  expect(canceled(ofChange)()).toEqual({ ...ofChange, id: 'id-1' })
  expect(changedShipment(ofChange)()).toEqual({ ...ofChange, id: 'id-1' })
  for (const status of ['CANCELED', 'cancelled', 'success', 200, 'deleted'])
    expect(canceled({ id: 'id-1', status })()).toEqual({ id: 'id-1', status })
  for (const status of ['assigned', 'in_transit', 'failed']) expect(canceled({ id: 'id-1', status })).toThrow()
  for (const proof of [undefined, 'canceled', [], {}, { status: ' ' }]) expect(canceled(proof)).not.toThrow()
  for (const key of ['number', 'status', 'customer', 'pickup', 'delivery', 'vehicles'])
    expect(shown({ id: 'ID-1', [key]: 'given' })().id).toBe('ID-1')
  for (const key of ['id', 'number', 'external_id'])
    expect(named({ ...SHIPMENT, id: 'id-9', [key]: 'Id-1' })().body[key]).toBe('Id-1')
  expect(whole({ pickup: {}, vehicles: [{ id: 7 }] })).not.toThrow()
  expect(() => requireWhole({ id: 'id-1', body: { pickup: {}, vehicles: [{}] } }, {}, 0)).not.toThrow()
})
