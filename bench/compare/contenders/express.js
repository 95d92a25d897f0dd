import { Agent } from 'node:http'
import { pipeline } from 'node:stream/promises'
import axios from 'axios'
import express from 'express'
import { connections, host, port, service } from './place.js'
import { toVersion1, toVersion2 } from './translate.js'

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

app.post('/getShippingQuote.php', express.json(), async (request, response) => {
  const { authorization } = request.headers
  const reply = await client.post('/v2/quote', toVersion2(request.body), { headers: { authorization } })
  response.status(reply.status).json(toVersion1(reply.data, request.body))
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
  // A caller that has hung up is no mistake of this program.
  await pipeline(reply.data, response).catch(() => response.destroy())
})

app.listen(port, host)
