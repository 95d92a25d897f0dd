/** Promise: even with many or large calls, the gateway finds out how the service authenticates, and sends none twice (contract, section 5). */

import { expect, test } from 'vitest'
import { as, atOnce, CALLS, counted, named, openEdge } from '../callers/tenants-gateway.ts'
import { get, OWN, post, startGateway, type WholeAnswer } from '../gateway.ts'
import { bytesOf, openService } from '../http/service.ts'

const AUTO = { V2_TOKEN: 'auto' }

test('the day of the switch costs no call, and no booking is made twice', async () => {
  const edge = await openEdge(named(['acme', 'beta']), { env: AUTO, sandbox: { auth: 'basic' } })
  const failed: unknown[] = []
  let calls = 0
  let isOver = false
  const all = atOnce(12, async (caller) => {
    const headers = as(caller % 2 ? 'acme' : 'beta')
    for (let round = 0; !isOver; round += 1) {
      const name = `R-${caller}-${round}`
      let id: string | null = null
      for (const kind of ['quote', 'book', 'read', 'update', 'pass'] as const) {
        const answer: WholeAnswer =
          kind === 'pass' ? await get(edge, `/v2/shipments/${id}`, headers) : await CALLS[kind](edge, name, headers)
        if (answer.status !== 200) failed.push([kind, answer.status, answer.text])
        id = answer.headers.get('transload-shipment-id') ?? id
        calls += 1
      }
    }
  })
  for (const auth of ['both', 'bearer', 'both', 'bearer', 'bearer'] as const) {
    const enough = calls + 50
    while (calls < enough) await edge.sandbox.next()
    edge.sandbox.set({ auth })
  }
  isOver = true
  await all

  expect(failed).toEqual([])
  const booked = counted([...edge.sandbox.shipments.values()].map(({ external_id }) => external_id))
  expect(Object.values(booked).every((count) => count === 1)).toBe(true)
  expect(Object.keys(booked).length).toBeGreaterThan(30)
  const schemes = edge.sandbox.requests
    .filter(({ path }) => path.startsWith('/v2/'))
    .map(({ headers }) => headers.authorization?.split(' ')[0])
  expect(new Set(schemes)).toEqual(new Set(['Basic', 'Bearer']))
})

/** A service that accepts only one scheme, but may still have a token endpoint; and a way to send it a stream. */
async function serviceWith(settings: { auth: 'Basic' | 'Bearer'; readonly hasTokens: boolean }) {
  const seen: string[] = []
  const service = await openService(async (incoming, outgoing) => {
    const { length } = await bytesOf(incoming)
    const [scheme] = incoming.headers.authorization?.split(' ') ?? []
    if (incoming.url === '/oauth2/token') {
      seen.push('token')
      return void outgoing.writeHead(settings.hasTokens ? 200 : 404).end('{"access_token":"abc","expires_in":3600}')
    }
    seen.push(`${scheme} ${length}`)
    outgoing.writeHead(scheme === settings.auth ? 200 : 401, { 'www-authenticate': settings.auth }).end()
  })
  const gateway = await startGateway({ env: { ...AUTO, ...OWN }, serviceUrl: service.url })
  const send = async () => (await post(gateway, '/v2/documents', 'x'.repeat(200_000), { authorization: '' })).status
  return { seen, send }
}

test('after a stream that cannot be sent twice, the next one is sent with a token', async () => {
  const settings: Parameters<typeof serviceWith>[0] = { auth: 'Basic', hasTokens: true }
  const { seen, send } = await serviceWith(settings)
  expect(await send()).toBe(200)
  settings.auth = 'Bearer'
  expect([await send(), await send()]).toEqual([401, 200])
  expect(seen).toEqual(['Basic 200000', 'Basic 200000', 'token', 'Bearer 200000'])
})

test('streams of a service that asks for tokens but has none do not get stuck', async () => {
  const settings: Parameters<typeof serviceWith>[0] = { auth: 'Bearer', hasTokens: false }
  const { send } = await serviceWith(settings)
  expect([await send(), await send()]).toEqual([401, 502])
  settings.auth = 'Basic'
  expect(await send()).toBe(200)
})
