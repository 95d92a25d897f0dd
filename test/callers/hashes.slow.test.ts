/** Promise: a slow hash is computed once, and not for strangers (contract, section 5). */

import { expect, test, vi } from 'vitest'
import { matchesHash } from '../../src/edge/callers/hashes.ts'
import { basic } from '../gateway.ts'
import { connectFrom } from '../strangers/sockets.ts'
import { as, atOnce, named, openEdge, quote, slowHash, statuses } from './tenants-gateway.ts'

/* Measures the CPU time of a slow hash. Other programs may slow down one side, so each test is retried. */

vi.setConfig({ testTimeout: 60_000 })
const RETRY = { retry: 2 }
const guess = (i: number | string, id = 'acme-legacy') => ({ authorization: basic(id, `guess ${i}`) })

/** The CPU time of one call, in milliseconds. It shows a slow hash even on a busy machine. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The cost of a slow hash, in milliseconds: the minimum of three, because another program may slow down one of them. */
async function costOfHash(): Promise<number> {
  const hash = slowHash('right')
  const costs: number[] = []
  for (let i = 0; i < 3; i += 1) costs.push(await costOf(() => matchesHash('wrong', hash)))
  return Math.min(...costs)
}

/** Opens a gateway for a tenant with these secrets, whose hashes are slow. */
const openSlow = (...secrets: readonly string[]) =>
  openEdge(
    named(['acme'], {
      credentials: secrets.map((secret) => ({ id: 'acme-legacy', secret_hash: slowHash(secret) })),
    }),
  )

test(
  'forty first calls at once with one credential are let in for one hash, and the calls after them for none',
  RETRY,
  async () => {
    const edge = await openSlow('acme-legacy-secret')
    const slow = await costOfHash()
    const cost = await costOf(async () => {
      expect(statuses(await atOnce(40, () => quote(edge, as('acme'))))).toEqual({ 200: 40 })
      for (let i = 0; i < 40; i += 1) expect((await quote(edge, as('acme'))).status).toBe(200)
    })
    expect(cost).toBeLessThan(25 * slow)
  },
)

test(
  'an unknown id is refused like a known one, with both secrets of an id: as slowly, with the same message',
  RETRY,
  async () => {
    const edge = await openSlow('old', 'new')
    const slow = await costOfHash()
    const texts = new Set<string>()
    for (const id of ['nobody', 'acme-legacy']) {
      const cost = await costOf(async () => {
        for (let i = 0; i < 4; i += 1) {
          const { status, text } = await quote(edge, guess(i, id))
          expect(status).toBe(401)
          texts.add(text)
        }
      })
      expect(cost).toBeGreaterThan(6 * slow)
    }
    expect(texts.size).toBe(1)
    // The secret of the id whose hashes are checked instead is refused.
    expect((await quote(edge, { authorization: basic('nobody', 'old') })).status).toBe(401)
  },
)

test('a caller that hangs up while it waits costs no hash', RETRY, async () => {
  const edge = await openSlow('acme-legacy-secret')
  const slow = await costOfHash()
  const cost = await costOf(async () => {
    const strangers = await atOnce(15, async (i) => {
      const one = await connectFrom(edge, '127.0.0.1')
      one.write(
        `POST /getShippingQuote.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${guess(i, `id-${i}`).authorization}\r\n`,
      )
      one.write('Content-Length: 2\r\n\r\n{}')
      return one
    })
    // When the first one is answered, the others wait.
    await Promise.race(strangers.map(({ reply }) => reply))
    for (const { socket } of strangers) socket.resetAndDestroy()
    const gone = () => edge.lines().filter(({ error }) => error === 'caller-gone').length
    while (gone() < 10) await quote(edge, { authorization: '' })
    expect((await quote(edge, as('acme'))).status).toBe(200)
  })
  expect(cost).toBeLessThan(8 * slow)
})
