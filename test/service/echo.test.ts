/** Promise: a service that repeats the credential does not leak it, in part or whole (contract, section 5). */

import { expect, test } from 'vitest'
import { as, atService, named, openEdge } from '../callers/tenants-gateway.ts'
import { basic, OWN, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'

const TOKEN = 'tok/SECRET+1'
const OWN_BASIC = basic(OWN.V2_CLIENT_ID, OWN.V2_CLIENT_SECRET)

/**
 * Opens a service that issues one token, and answers other requests with the status in the path. It repeats their credential in a header
 * and, in any spelling, across two parts of a body.
 */
async function openEcho() {
  const { url } = await openService((incoming, outgoing) => {
    const { url: path = '', headers } = incoming.resume()
    if (path === '/oauth2/token') return void outgoing.end(JSON.stringify({ access_token: TOKEN }))
    const authorization = String(headers.authorization)
    const padding = path.startsWith('/v2/large') ? 'x'.repeat(100_000) : ''
    const [, secret = ''] = authorization.split(' ')
    const written = [authorization, secret.replaceAll('/', '\\/'), encodeURIComponent(secret)].join(' ')
    const body = padding + written + padding
    outgoing.writeHead(Number(path.slice(-3)), { 'x-echo': authorization, 'content-length': body.length })
    const cut = padding.length + 'Basic '.length + 3
    outgoing.write(body.slice(0, cut), () => outgoing.end(body.slice(cut)))
  })
  return url
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
    const options = { env: { V2_TOKEN: scheme, ...(mode === 'fixed' && OWN) }, serviceUrl: await openEcho() }
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
