import { DatabaseSync } from 'node:sqlite'
import replyFrom from '@fastify/reply-from'
import fastify from 'fastify'
import { connections, folder, host, port, service } from './place.js'
import { quoteToVersion1, quoteToVersion2 } from './translate.js'

/* fastify 5 with @fastify/reply-from; each quote is on the disk before it is answered, in a transaction of its own. */

const db = new DatabaseSync(`${folder}/quotes.db`)
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE names (name TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE quotes (id TEXT PRIMARY KEY, own TEXT NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID`)
const putName = db.prepare('INSERT OR REPLACE INTO names VALUES (?, ?)')
const putQuote = db.prepare('INSERT OR REPLACE INTO quotes VALUES (?, ?, ?)')

function remember(own, id, facts) {
  db.exec('BEGIN IMMEDIATE')
  putName.run(own || id, id)
  putQuote.run(id, own ?? '', JSON.stringify(facts))
  db.exec('COMMIT')
}

const app = fastify()
app.register(replyFrom, { base: service, undici: { connections, pipelining: 1 } })

app.post('/getShippingQuote.php', ({ body }, reply) => {
  const facts = quoteToVersion2(body)
  reply.from('/v2/quote', {
    body: facts,
    onResponse: (_request, answer, { statusCode, stream }) => {
      if (statusCode >= 300) return answer.send(stream)
      let text = ''
      stream.setEncoding('utf8')
      stream.on('data', (chunk) => {
        text += chunk
      })
      stream.on('end', () => {
        const quote = JSON.parse(text)
        remember(body.ShipmentNumber, quote.shipment_id, facts)
        answer.code(200).send(quoteToVersion1(quote, body))
      })
    },
  })
})

await app.listen({ host, port })
