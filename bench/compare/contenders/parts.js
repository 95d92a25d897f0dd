import { createServer } from 'node:http'
import { Worker } from 'node:worker_threads'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { Client, Pool } from 'undici'
import { connections, folder, host, port, service } from './place.js'
import { bookingToVersion1, bookingToVersion2, quoteToVersion1, quoteToVersion2 } from './translate.js'

/*
 * The parts that the gateway is made of, and nothing else: Hono on Node's server, undici's lowest call, and `node:sqlite` in a
 * thread that commits in groups. A quote is on the disk before it is answered. A booking is on the disk before it is sent, and
 * its outcome before it is answered; it has a connection of its own. Nothing identifies callers, checks, retries, logs or counts.
 */

const pool = new Pool(service, { connections })
const writer = new Worker(new URL('./parts-writer.js', import.meta.url), { workerData: `${folder}/parts.db` })

/** The writes that wait for the next commit, and those in the commit under way. */
let waiting = []
let writing = []

writer.on('message', () => {
  for (const { done } of writing) done()
  writing = []
  commit()
})

/** Commits what waits once a turn of the event loop adds nothing, as the gateway does. */
function commit(before = 0) {
  if (writing.length > 0 || waiting.length === 0) return
  if (waiting.length > before) setImmediate(commit, waiting.length)
  else {
    writing = waiting
    waiting = []
    writer.postMessage(JSON.stringify(writing.map(({ write }) => write)))
  }
}

function store(write, done) {
  waiting.push({ write, done })
  if (waiting.length === 1) commit()
}

/** Sends a request to the service and passes its reply to `done`. */
function ask(dispatcher, path, body, { authorization }, done) {
  let status = 0
  const chunks = []
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
  dispatcher.dispatch(
    { method: 'POST', path, headers, body: JSON.stringify(body) },
    {
      onRequestStart: () => {},
      onResponseStart: (_controller, code) => {
        status = code
      },
      onResponseData: (_controller, chunk) => chunks.push(chunk),
      onResponseEnd: () => done(status, Buffer.concat(chunks).toString()),
      onResponseError: () => done(502, ''),
    },
  )
}

/** Reads a body and passes its fields to `then`. */
function collect(incoming, then) {
  const chunks = []
  incoming.on('data', (chunk) => chunks.push(chunk))
  incoming.on('end', () => then(JSON.parse(Buffer.concat(chunks).toString())))
}

function answer(outgoing, status, text) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  outgoing.writeHead(status, headers).end(text)
}

const app = new Hono()

app.post('/getShippingQuote.php', ({ env: { incoming, outgoing } }) => {
  collect(incoming, (fields) => {
    const facts = quoteToVersion2(fields)
    ask(pool, '/v2/quote', facts, incoming.headers, (status, reply) => {
      if (status >= 300) return answer(outgoing, status, reply)
      const quote = JSON.parse(reply)
      const text = JSON.stringify(quoteToVersion1(quote, fields))
      const { ShipmentNumber: own = '' } = fields
      store(['quote', own || quote.shipment_id, quote.shipment_id, own, facts], () => answer(outgoing, 200, text))
    })
  })
  return RESPONSE_ALREADY_SENT
})

app.post('/createShipment.php', ({ env: { incoming, outgoing } }) => {
  collect(incoming, (fields) => {
    const { ReferenceNumber: reference } = fields
    const body = bookingToVersion2(fields)
    store(['claim', reference, body], () => {
      const client = new Client(service)
      client.once('drain', () => client.destroy())
      ask(client, '/v2/shipments', body, incoming.headers, (status, reply) => {
        if (status >= 300) return store(['free', reference], () => answer(outgoing, status, reply))
        const shipment = JSON.parse(reply)
        const text = JSON.stringify(bookingToVersion1(shipment))
        store(['booked', reference, shipment.id, shipment.number, text], () => answer(outgoing, 200, text))
      })
    })
  })
  return RESPONSE_ALREADY_SENT
})

const listener = getRequestListener(app.fetch, { hostname: 'parts', autoCleanupIncoming: false })
createServer(listener).listen(port, host)
