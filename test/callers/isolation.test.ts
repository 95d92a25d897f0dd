/** Promise: tenants that use the same numbers never meet (contract, section 5). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Answered, get, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { runs } from '../size.ts'
import {
  as,
  atOnce,
  atService,
  book,
  CALLS,
  type Edge,
  KINDS,
  named,
  openEdge,
  quote,
  read,
  statuses,
  tenant,
} from './edge.ts'

const NAMES = ['acme', 'beta', 'gamma'] as const
type Name = (typeof NAMES)[number]

/** The operations of one tenant with numbers that the others use, too. */
const operation = fc.record({
  who: fc.constantFrom(...NAMES),
  what: fc.constantFrom(...KINDS, 'dry run', 'pass through'),
  number: fc.constantFrom<string>('1', '2', '3'),
})
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

const OWNERS: Readonly<Record<string, Name>> = Object.fromEntries(NAMES.map((name) => [atService(name), name]))

/** Runs an operation with data that name the tenant, and returns the tenant's answer. */
function act(edge: Edge, { who, what, number }: Operation): Promise<Answered> {
  const own = { BillToName: `${who}-customer`, PickupName: `${who}-name`, BillToContact: `${who}-contact` }
  if (what === 'dry run') return post(edge, '/dry-run/updateShipment.php', { ReferenceNumber: number }, as(who))
  if (what === 'pass through') return get(edge, `/v2/shipments/${number}`, as(who))
  return CALLS[what](edge, number, as(who), own)
}

test('tenants that use the same numbers never meet', async () => {
  const edge = await openEdge(named(NAMES))
  const met = { operations: 0, successes: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 5, maxLength: 25 }),
      fc.boolean(),
      async (operations, sideBySide) => {
        edge.sandbox.clear()
        const run = `${met.operations}`
        const unique = operations.map((one) => ({ ...one, number: `R-${run}-${one.number}` }))
        const answers: Answered[] = []
        if (sideBySide) answers.push(...(await Promise.all(unique.map((one) => act(edge, one)))))
        else for (const one of unique) answers.push(await act(edge, one))
        met.operations += operations.length

        // The owner of each thing at the service, by the credential that made it.
        const owners = new Map<string, Name>()
        for (const [id, { client }] of edge.sandbox.quotes) owners.set(id, client.replace('-v2', '') as Name)
        for (const [id, shipment] of edge.sandbox.shipments) {
          const maker = NAMES.find((name) => JSON.stringify(shipment).includes(`${name}-`))
          if (maker) owners.set(id, maker)
        }
        // No request names another tenant's thing.
        for (const { path, headers } of edge.sandbox.requests) {
          const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(path) ?? []
          if (id !== undefined && owners.has(id)) expect(owners.get(id)).toBe(OWNERS[headers.authorization ?? ''])
        }
        // No answer contains another tenant's data.
        answers.forEach(({ text, headers, status }, i) => {
          const who = unique[i]?.who
          if (status === 200) met.successes += 1
          const told = text + [...headers].join()
          for (const other of NAMES) if (other !== who) expect(told).not.toContain(`${other}-`)
          for (const [id, owner] of owners) if (owner !== who) expect(told).not.toContain(id)
        })
        // Each tenant's booking is made, even if others have booked under that number.
        const booked = new Set(
          unique.filter(({ what }) => what === 'book').map(({ who, number }) => `${who} ${number}`),
        )
        const made = [...edge.sandbox.shipments].map(([id, { external_id }]) => `${owners.get(id)} ${external_id}`)
        for (const one of booked) expect(made).toContain(one)
      },
    ),
    { numRuns: runs(8, 40) },
  )
  expect(met.successes).toBeGreaterThan(met.operations / 5)
}, 30_000)

