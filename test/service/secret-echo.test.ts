/** Promise: a service that repeats the credential does not leak it (contract, section 5). */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, OWN, startGateway } from '../gateway.ts'

/** Opens a service that gives one token, and repeats the credential of every other request in its answer. */
async function openTalkativeService(status: number, token: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { authorization = '' } = incoming.headers
    const isToken = incoming.url === '/oauth2/token'
    const said = { TransportationBooked: 'No', Message: `bad login ${authorization}` }
    // As PHP writes JSON.
    const text = JSON.stringify(isToken ? { access_token: token } : said).replaceAll('/', '\\/')
    incoming.resume().once('end', () => {
      outgoing.writeHead(isToken ? 200 : status, { 'content-type': 'application/json' }).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const TOKEN = 'tok/SECRET+1'
const BASIC = Buffer.from(`${OWN.V2_CLIENT_ID}:${OWN.V2_CLIENT_SECRET}`).toString('base64')

test.each([
  ['basic', 400],
  ['oauth2', 400],
  ['oauth2', 422],
  ['oauth2', 500],
] as const)(
  'no answer shows the gateway’s own credential (%s) that the service repeats with %i',
  async (scheme, status) => {
    const serviceUrl = await openTalkativeService(status, TOKEN)
    const env = { ...OWN, V2_TOKEN: scheme }
    const gateway = await startGateway({ env, serviceUrl })
    const calls = [
      ['/getShippingQuote.php', quoteExample],
      ['/createShipment.php', bookingExample],
      ['/createShipment.php', { customer: { name: 'Pat Example' }, vehicles: [] }],
    ] as const
    for (const [path, body] of calls) {
      const headers = { authorization: basic() }
      const reply = await fetch(gateway.url + path, { method: 'POST', body: JSON.stringify(body), headers })
      const text = (await reply.text()).replaceAll('\\/', '/')
      for (const secret of [TOKEN, BASIC, OWN.V2_CLIENT_SECRET]) expect(text).not.toContain(secret)
    }
  },
)
