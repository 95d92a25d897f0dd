/** Promise: calls, bodies and answers of a source have a share, and give it back (contract, section 5). */

import { EventEmitter } from 'node:events'
import { describe, expect, test } from 'vitest'
import { createShares } from '../../src/callers/limits.ts'

const KIB = 1_024
const LIMITS = {
  MAX_CONNECTIONS: 8,
  SOURCE_CONNECTIONS: 2,
  MAX_IN_FLIGHT: 8,
  BODIES_LIMIT_BYTES: 4 * 1_024 * KIB,
}
const source = (name: string, more: object = {}) => ({
  address: name,
  name,
  isBehindProxy: false,
  isEverybody: false,
  ...more,
})

/** A response, as far as a share looks at it. */
function newReply() {
  const state = { writableEnded: false, writableNeedDrain: false, destroyed: false }
  return Object.assign(new EventEmitter(), state)
}
const SOURCE_FULL = expect.objectContaining({
  code: 'too-many-calls',
  headers: { 'Retry-After': '1', Connection: 'close' },
})
const ALL_FULL = expect.objectContaining({ code: 'overloaded' })

describe('the calls of a source', () => {
  test('are a quarter of all, and leave once', () => {
    const shares = createShares(LIMITS)
    const [first, second, third] = [1, 2, 3].map(() => shares.open(source('a'), newReply()))
    first?.enter()
    first?.enter()
    second?.admit()
    second?.enter()
    expect(() => third?.admit()).toThrow(SOURCE_FULL)
    expect(() => third?.enter()).toThrow(SOURCE_FULL)
    expect(shares.total).toMatchObject({ requests: 3, calls: 2 })
    first?.leave()
    first?.leave()
    expect(shares.total).toMatchObject({ requests: 2, calls: 1 })
    third?.enter()
    second?.leave()
    third?.leave()
    expect(shares.total).toEqual({ connections: 0, requests: 0, calls: 0, bodyBytes: 0 })
    // One that has left does not come back.
    third?.enter()
    expect(shares.total.calls).toBe(0)
  })

  test('are more where its replies only wait for their readers', () => {
    const shares = createShares(LIMITS)
    const replies = [newReply(), newReply()]
    for (const reply of replies) shares.open(source('a'), reply).enter()
    const another = shares.open(source('a'), newReply())
    expect(() => another.admit()).toThrow(SOURCE_FULL)
    for (const sign of ['writableEnded', 'writableNeedDrain'] as const) {
      Object.assign(replies[0] ?? {}, { writableEnded: false, writableNeedDrain: false, [sign]: true })
      expect(() => another.admit()).not.toThrow()
    }
  })

  test('are all of them for a source that stands for many, and none of the others', () => {
    const shares = createShares(LIMITS)
    const open = () => shares.open(source('proxy', { isEverybody: true }), newReply())
    for (let i = 0; i < 8; i += 1) open().enter()
    expect(() => open().enter()).toThrow(ALL_FULL)
    expect(() => shares.open(source('b'), newReply()).enter()).toThrow(ALL_FULL)
  })

  test('behind a proxy are no more requests than connections of one source', () => {
    const shares = createShares(LIMITS)
    const open = () => shares.open(source('a', { isBehindProxy: true }), newReply())
    const [, second] = [open(), open()]
    expect(() => second?.admit()).not.toThrow()
    expect(() => open().admit()).toThrow(SOURCE_FULL)
    const direct = [1, 2, 3].map(() => shares.open(source('b'), newReply()))
    expect(() => direct[2]?.admit()).not.toThrow()
  })
})

describe('the memory of a source', () => {
  const quarter = 1_024 * KIB

  test('is a quarter of all, returned and freed', () => {
    const shares = createShares(LIMITS)
    expect(shares.largestBodyBytes).toBe(quarter)
    const share = shares.open(source('a'), newReply())
    share.expectBody(quarter)
    expect(shares.total.bodyBytes).toBe(0)
    expect(() => share.expectBody(quarter + 1)).toThrow(SOURCE_FULL)
    share.takeBody(quarter)
    expect(() => share.takeBody(1)).toThrow(SOURCE_FULL)
    share.returnBody(100)
    expect(shares.total.bodyBytes).toBe(quarter - 100)
    // Not more than it has.
    share.returnBody(2 * quarter)
    expect(shares.total.bodyBytes).toBe(0)
    share.takeBody(5)
    share.leave()
    share.takeBody(5)
    expect(shares.total.bodyBytes).toBe(0)
  })

  test('of a stream is its length, up to 256 KiB', () => {
    const shares = createShares(LIMITS)
    for (const [length, bytes] of [
      [100, 100],
      [256 * KIB, 256 * KIB],
      [Number.POSITIVE_INFINITY, 256 * KIB],
    ] as const) {
      const share = shares.open(source('a'), newReply())
      share.streamBody(length)
      expect(shares.total.bodyBytes).toBe(bytes)
      share.leave()
    }
    const small = createShares({ ...LIMITS, BODIES_LIMIT_BYTES: 4_000 })
    small.open(source('a'), newReply()).streamBody(5_000)
    expect(small.total.bodyBytes).toBe(1_000)
  })

  test('of an answer is held until its reader has it', () => {
    const shares = createShares(LIMITS)
    const reply = newReply()
    const share = shares.open(source('a'), reply)
    share.holdAnswer(100)
    share.leave()
    expect(shares.total.bodyBytes).toBe(100)
    const other = shares.open(source('a'), newReply())
    expect(() => other.expectBody(quarter - 99)).toThrow(SOURCE_FULL)
    reply.emit('close')
    expect(shares.total.bodyBytes).toBe(0)
    expect(() => other.expectBody(quarter)).not.toThrow()
    expect(() => other.holdAnswer(quarter + 1)).toThrow(SOURCE_FULL)
    // Nobody reads the answer of a reply that is gone.
    shares.open(source('a'), Object.assign(newReply(), { destroyed: true })).holdAnswer(100)
    expect(shares.total.bodyBytes).toBe(0)
  })
})

test('connections are divided, and close once', () => {
  const shares = createShares({ ...LIMITS, MAX_CONNECTIONS: 16, SOURCE_CONNECTIONS: 2 })
  const close = [shares.connect(source('a')), shares.connect(source('a'))][0]
  expect(shares.connect(source('a'))).toBeUndefined()
  expect(shares.connect(source('b'))).toBeTypeOf('function')
  expect(shares.total.connections).toBe(3)
  close?.()
  close?.()
  expect(shares.total.connections).toBe(2)
  expect(shares.connect(source('a'))).toBeTypeOf('function')
  // A proxy that stands for many is never refused.
  for (let i = 0; i < 20; i += 1) expect(shares.connect(source('p', { isEverybody: true }))).toBeTypeOf('function')
})
