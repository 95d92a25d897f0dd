import { action, callerNumber, move } from '../src/language/mapping/declare.ts'
import { money } from './codecs.ts'
import { customerFacts, quoteExample, quoteNames, quoteOnlyRows, tripRows } from './quote-rows.ts'

/** Prices a trip. */
export const quoteGet = action({
  name: 'quote.get',
  verb: 'quote',
  summary: 'Get a quote. It prices a trip between two postal codes.',
  family: 'quote',
  legacy: {
    method: 'POST',
    paths: ['/getShippingQuote.php', '/getShippingQuoteWTS.php'],
    actionNames: ['Get Rate', 'Get Quote'],
    byDefault: true,
  },
  service: { method: 'POST', path: '/v2/quote' },
  givesNames: quoteNames,
  request: [...tripRows({ update: false }), ...quoteOnlyRows],
  remember: customerFacts,
  reply: [move('Cost', 'price', money, { required: true }), callerNumber('ShipmentNumber', 'shipment_id')],
  example: {
    request: quoteExample,
    reply: { shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1234.5 },
  },
})
