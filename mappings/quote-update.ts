import { action, callerNumber, ifAbsent, message, move } from '../src/language/mapping/declare.ts'
import { money } from './codecs.ts'
import { customerFacts, quoteNames, quoteOnlyRows, tripRows } from './quote-rows.ts'

/** Changes a quote: the sent fields replace those of the original request. */
export const quoteUpdate = action({
  name: 'quote.update',
  verb: 'quote',
  summary: 'Change a quote. It gets a new price.',
  family: 'quote',
  legacy: {
    method: 'POST',
    paths: ['/getShippingQuote.php', '/getShippingQuoteWTS.php'],
    actionNames: ['Update Rate', 'Update Quote'],
  },
  service: { method: 'PUT', path: '/v2/quote/{quote_id}' },
  target: { kind: 'quote', namedBy: quoteNames },
  quoteNamedBy: quoteNames,
  givesNames: quoteNames,
  request: [...tripRows({ update: true }), ...quoteOnlyRows],
  remember: customerFacts,
  reply: [
    move('Cost', 'price', money),
    callerNumber('ShipmentNumber', 'shipment_id'),
    message('Message', [
      ifAbsent('price', 'The quote was updated, but no new price was returned. Send Get Rate for the price.'),
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
