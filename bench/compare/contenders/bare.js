import { createServer } from 'node:http'
import { Pool } from 'undici'
import { connections, host, port, service } from './place.js'
import { toVersion1, toVersion2 } from './translate.js'

/* The least that Node needs: its own server, and undici's lowest call. */

const pool = new Pool(service, { connections })

/** Sends, and gives the whole reply to `done`. */
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

/** Hands the body over as it comes, and the reply back likewise. */
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

function quote(request, response) {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const fields = JSON.parse(Buffer.concat(chunks).toString())
    const { authorization } = request.headers
    const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
    send('POST', '/v2/quote', headers, JSON.stringify(toVersion2(fields)), (error, reply) => {
      if (error) return response.writeHead(502).end()
      const text = JSON.stringify(toVersion1(JSON.parse(reply.body.toString()), fields))
      response
        .writeHead(reply.status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
        .end(text)
    })
  })
}

createServer((request, response) => {
  if (request.url === '/getShippingQuote.php') quote(request, response)
  else passThrough(request, response).catch(() => response.destroy())
}).listen(port, host)
