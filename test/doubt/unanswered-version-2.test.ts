import { expect, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { basic, startGateway, type TestGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'

/*
 * A version-2 call of the caller's own is not claimed: nothing keeps a second one away. So the answer must not ask for one where
 * the service may have carried out the first.
 */

const BODY = { customer: { name: 'Pat Example' }, vehicles: [] }
const PERHAPS_DONE = /may have done what was asked: look before you send this again/

const send = async (gateway: TestGateway, method: string, path: string) => {
  const reply = await fetch(gateway.url + path, {
    method,
    headers: { authorization: basic(), 'content-type': 'application/json' },
    ...(method !== 'GET' && { body: JSON.stringify(BODY) }),
  })
  return { status: reply.status, json: await reply.json() }
}

const faults: readonly (readonly [what: string, kind: Fault['kind'] & ('reset-after' | 'timeout'), status: number])[] =
  [
    ['breaks the connection', 'reset-after', 502],
    ['does not answer in time', 'timeout', 504],
  ]

for (const [what, kind, status] of faults) {
  const open = async () => {
    const gateway = await startGateway({ env: { UPSTREAM_TIMEOUT_MS: '300' } })
    gateway.sandbox.fail({ kind, times: 'always' })
    return gateway
  }

  test.each([
    ['POST', '/v2/shipments', 'Unknown'],
    ['POST', '/v2/shipment', 'Unknown'],
    ['POST', '/v2/quote/q-1/approve', 'Unknown'],
    ['PUT', '/v2/shipments/s-1', 'No'],
    ['POST', '/v2/shipments/s-1/documents', 'No'],
    ['POST', '/v2/carriers', 'No'],
    ['POST', '/createShipment.php', 'Unknown'],
  ] as const)(`%s %s may have been done where the service ${what}; booked: %s`, async (method, path, booked) => {
    const answer = await send(await open(), method, path)
    expect(answer).toEqual({
      status,
      json: { Message: expect.stringMatching(PERHAPS_DONE), TransportationBooked: booked },
    })
  })

  test.each([
    ['GET', '/v2/shipments/s-1', 'No'],
    ['DELETE', '/v2/shipments/s-1', 'Unknown'],
    ['POST', '/v2/quote', 'No'],
    ['POST', '/v2/quote/?from=NY', 'No'],
    ['POST', '/oauth2/token', 'No'],
  ] as const)(`%s %s where the service ${what} can be sent again; booked: %s`, async (method, path, booked) => {
    const { json } = await send(await open(), method, path)
    expect(json).toEqual({ Message: expect.stringMatching(/Try again/), TransportationBooked: booked })
  })
}

test('only a call that found no connection was not sent', async () => {
  const gateway = await startGateway({ serviceUrl: `http://127.0.0.1:${await freePort()}` })
  for (const path of ['/v2/shipments', '/createShipment.php']) {
    const { json } = await send(gateway, 'POST', path)
    expect(json).toEqual({ Message: expect.stringMatching(/nothing was sent/), TransportationBooked: 'No' })
  }
})
