import {
  action,
  callerNumber,
  fixed,
  ifAbsent,
  ifPresent,
  message,
  move,
  ref,
  v1Only,
} from '../src/language/mapping/declare.ts'
import { fieldsOf } from '../src/language/mapping/row-parts.ts'
import { money } from './codecs.ts'
import { customerFacts, quoteNames, quoteOnlyRows, tripRows } from './quote-rows.ts'

const namesIt = 'identifies the quote; its id is in the path'
const otherFields = [...tripRows({ update: true }), ...quoteOnlyRows, ...customerFacts]
  .flatMap(fieldsOf)
  .filter((v1) => !quoteNames.some((name) => name === v1) && v1 !== 'ActionName')

/** Accepts a quote. If the service shows no shipment for it, the reply has `No` where these rows have `Yes`. */
export const quoteApprove = action({
  name: 'quote.approve',
  verb: 'approve',
  summary: 'Accept a quote. The trip is booked if the service shows its shipment; otherwise, the response says `No`.',
  family: 'quote',
  legacy: {
    method: 'POST',
    paths: ['/getShippingQuote.php', '/getShippingQuoteWTS.php'],
    actionNames: ['Approve Rate', 'Approve Quote', 'Accept Rate', 'Accept Quote'],
  },
  service: { method: 'POST', path: '/v2/quote/{quote_id}/approve' },
  target: { kind: 'quote', namedBy: quoteNames },
  request: [
    ...v1Only(['ActionName'], 'selects the action; version 2 has a path for each'),
    ...quoteNames.map((name) => ref(name, namesIt)),
    ...v1Only(otherFields, 'an approval does not change the quote'),
  ],
  reply: [
    move('Cost', 'price', money),
    callerNumber('ShipmentNumber', 'shipment_id'),
    message('Message', [
      ifPresent(
        'shipment_id',
        'The quote is approved and the transportation is booked as shipment {number|shipment_id}.',
      ),
      ifAbsent('shipment_id', 'The quote is approved.'),
    ]),
    fixed('TransportationBooked', 'Yes'),
  ],
  example: {
    request: { ActionName: 'Approve Rate', ShipmentNumber: 'WTS20250216191244' },
    reply: { shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1234.5 },
  },
})
