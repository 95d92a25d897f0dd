/** Promise: a service that repeats the credential does not leak it (contract, section 5). */

import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { as, atService, named, openEdge } from '../callers/tenants-gateway.ts'
import { basic, get, OWN, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { book, quote } from './calls.ts'

const TOKEN = 'tok/SECRET+1'
const OWN_BASIC = basic(OWN.V2_CLIENT_ID, OWN.V2_CLIENT_SECRET)
const VERSION_2 = { customer: { name: 'Pat Example' }, vehicles: [] }

/** Opens a service that gives one token, and answers other requests with what it makes of their credential. */
async function openEcho(answer: (outgoing: ServerResponse, authorization: string, path: string) => void) {
  const { url } = await openService((incoming, outgoing) => {
    const { url = '', headers } = incoming.resume()
    if (url === '/oauth2/token') return void outgoing.end(JSON.stringify({ access_token: TOKEN }))
    answer(outgoing, String(headers.authorization), url)
  })
  return url
}

/** Answers with the status in the path, in a header and, however it is written, across two parts of a body. */
const across = (outgoing: ServerResponse, authorization: string, path: string) => {
  const padding = path.startsWith('/v2/large') ? 'x'.repeat(100_000) : ''
  const [, secret = ''] = authorization.split(' ')
  const written = [authorization, secret.replaceAll('/', '\\/'), encodeURIComponent(secret)].join(' ')
  const body = padding + written + padding
  outgoing.writeHead(Number(path.slice(-3)), { 'x-echo': authorization, 'content-length': body.length })
  const cut = padding.length + 'Basic '.length + 3
  outgoing.write(body.slice(0, cut), () => outgoing.end(body.slice(cut)))
}

test.each([
  ['fixed', 'basic', OWN_BASIC],
  ['fixed', 'oauth2', `Bearer ${TOKEN}`],
  ['tenants', 'basic', atService('acme')],
  ['tenants', 'oauth2', `Bearer ${TOKEN}`],
  ['client', 'basic', undefined],
] as const)(
  'in %s mode, with %s, replies under /v2/ hide every credential but the caller’s, however it is written',
  async (mode, scheme, sent) => {
    const options = { env: { V2_TOKEN: scheme, ...(mode === 'fixed' && OWN) }, serviceUrl: await openEcho(across) }
    const gateway = mode === 'tenants' ? await openEdge(named(['acme']), options) : await startGateway(options)
    const [name, credential = ''] = (sent ?? '').split(' ')
    const shown = sent === undefined ? as('acme').authorization : `${name} ${'*'.repeat(credential.length)}`
    for (const path of ['small', 'large'].flatMap((of) => [200, 302, 400, 500].map((status) => `${of}/${status}`))) {
      const answer = await fetch(`${gateway.url}/v2/${path}`, { redirect: 'manual', headers: as('acme') })
      expect([answer.status, answer.headers.get('x-echo')]).toEqual([Number(path.slice(-3)), shown])
      const [whole, rest] = (await answer.text()).replaceAll(/^x+|x+$/g, '').split(/(?<=^\S+ \S+) /)
      expect(whole).toBe(shown)
      if (sent !== undefined) expect(rest).toMatch(/^\*+ \*+$/)
    }
  },
)

test.each([
  ['basic', 400],
  ['oauth2', 400],
  ['oauth2', 422],
  ['oauth2', 500],
] as const)('translated answers do not show it either (%s, %i)', async (scheme, status) => {
  const serviceUrl = await openEcho((outgoing, authorization) => {
    const said = { TransportationBooked: 'No', Message: `bad login ${authorization}` }
    // As PHP writes JSON.
    outgoing.writeHead(status).end(JSON.stringify(said).replaceAll('/', '\\/'))
  })
  const gateway = await startGateway({ env: { ...OWN, V2_TOKEN: scheme }, serviceUrl })
  for (const answer of [quote(gateway), book(gateway), post(gateway, '/createShipment.php', VERSION_2)]) {
    const text = (await answer).text.replaceAll('\\/', '/')
    for (const secret of [TOKEN, OWN_BASIC.split(' ')[1], OWN.V2_CLIENT_SECRET]) expect(text).not.toContain(secret)
  }
})

test.each([
  ['trucks', '******'],
  ['truck', 'truck'],
])(
  'the secret %s by itself is %s in what is no success, where it may be a part of any word if it is short',
  async (secret, shown) => {
    const said = (word: string) => `{"id":"s-1","make":"${word}"}`
    const serviceUrl = await openEcho((outgoing, _, path) => {
      outgoing.writeHead(/quote|400/.test(path) ? 400 : 200).end(said(secret))
    })
    const gateway = await startGateway({ env: { V2_CLIENT_ID: 'id', V2_CLIENT_SECRET: secret }, serviceUrl })
    const calls = [
      [get(gateway, '/v2/400'), shown],
      [get(gateway, '/v2/200'), secret],
      [post(gateway, '/getShippingQuote.php', { pickup: '1', delivery: '2' }), shown],
      [post(gateway, '/createShipment.php', VERSION_2), secret],
    ] as const
    for (const [call, word] of calls) expect((await call).text).toBe(said(word))
  },
)

test('the reply to a version-2 body on a legacy path hides the credential in its headers', async () => {
  const serviceUrl = await openEcho((outgoing, authorization) => {
    outgoing.writeHead(201, { location: `/login?with=${authorization.slice(6)}`, etag: '"1"' }).end('{}')
  })
  const { status, headers } = await post(await startGateway({ env: OWN, serviceUrl }), '/createShipment.php', VERSION_2)
  expect([status, headers.get('etag')]).toEqual([201, '"1"'])
  expect(headers.get('location')).toMatch(/^\/login\?with=\*+$/)
})
