/** Promise: what is passed on repeats no credential but the caller's own (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { as, atService, openEdge, tenant } from '../callers/edge.ts'
import { basic, OWN, post, startGateway, type TestGatewayOptions } from '../gateway.ts'
import { openService } from '../http/service.ts'

/*
 * A service that repeats the credential of a request in its reply. The caller of a gateway in fixed and tenants mode must not
 * see that of the gateway, in what is passed through either.
 */

const TOKEN = 'tok/SECRET+1'

/** Opens a service that gives one token, and repeats the credential of other requests in a header and across parts of a body. */
async function openEcho(status: number, padding = ''): Promise<string> {
  const { url } = await openService((incoming, outgoing) => {
    const { authorization = '' } = incoming.headers
    incoming.resume().once('end', () => {
      if (incoming.url === '/oauth2/token') return void outgoing.end(JSON.stringify({ access_token: TOKEN }))
      const body = padding + authorization + padding
      const cut = padding.length + 'Basic '.length + 3
      outgoing.writeHead(status, { 'x-echo': authorization, 'content-length': body.length })
      outgoing.write(body.slice(0, cut), () => outgoing.end(body.slice(cut)))
    })
  })
  return url
}

const LARGE = 'x'.repeat(100_000)
const replies = (['basic', 'oauth2'] as const).flatMap((scheme) =>
  [200, 302, 400, 500].flatMap((status) => [
    { scheme, status, size: 'a small', padding: '' },
    { scheme, status, size: 'a large', padding: LARGE },
  ]),
)

describe.each([
  {
    mode: 'fixed',
    open: (options: TestGatewayOptions) => startGateway({ ...options, env: { ...OWN, ...options.env } }),
    sent: basic(OWN.V2_CLIENT_ID, OWN.V2_CLIENT_SECRET),
  },
  {
    mode: 'tenants',
    open: (options: TestGatewayOptions) => openEdge((place) => [tenant(place, 'acme')], options),
    sent: atService('acme'),
  },
])('in $mode mode', ({ open, sent }) => {
  test.each(replies)(
    '$size reply of $status under /v2/ hides the credential that was sent ($scheme)',
    async (reply) => {
      const { scheme, status, padding } = reply
      const gateway = await open({ env: { V2_TOKEN: scheme }, serviceUrl: await openEcho(status, padding) })
      const answer = await fetch(`${gateway.url}/v2/echo`, { redirect: 'manual', headers: as('acme') })
      const [name, credential = ''] = (scheme === 'basic' ? sent : `Bearer ${TOKEN}`).split(' ')
      const hidden = `${name} ${'*'.repeat(credential.length)}`
      expect(answer.status).toBe(status)
      expect(answer.headers.get('x-echo')).toBe(hidden)
      expect(await answer.text()).toBe(padding + hidden + padding)
    },
  )
})

test('in client mode, the caller sees its own credential as the service shows it', async () => {
  const gateway = await startGateway({ serviceUrl: await openEcho(200) })
  const answer = await fetch(`${gateway.url}/v2/echo`, { headers: { authorization: basic() } })
  expect([answer.headers.get('x-echo'), await answer.text()]).toEqual([basic(), basic()])
})

test('the reply to a version-2 body on a legacy path loses the headers that repeat the credential', async () => {
  const service = await openService((incoming, outgoing) => {
    const headers = { location: `/login?with=${incoming.headers.authorization}`, etag: '"1"' }
    incoming.resume().once('end', () => outgoing.writeHead(201, headers).end('{}'))
  })
  const gateway = await startGateway({ env: OWN, serviceUrl: service.url })
  const answer = await post(gateway, '/createShipment.php', { customer: { name: 'Pat Example' }, vehicles: [] })
  expect(answer.status).toBe(201)
  expect([answer.headers.get('location'), answer.headers.get('etag')]).toEqual([null, '"1"'])
})
