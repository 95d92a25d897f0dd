/** Promise: what callers hold is counted exactly and returned in the end (contract, section 5). */

import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createShares, type Quota, shortage } from '../../src/edge/callers/shares.ts'
import { GatewayError } from '../../src/language/errors.ts'
import { compileNetworks } from '../../src/language/networks.ts'
import type { Share } from '../../src/runtime/call.ts'
import { runs } from '../size.ts'

/** For long runs with TRANSLOAD_RUNS=1000000. */
const RUNS = runs(400, 2_000)
const NIGHT_MS = 3_600_000

const LIMITS = {
  MAX_CONNECTIONS: 40,
  SOURCE_CONNECTIONS: 10,
  MAX_IN_FLIGHT: 16,
  SOURCE_IN_FLIGHT: 4,
  BODIES_LIMIT_BYTES: 400_000,
}
const QUARTER_BYTES = 100_000
const STREAM_BYTES = 262_144

/** The proxy that is trusted, and a caller behind it. */
const PROXY = '192.0.2.5'
const BEHIND_PROXY = '192.0.2.6'
const TRUSTED = compileNetworks([PROXY])

/** Returns a request of a source, on a connection of its own. */
const requestFrom = (source: string) => ({
  socket: { remoteAddress: source === BEHIND_PROXY ? PROXY : source },
  headers: source === BEHIND_PROXY ? { 'x-forwarded-for': source } : {},
})

class FakeReply extends EventEmitter {
  writableEnded = false
  writableNeedDrain = false
  destroyed = false
}

/** A request of the model, with its resources. */
interface Request {
  readonly source: number
  readonly share: Share
  readonly reply: FakeReply
  bodyBytes: number
  answerBytes: number
  isUnderWay: boolean
  isOver: boolean
}

const OF_A_SOURCE = ['connect', 'disconnect', 'open'] as const
const OF_A_REQUEST = ['enter', 'leave', 'close', 'admit', 'take', 'return', 'stream', 'answer', 'expect'] as const
const anyStep = fc.record({
  what: fc.constantFrom(...OF_A_SOURCE, 'open', 'open', ...OF_A_REQUEST, 'enter', 'take', 'take', 'take'),
  source: fc.integer({ min: 0, max: 5 }),
  request: fc.nat({ max: 30 }),
  bytes: fc.integer({ min: 1, max: 100_000 }),
})

/** Returns true if it succeeds; a refusal changes nothing. */
function done(work: () => void): boolean {
  try {
    work()
    return true
  } catch (error) {
    if (error instanceof GatewayError && (error.status === 429 || error.status === 503)) return false
    throw error
  }
}

/** A model that adds up all resources, beside the shares. */
function openModel() {
  const shares = createShares(LIMITS, TRUSTED)
  const from = (index: number) => requestFrom(index === 5 ? PROXY : index === 4 ? BEHIND_PROXY : `source ${index}`)
  const connections: { readonly source: number; readonly disconnect: () => void }[] = []
  const requests: Request[] = []
  const run = ({ what, source, request, bytes }: FromArbitrary<typeof anyStep>) => {
    if (what === 'connect') {
      const disconnect = shares.connect(from(source).socket)
      // The connections of a caller behind a proxy are the proxy's.
      if (disconnect) connections.push({ source: source === 4 ? 5 : source, disconnect })
    } else if (what === 'disconnect') {
      const at = connections.findIndex((connection) => connection.source === source)
      const [closed] = at === -1 ? [] : connections.splice(at, 1)
      // Twice, because a socket may report twice that it is closed.
      closed?.disconnect()
      closed?.disconnect()
    } else if (what === 'open') {
      const reply = new FakeReply()
      const none = { bodyBytes: 0, answerBytes: 0, isUnderWay: false, isOver: false }
      requests.push({ source, share: shares.open(from(source), reply), reply, ...none })
    } else {
      const one = requests[request % Math.max(1, requests.length)]
      if (one) act(one, what, bytes)
    }
  }
  return { shares, connections, requests, run }
}

type FromArbitrary<A> = A extends fc.Arbitrary<infer T> ? T : never