test('in client mode, the client id tells callers apart: by its case, and by every character and byte', async () => {
  const gateway = await startGateway({ sandbox: { credentials: 'any' } })
  const of = (id: string, encoding: BufferEncoding = 'utf8', secret = 'x') => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`, encoding).toString('base64')}`,
  })
  const ids = ['acme', 'ACME', 'acme ', ' acme', 'acm', 'ä', 'latin1:ä']
  const all = [...ids.map((id) => of(id)), of('ä', 'latin1'), of('ö', 'latin1')]
  await Promise.all(all.map((headers, i) => book(gateway, 'R-1', headers, { PickupName: `name-${i}` })))
  const found = await Promise.all(all.map((headers) => read(gateway, 'R-1', headers)))
  expect(found.map(({ json }) => json.PickupName)).toEqual(all.map((_, i) => `name-${i}`))
  expect((await read(gateway, 'R-1', of('acme-x'))).status).toBe(404)
  // Two secrets of one id are one client.
  expect((await read(gateway, 'R-1', of('acme', 'utf8', 'another'))).json.PickupName).toBe('name-0')
})

test('an idempotency key, and an outcome that is not known, are of one tenant', async () => {
  const edge = await openEdge(named(NAMES))
  const keyed = await Promise.all(['acme', 'beta'].map((name) => CALLS['book by a key'](edge, 'K-1', as(name))))
  expect(keyed.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, null])
  edge.sandbox.fail({ kind: 'reset-after', on: { path: '/v2/shipments' } })
  for (const [name, word] of [
    ['acme', 'Unknown'],
    ['beta', 'Yes'],
    ['acme', 'Unknown'],
  ] as const)
    expect((await book(edge, 'R-1', as(name))).json.TransportationBooked).toBe(word)
})

test.each(['basic', 'oauth2', 'auto'] as const)(
  'no two credentials share a connection to the service, nor a token (%s)',
  async (token) => {
    const ports = new Map<number, Set<string>>()
    const tokens = new Map<string, string>()
    const service = await openService((incoming, outgoing) => {
      const { authorization = '' } = incoming.headers
      const owner = tokens.get(authorization) ?? authorization
      const port = incoming.socket.remotePort ?? 0
      ports.set(port, (ports.get(port) ?? new Set()).add(owner))
      incoming.resume().on('end', () => {
        if (incoming.url === '/oauth2/token') {
          const access_token = `token-${tokens.size}`
          tokens.set(`Bearer ${access_token}`, authorization)
          return outgoing.end(JSON.stringify({ access_token, expires_in: 3600 }))
        }
        if (token === 'auto' && authorization.startsWith('Basic')) {
          return outgoing.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
        }
        outgoing.writeHead(200, { 'content-type': 'application/json' })
        return outgoing.end(JSON.stringify({ id: crypto.randomUUID(), shipment_id: crypto.randomUUID(), price: 1 }))
      })
    })
    // The last two are the same client at the service, but different tenants.
    const names = [...NAMES, 'twin']
    const edge = await openEdge(
      (place) => [...named(NAMES)(place), { ...tenant(place, 'twin'), v2: tenant(place, 'gamma')['v2'] }],
      {
        env: { V2_TOKEN: token },
        serviceUrl: service.url,
      },
    )
    for (let round = 0; round < 2; round += 1) {
      const answers = await atOnce(40, (i) => {
        const headers = as(names[i % names.length] ?? '')
        if (i % 3 === 0) return quote(edge, headers)
        return i % 3 === 1 ? get(edge, '/v2/shipments/x', headers) : book(edge, `R-${round}-${i}`, headers)
      })
      expect(statuses(answers)).toEqual({ 200: 40 })
    }
    expect([...ports.values()].map((owners) => owners.size).filter((size) => size > 1)).toEqual([])
    expect(new Set([...ports.values()].flatMap((owners) => [...owners])).size).toBe(3)
    // Connections are reused, so shared ones would show.
    expect(ports.size).toBeLessThan(service.requests.length)
    expect([...tokens.values()].sort()).toEqual(token === 'basic' ? [] : [...NAMES, 'gamma'].map(atService).sort())
  },
)
