/** Promise: a reply has the version-1 shape if, and only if, the body was of version 1 (contract, sections 2 and 9). */

import { expect, test } from 'vitest'
import { basic, OWN, post, startGateway } from '../gateway.ts'

const VERSION_2 = { customer: { customer_name: 'Pat Example' }, vehicles: [{ vin: '1FDXE4FN9PDD32477' }] }
const NOBODY = { authorization: '' }
const PROBLEM = /^application\/problem\+json/

test.each([
  ['a version-2 body without a credential', '/createShipment.php', VERSION_2, NOBODY, 401],
  ['a version-2 body without an id', '/updateShipment.php', VERSION_2, {}, 422],
  ['a version-2 path that a server may read otherwise', '/v2/a%2f..%2fb', VERSION_2, {}, 400],
])('%s gets problem details', async (_what, path, body, headers, status) => {
  const answer = await post(await startGateway(), path, body, headers)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, expect.stringMatching(PROBLEM)])
  expect(answer.json).toMatchObject({ status, detail: expect.any(String) })
  expect(answer.json).not.toHaveProperty('Message')
})

test.each([
  ['/createShipment.php', 200],
  ['/v2/shipments', 502],
])('a connection that breaks at %s gives problem details, with ERROR_STATUS=ok as %i', async (path, expected) => {
  const gateway = await startGateway({ env: { ...OWN, ERROR_STATUS: 'ok' } })
  gateway.sandbox.fail({ kind: 'reset-before', on: { method: 'POST' } })
  const { status, headers, json } = await post(gateway, path, VERSION_2)
  expect([status, headers.get('content-type')]).toEqual([expected, expect.stringMatching(PROBLEM)])
  expect(json.status).toBe(502)
})

test.each(['', '[', 'nonsense'])('without a credential, a body that cannot be read is 401: "%s"', async (body) => {
  const { status, headers, json } = await post(await startGateway(), '/createShipment.php', body, NOBODY)
  expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Basic/)])
  expect(json).toMatchObject({ TransportationBooked: 'No' })
})

test('the token endpoint in fixed mode is refused with problem details', async () => {
  const gateway = await startGateway({ env: OWN })
  const { status, headers } = await post(gateway, '/oauth2/token', 'grant_type=client_credentials')
  expect([status, headers.get('content-type')]).toEqual([403, expect.stringMatching(PROBLEM)])
})

test('a version-1 body keeps the version-1 shape, and so does one that mixes both', async () => {
  const gateway = await startGateway()
  for (const body of [{ BillToName: 'x' }, { ...VERSION_2, BillToName: 'x' }]) {
    const { json } = await post(gateway, '/createShipment.php', body, NOBODY)
    expect(json).toEqual({ Message: expect.any(String), TransportationBooked: 'No' })
  }
})

test.each(['in the body', 'in the query'])(
  'the id of a version-2 update stands %s, and not in the PUT',
  async (place) => {
    const gateway = await startGateway()
    const booked = await post(gateway, '/createShipment.php', {
      ...VERSION_2,
      pickup: { zipcode: 10314 },
      delivery: { zipcode: 33166 },
      transport_type: 'open',
      external_id: 'R-1',
    })
    const { id } = booked.json
    const changes = { pickup: { zipcode: 10001 }, instructions: '1.00499999999999999999' }
    gateway.sandbox.requests.length = 0
    const body = place === 'in the body' ? { id, ...changes } : changes
    await post(gateway, `/updateShipment.php${place === 'in the body' ? '' : `?id=${id}`}`, body, {
      authorization: basic(),
    })
    expect(gateway.sandbox.requests).toMatchObject([{ method: 'PUT', path: `/v2/shipments/${id}` }])
    expect(JSON.parse(gateway.sandbox.requests[0]?.body ?? '')).toEqual(changes)
  },
)