function act(one: Request, what: (typeof OF_A_REQUEST)[number], bytes: number): void {
  const { share, reply } = one
  switch (what) {
    case 'admit':
      return void done(() => share.admit())
    case 'enter':
      if (done(() => share.enter()) && !one.isOver) one.isUnderWay = true
      return
    case 'leave':
      share.leave()
      one.isOver = true
      one.isUnderWay = false
      one.bodyBytes = 0
      return
    case 'close':
      reply.destroyed = true
      reply.writableEnded = true
      reply.emit('close')
      one.answerBytes = 0
      return
    case 'take':
      if (done(() => share.takeBody(bytes)) && !one.isOver) one.bodyBytes += bytes
      return
    case 'return':
      share.returnBody(bytes)
      one.bodyBytes -= Math.min(bytes, one.bodyBytes)
      return
    case 'stream': {
      const most = one.source === 5 ? STREAM_BYTES : Math.min(STREAM_BYTES, QUARTER_BYTES)
      const taken = Math.min(bytes, most)
      if (done(() => share.streamBody(bytes)) && !one.isOver) one.bodyBytes += taken
      return
    }
    case 'answer':
      if (done(() => share.holdAnswer(bytes)) && !reply.destroyed) one.answerBytes += bytes
      return
    case 'expect':
      return void done(() => share.expectBody(bytes))
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0)

describe('what callers hold', { timeout: NIGHT_MS }, () => {
  test('is counted exactly, is never more than there is, and is all returned in the end', () => {
    const law = fc.property(fc.array(anyStep, { maxLength: 200 }), (steps) => {
      const { shares, connections, requests, run } = openModel()
      for (const step of steps) {
        run(step)
        const held = sum(requests.map(({ bodyBytes, answerBytes }) => bodyBytes + answerBytes))
        expect(shares.total).toEqual({
          connections: connections.length,
          requests: requests.filter(({ source, isOver }) => source === 4 && !isOver).length,
          calls: requests.filter(({ isUnderWay }) => isUnderWay).length,
          bodyBytes: held,
        })
        expect(held).toBeLessThanOrEqual(LIMITS.BODIES_LIMIT_BYTES)
        const isAtWork = ({ isUnderWay, reply }: Request) => isUnderWay && !reply.writableEnded
        expect(requests.filter(isAtWork).length).toBeLessThanOrEqual(LIMITS.MAX_IN_FLIGHT)
        for (const index of [0, 1, 2, 3, 4]) {
          const own = requests.filter((one) => one.source === index)
          expect(sum(own.map((one) => one.bodyBytes + one.answerBytes))).toBeLessThanOrEqual(QUARTER_BYTES)
          expect(own.filter(isAtWork).length).toBeLessThanOrEqual(LIMITS.SOURCE_IN_FLIGHT)
          expect(connections.filter((one) => one.source === index).length).toBeLessThanOrEqual(10)
        }
      }
      for (const { disconnect } of connections) disconnect()
      for (const { share, reply } of requests) {
        reply.emit('close')
        share.leave()
      }
      expect(shares.total).toEqual({ connections: 0, requests: 0, calls: 0, bodyBytes: 0 })
    })
    fc.assert(law, { numRuns: RUNS })
  })

  const open = (shares: ReturnType<typeof createShares>, name: string) => {
    const reply = new FakeReply()
    return { reply, share: shares.open(requestFrom(name), reply) }
  }

  test('has no part in what a source may have under way, as soon as an answer only waits for its reader', () => {
    const shares = createShares(LIMITS)
    const enters = () => done(() => open(shares, 'one').share.enter())
    const first = open(shares, 'one')
    first.share.enter()
    expect([enters(), enters(), enters(), enters()]).toEqual([true, true, true, false])
    first.reply.writableEnded = true
    expect([enters(), enters()]).toEqual([true, false])
  })

  test('is not counted for ever: ten thousand sources that are gone make room for others', () => {
    const shares = createShares(LIMITS)
    const { share: holding } = open(shares, 'bodies')
    holding.takeBody(QUARTER_BYTES)
    for (let i = 0; i < LIMITS.SOURCE_IN_FLIGHT; i += 1) open(shares, 'calls').share.enter()
    for (let i = 0; i < LIMITS.SOURCE_CONNECTIONS; i += 1) shares.connect(requestFrom('connections').socket)
    for (let i = 0; i < 25_000; i += 1) open(shares, `source ${i}`).share.leave()
    // A source with current usage is not forgotten.
    expect(() => open(shares, 'bodies').share.takeBody(1)).toThrow(/address/)
    expect(() => open(shares, 'calls').share.enter()).toThrow(/address/)
    expect(shares.connect(requestFrom('connections').socket)).toBeUndefined()
    holding.leave()
    open(shares, 'bodies').share.takeBody(QUARTER_BYTES)
  })
})

const anyQuota = fc
  .tuple(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 0, max: 8 }))
  .map(([limit, perSource, little]): Quota => ({ limit, perSource: Math.min(limit, perSource), little }))

/** Takes one for each source in turn, until none gets more. */
function filled(quota: Quota, sources: number): number[] {
  const held = Array<number>(sources).fill(0)
  let total = 0
  for (let taken = true; taken; ) {
    taken = false
    held.forEach((own, i) => {
      if (shortage(quota, total, own, 1)) return
      held[i] = own + 1
      total += 1
      taken = true
    })
  }
  return held
}

describe('a share', { timeout: NIGHT_MS }, () => {
  test('is the most that one source gets, never adds up to more than there is, and is the same for all', () => {
    const law = fc.property(anyQuota, fc.integer({ min: 1, max: 100 }), (quota, sources) => {
      const { limit, perSource } = quota
      expect(filled(quota, 1)).toEqual([perSource])
      expect(shortage(quota, perSource, perSource, 1)).toBe(perSource < limit ? 'source' : 'all')
      const held = filled(quota, sources)
      expect(sum(held)).toBeLessThanOrEqual(limit)
      expect(Math.max(...held)).toBeLessThanOrEqual(perSource)
      expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test.each([1, 2, 3, 4, 5, 10, 50, 100, 200])(
    'of a quarter leaves room beside %i sources that take all they get',
    (sources) => {
      const quota = { limit: 1024, perSource: 256, little: 0 }
      const held = filled(quota, sources)
      expect(shortage(quota, sum(held), 0, 1)).toBeUndefined()
      // Up to three sources do not limit each other.
      if (sources <= 3) expect(held).toEqual(held.map(() => 256))
    },
  )

  test('leaves every source a little, until nothing is left', () => {
    const quota = { limit: 8, perSource: 4, little: 4 }
    expect(filled(quota, 2)).toEqual([4, 4])
    expect(filled(quota, 8)).toEqual(Array(8).fill(1))
    expect(shortage(quota, 8, 0, 1)).toBe('all')
  })
})
