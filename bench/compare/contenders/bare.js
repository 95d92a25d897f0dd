import { createServer } from 'node:http'
import { Pool } from 'undici'
import { connections, host, port, service } from './place.js'
import {
  bookingToVersion1,
  bookingToVersion2,
  quoteToVersion1,
  quoteToVersion2,
  shipmentPath,
  shipmentToVersion1,
} from './translate.js'

/* The least that Node needs: its own server, and undici's lowest call. */

const pool = new Pool(service, { connections })

/** Sends a request and passes the whole reply to `done`. */
function send(method, path, headers, body, done) {
  let status = 0
  let received = {}
  const chunks = []
  pool.dispatch(
    { method, path, headers, body },
    {
      onRequestStart: () => {},
      onResponseStart: (_controller, code, lines) => {
        status = code
        received = lines
      },
      onResponseData: (_controller, chunk) => chunks.push(chunk),
      onResponseEnd: () => done(undefined, { status, headers: received, body: Buffer.concat(chunks) }),
      onResponseError: (_controller, error) => done(error),
    },
  )
}

/** Passes the body and the reply through as they arrive. */
async function passThrough(request, response) {
  const { authorization, 'content-type': type, 'content-length': length } = request.headers
  const headers = { ...(authorization && { authorization }), ...(type && { 'content-type': type }) }
  if (length !== undefined) headers['content-length'] = length
  const body = request.method === 'GET' ? null : request
  await pool.stream({ method: request.method, path: request.url, headers, body }, ({ statusCode, headers: lines }) => {
    const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...kept } = lines
    response.writeHead(statusCode, kept)
    return response
  })
}

/** Sends a request to the service and answers with its translated reply; a refusal passes through. */
function ask(method, path, { headers: { authorization } }, body, response, toVersion1) {
  const headers = { ...(body && { 'content-type': 'application/json' }), ...(authorization && { authorization }) }
  send(method, path, headers, body, (error, reply) => {
    if (error) return response.writeHead(502).end()
    const done = reply.status < 300
    const text = done ? JSON.stringify(toVersion1(JSON.parse(reply.body.toString()))) : reply.body
    response
      .writeHead(done ? 200 : reply.status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      })
      .end(text)
  })
}

/** Reads a body and passes its fields to `done`. */
function collect(request, done) {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => done(JSON.parse(Buffer.concat(chunks).toString())))
}

const quote = (request, response) =>
  collect(request, (fields) => {
    const body = JSON.stringify(quoteToVersion2(fields))
    ask('POST', '/v2/quote', request, body, response, (reply) => quoteToVersion1(reply, fields))
  })

const book = (request, response) =>
  collect(request, (fields) => {
    ask('POST', '/v2/shipments', request, JSON.stringify(bookingToVersion2(fields)), response, bookingToVersion1)
  })

const SHIPMENT = '/getShipment.php?'

function shipment(request, response) {
  const name = new URLSearchParams(request.url.slice(SHIPMENT.length)).get('ReferenceNumber')
  ask('GET', shipmentPath(name), request, null, response, shipmentToVersion1)
}

createServer((request, response) => {
  if (request.url === '/getShippingQuote.php') quote(request, response)
  else if (request.url === '/createShipment.php') book(request, response)
  else if (request.url.startsWith(SHIPMENT)) shipment(request, response)
  else passThrough(request, response).catch(() => response.destroy())
}).listen(port, host)
