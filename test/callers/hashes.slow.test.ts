/** Promise: a slow hash is made once, and not for strangers (contract, section 5). */

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { matchesHash } from '../../src/callers/tenants.ts'
import { basic } from '../gateway.ts'
import { as, atOnce, counted, openEdge, quote, slowHash, tenant } from './edge.ts'

/* How much a slow hash costs, in CPU time. A machine that others use may slow down one side, so each is tried again. */

vi.setConfig({ testTimeout: 60_000 })
const RETRY = { retry: 2 }
const guess = (i: number | string, id = 'acme-legacy') => ({ authorization: basic(id, `guess ${i}`) })

/** The CPU time of one call, in milliseconds: a slow hash shows in it, even on a busy machine. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('a slow hash is made once: the calls after it cost next to nothing', RETRY, async () => {
  const hash = slowHash('acme-legacy-secret')
  const declare = (place: string) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ]
  const edge = await openEdge(declare)
  const known = await openEdge((place) => [tenant(place, 'acme')])
  await quote(known, as('acme'))
  const slow = await costOf(() => matchesHash('acme-legacy-secret', hash))
  await quote(edge, as('acme'))
  const calls = async () => {
    for (let i = 0; i < 20; i += 1) expect((await quote(edge, as('acme'))).status).toBe(200)
  }
  // The first calls cost the compilation of what they run.
  await calls()
  // With a hash for each, twenty calls would cost twenty hashes.
  expect(await costOf(calls)).toBeLessThan(10 * slow)
})

test('fifty first calls at once with one credential are all let in, for one hash', RETRY, async () => {
  const hash = slowHash('acme-legacy-secret')
  const edge = await openEdge((place) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ])
  const slow = await costOf(() => matchesHash('acme-legacy-secret', hash))
  let answers: readonly { readonly status: number }[] = []
  const cost = await costOf(async () => {
    answers = await atOnce(50, () => quote(edge, as('acme')))
  })
  expect(counted(answers.map(({ status }) => status))).toEqual({ 200: 50 })
  expect(cost).toBeLessThan(25 * slow)
})

test('an unknown id is refused like a known one: as slowly, with the same message, as often', RETRY, async () => {
  const hash = slowHash('acme-legacy-secret')
  const edge = await openEdge((place) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ])
  await quote(edge, guess('warm', 'warm'))
  const slow = await costOf(() => matchesHash('wrong', hash))
  let unknown = await quote(edge, guess('warm', 'warm'))
  let known = unknown
  const unknownCost = await costOf(async () => {
    for (let i = 0; i < 4; i += 1) unknown = await quote(edge, guess(i, 'nobody'))
  })
  const knownCost = await costOf(async () => {
    for (let i = 0; i < 4; i += 1) known = await quote(edge, guess(i))
  })
  expect(unknownCost).toBeGreaterThan(slow)
  expect(knownCost).toBeGreaterThan(slow)
  expect([unknown.status, unknown.text]).toEqual([known.status, known.text])
  const answers = await atOnce(40, (i) => quote(edge, guess(`at once ${i}`, 'no other')))
  expect(counted(answers.map(({ status }) => status))).toEqual({ 401: 10, 429: 30 })
})

test('a caller that hangs up while it waits costs no hash', RETRY, async () => {
  const hash = slowHash('acme-legacy-secret')
  const edge = await openEdge((place) => [
    tenant(place, 'acme', { credentials: [{ id: 'acme-legacy', secret_hash: hash }] }),
  ])
  const slow = await costOf(() => matchesHash('wrong', hash))
  const { hostname, port } = new URL(edge.url)
  const cost = await costOf(async () => {
    const strangers = await atOnce(15, async (i) => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      const { authorization } = guess(i, `id-${i}`)
      socket.write(`POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`)
      socket.write('Content-Length: 2\r\n\r\n{}')
      return socket
    })
    // When the first one is answered, the others wait.
    await Promise.race(strangers.map((socket) => once(socket, 'data')))
    for (const socket of strangers) socket.resetAndDestroy()
    const gone = () => edge.lines().filter(({ error }) => error === 'caller-gone').length
    while (gone() < 10) await quote(edge, { authorization: '' })
    expect((await quote(edge, as('acme'))).status).toBe(200)
  })
  expect(cost).toBeLessThan(8 * slow)
})

test('if ids have two secrets, an unknown id costs two hashes, too', RETRY, async () => {
  const [old, fresh] = [slowHash('old'), slowHash('new')]
  const edge = await openEdge((place) => [
    tenant(place, 'acme', {
      credentials: [old, fresh].map((secret_hash) => ({ id: 'acme-legacy', secret_hash })),
    }),
  ])
  // The least of three: another program may have slowed one of them down.
  const costs: number[] = []
  for (let i = 0; i < 3; i += 1) costs.push(await costOf(() => matchesHash('wrong', old)))
  const slow = Math.min(...costs)
  const cost = await costOf(async () => {
    for (let i = 0; i < 4; i += 1) expect((await quote(edge, guess(i, 'nobody'))).status).toBe(401)
  })
  expect(cost).toBeGreaterThan(6 * slow)
  // Another tenant's secret is refused.
  expect((await quote(edge, { authorization: basic('nobody', 'old') })).status).toBe(401)
})
