import { Agent } from 'node:http'
import { pipeline } from 'node:stream/promises'
import axios from 'axios'
import express from 'express'
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

/* express 5 with axios over connections that are kept. */

const client = axios.create({
  baseURL: service,
  httpAgent: new Agent({ keepAlive: true, maxSockets: connections }),
  validateStatus: () => true,
  maxRedirects: 0,
  proxy: false,
})
const HOP_BY_HOP = ['connection', 'host', 'keep-alive', 'transfer-encoding']

const endToEnd = (headers) => {
  const kept = { ...headers }
  for (const name of HOP_BY_HOP) delete kept[name]
  return kept
}

const app = express()

/** Answers with a translated reply; a refusal passes through. */
function answer(response, { status, data }, toVersion1) {
  if (status < 300) response.json(toVersion1(data))
  else response.status(status).json(data)
}

app.post('/getShippingQuote.php', express.json(), async ({ body, headers: { authorization } }, response) => {
  const facts = quoteToVersion2(body)
  const reply = await client.post('/v2/quote', facts, { headers: { authorization } })
  if (remember && reply.status < 300) await remember(body.ShipmentNumber, reply.data.shipment_id, facts)
  answer(response, reply, (data) => quoteToVersion1(data, body))
})

app.post('/createShipment.php', express.json(), async (request, response) => {
  const { authorization } = request.headers
  const reply = await client.post('/v2/shipments', bookingToVersion2(request.body), { headers: { authorization } })
  answer(response, reply, bookingToVersion1)
})

app.get('/getShipment.php', async (request, response) => {
  const { authorization } = request.headers
  const reply = await client.get(shipmentPath(request.query.ReferenceNumber), { headers: { authorization } })
  answer(response, reply, shipmentToVersion1)
})

app.use('/v2', async (request, response) => {
  const reply = await client.request({
    method: request.method,
    url: request.originalUrl,
    headers: endToEnd(request.headers),
    data: request.method === 'GET' ? undefined : request,
    responseType: 'stream',
    decompress: false,
  })
  response.status(reply.status).set(endToEnd(reply.headers))
  // A caller that hangs up is not an error of this program.
  await pipeline(reply.data, response).catch(() => response.destroy())
})

app.listen(port, host)
