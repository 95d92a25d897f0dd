import { claims } from '../src/mapping/check.ts'
import { action, fixed, has, lacks, move, ownNumber, ref, say, v1Only } from '../src/mapping/declare.ts'
import { money } from './codecs.ts'
import { customerFacts, quoteNames, quoteOnlyRows, tripRows } from './quote-rows.ts'

const found = 'names the quote: its id stands in the path'
const documented = [...tripRows({ update: true }), ...quoteOnlyRows, ...customerFacts]
  .flatMap(claims)
  .filter((v1) => !quoteNames.some((name) => name === v1) && v1 !== 'ActionName')

/** Accepts a quote, which books the trip. */
export const quoteApprove = action({
  name: 'quote.approve',
  summary: 'Accept a quote: the trip is booked.',
  family: 'quote',
  legacy: {
    method: 'POST',
    paths: ['/getShippingQuote.php', '/getShippingQuoteWTS.php'],
    actionNames: ['Approve Rate', 'Approve Quote', 'Accept Rate', 'Accept Quote'],
  },
  service: { method: 'POST', path: '/v2/quote/{quote_id}/approve' },
  finds: { kind: 'quote', by: quoteNames },
  keeps: { kind: 'shipment', names: quoteNames, id: 'shipment_id' },
  request: [
    ...v1Only(['ActionName'], 'chooses the action; version 2 has a path for each'),
    ref('ShipmentNumber', found),
    ref('OrderRefNumber', found),
    ...v1Only(documented, 'an approval takes the quote as it is'),
  ],
  reply: [
    move('Cost', 'price', money),
    ownNumber('ShipmentNumber', 'shipment_id'),
    say('Message', [
      has('shipment_id', 'The quote is approved and the transportation is booked as shipment {shipment_id}.'),
      lacks('shipment_id', 'The quote is approved and the transportation is booked.'),
    ]),
    fixed('TransportationBooked', 'Yes'),
  ],
  example: {
    request: { ActionName: 'Approve Rate', ShipmentNumber: 'WTS20250216191244' },
    reply: { shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1234.5 },
  },
})
