import replyFrom from '@fastify/reply-from'
import fastify from 'fastify'
import { connections, host, port, service } from './place.js'
import { remember } from './remember.js'
import {
  bookingToVersion1,
  bookingToVersion2,
  quoteToVersion1,
  quoteToVersion2,
  shipmentPath,
  shipmentToVersion1,
} from './translate.js'

/* fastify 5 with @fastify/reply-from, as their documentation has it. */

const app = fastify()
app.register(replyFrom, { base: service, undici: { connections, pipelining: 1 } })

/** Answers with a translated reply; a refusal passes through. */
const answered = (toVersion1) => ({
  onResponse: (_request, answer, { statusCode, stream }) => {
    if (statusCode >= 300) return answer.send(stream)
    let text = ''
    stream.setEncoding('utf8')
    stream.on('data', (chunk) => {
      text += chunk
    })
    stream.on('end', () => answer.code(200).send(toVersion1(JSON.parse(text))))
  },
})

app.post('/getShippingQuote.php', ({ body }, reply) => {
  const facts = quoteToVersion2(body)
  const toVersion1 = (quote) => {
    remember?.(body.ShipmentNumber, quote.shipment_id, facts)
    return quoteToVersion1(quote, body)
  }
  return reply.from('/v2/quote', { body: facts, ...answered(toVersion1) })
})

app.post('/createShipment.php', ({ body }, reply) =>
  reply.from('/v2/shipments', { body: bookingToVersion2(body), ...answered(bookingToVersion1) }),
)

// Without a query here, the caller's query would be sent.
app.get('/getShipment.php', ({ query }, reply) =>
  reply.from(shipmentPath(query.ReferenceNumber), { queryString: () => '', ...answered(shipmentToVersion1) }),
)

app.register(async (through) => {
  // Bodies that pass through are not parsed.
  through.removeAllContentTypeParsers()
  through.addContentTypeParser('*', (_request, body, done) => done(null, body))
  through.all('/v2/*', (request, reply) => reply.from(request.url))
})

await app.listen({ host, port })
