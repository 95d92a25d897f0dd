import { action, lacks, move, ownNumber, say } from '../src/mapping/declare.ts'
import { money } from './codecs.ts'
import { customerFacts, quoteNames, quoteOnlyRows, tripRows } from './quote-rows.ts'

/** Changes a quote: what is sent counts, and what the quote was made with for the rest. */
export const quoteUpdate = action({
  name: 'quote.update',
  summary: 'Change a quote and price it anew.',
  family: 'quote',
  legacy: {
    method: 'POST',
    paths: ['/getShippingQuote.php', '/getShippingQuoteWTS.php'],
    actionNames: ['Update Rate', 'Update Quote'],
  },
  service: { method: 'PUT', path: '/v2/quote/{quote_id}' },
  finds: { kind: 'quote', by: quoteNames },
  recalls: quoteNames,
  keeps: { kind: 'quote', names: quoteNames, id: 'shipment_id' },
  request: [...tripRows({ update: true }), ...quoteOnlyRows],
  remember: customerFacts,
  reply: [
    move('Cost', 'price', money),
    ownNumber('ShipmentNumber', 'shipment_id'),
    say('Message', [
      lacks('price', 'The quote was updated; the service gave no new price. Ask for a rate to learn it.'),
    ]),
  ],
  example: {
    request: {
      ActionName: 'Update Rate',
      ShipmentNumber: 'WTS20250216191244',
      EquipmentType: 'ENCLOSED AUTO',
      TempShipToPostalCode: '33101',
    },
    reply: { shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1480 },
  },
})
