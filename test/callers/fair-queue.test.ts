/** Promise: sources take turns (contract, section 5). */

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createFairQueue, type Turn } from '../../src/edge/callers/turns.ts'

/** Half of these may wait, a quarter from one source. */
const CALLS = 16

/** The outcomes of the entries, in order. */
let told: string[]
let running: Turn[]
let queue: ReturnType<typeof createFairQueue>

function open(atOnce: number, atOnceOfSource = atOnce) {
  told = []
  running = []
  queue = createFairQueue({ atOnce, atOnceOfSource, calls: CALLS })
}
beforeEach(() => open(1))

function enter(source: string, name = source): Turn {
  const turn = queue.enter(source)
  turn.ready.then(
    () => {
      told.push(name)
      running.push(turn)
    },
    (error: { code: string }) => told.push(`${name}: ${error.code}`),
  )
  return turn
}

/** Lets all pending promises settle. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Ends the turns one after the other until none is left. */
async function finish(): Promise<readonly string[]> {
  await settled()
  for (let turn = running.shift(); turn; turn = running.shift()) {
    turn.end()
    await settled()
  }
  return told
}

test('the sources take turns, regardless of how many calls of one wait', async () => {
  for (const source of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) enter(source)
  expect(await finish()).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a'])
})

test('so many run at once, and so many of one source', async () => {
  open(3, 2)
  for (const source of ['a', 'a', 'a', 'b', 'b']) enter(source)
  await settled()
  expect(told).toEqual(['a', 'a', 'b'])
  running[2]?.end()
  await settled()
  expect(told).toEqual(['a', 'a', 'b', 'b'])
  running[0]?.end()
  await settled()
  expect(told).toEqual(['a', 'a', 'b', 'b', 'a'])
})

test('where it is full, the longest line loses its last', async () => {
  enter('x')
  for (const source of ['a', 'b']) for (let i = 0; i < 4; i += 1) enter(source, `${source}${i}`)
  enter('c')
  await settled()
  expect(told).toEqual(['x', 'a3: overloaded'])
  enter('d')
  await settled()
  expect(told).toEqual(['x', 'a3: overloaded', 'b3: overloaded'])
  expect((await finish()).slice(3)).toEqual(['a0', 'b0', 'c', 'd', 'a1', 'b1', 'a2', 'b2'])
  // If all wait equally long, the newest is refused.
  open(1)
  for (const source of ['x', ...'12345678', '1']) enter(source)
  await settled()
  expect(told).toEqual(['x', '1: overloaded'])
})

test('a limited number of calls of one source waits, and one that leaves frees its place, anywhere in the queue', async () => {
  const [first, gone] = ['a0', 'a1', 'a2', 'a3', 'a4', 'a5'].map((name) => enter('a', name))
  await settled()
  expect(told).toEqual(['a0', 'a5: too-many-calls'])
  // Whoever ends its wait, however often, uses no turn.
  gone?.end()
  gone?.end()
  enter('a', 'a6')
  await settled()
  expect(told.slice(2)).toEqual(['a1'])
  first?.end()
  first?.end()
  await settled()
  expect(told.slice(3)).toEqual(['a2'])
})

test('a wait that is settled takes no turn', async () => {
  const first = enter('a', 'a0')
  const accepted = enter('a', 'a1')
  const refused = enter('b')
  accepted.settle()
  refused.settle(Object.assign(new Error('no'), { code: 'refused' }))
  await settled()
  expect(told).toEqual(['a0', 'a1', 'b: refused'])
  accepted.end()
  enter('c')
  await settled()
  // The first one still runs.
  expect(told).toHaveLength(3)
  first.end()
  await settled()
  expect(told.at(-1)).toBe('c')
})

test('no call waits longer than ten seconds, and none leaves a timer behind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const [first] = [enter('a', 'a0'), enter('a', 'a1')]
  vi.advanceTimersByTime(9_999)
  const second = enter('b')
  enter('c')
  await settled()
  expect(told).toEqual(['a0'])
  vi.advanceTimersByTime(1)
  await settled()
  expect(told).toEqual(['a0', 'a1: overloaded'])
  expect(vi.getTimerCount()).toBe(2)
  second.settle()
  expect(vi.getTimerCount()).toBe(1)
  first.end()
  await settled()
  expect(vi.getTimerCount()).toBe(0)
})

test('a source of which nothing is left comes back as the last', async () => {
  enter('a')
  enter('b').settle()
  enter('c')
  enter('b', 'b again')
  expect(await finish()).toEqual(['a', 'b', 'c', 'b again'])
})

test('sources of a lower rank come first, and take turns among themselves', async () => {
  const ranks = new Map([['bad', 2]])
  queue = createFairQueue({ atOnce: 1, atOnceOfSource: 1, calls: CALLS, rankOf: (source) => ranks.get(source) ?? 0 })
  for (const source of ['bad', 'bad', 'bad', 'a', 'a', 'b']) enter(source)
  expect(await finish()).toEqual(['bad', 'a', 'b', 'a', 'bad', 'bad'])
})
