/** Promise: sources take turns, and strangers cannot fill a queue that others wait in (contract, section 5). */

import { expect, test } from 'vitest'
import { createFairQueue, type Turn } from '../../src/edge/limits/turns.ts'

/** A queue for sixteen calls: half of them may wait, a quarter from one source. */
function openQueue(rankOf?: (source: string) => number) {
  const told: string[] = []
  const running: Turn[] = []
  const queue = createFairQueue({ atOnce: 1, atOnceOfSource: 1, calls: 16, ...(rankOf && { rankOf }) })
  /** Lets all pending promises settle. */
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    told,
    settled,
    enter(source: string, name = source): void {
      const turn = queue.enter(source)
      turn.ready.then(
        () => {
          told.push(name)
          running.push(turn)
        },
        (error: { code: string }) => told.push(`${name}: ${error.code}`),
      )
    },
    /** Ends the turns one after the other until none is left, and returns the outcomes in order. */
    async finish(): Promise<readonly string[]> {
      await settled()
      for (let turn = running.shift(); turn; turn = running.shift()) {
        turn.end()
        await settled()
      }
      return told
    },
  }
}

test('sources take turns, however many calls of one wait, and those that sent wrong secrets come last', async () => {
  const { enter, finish } = openQueue((source) => (source === 'x' ? 2 : 0))
  for (const source of 'xxxaabc') enter(source)
  expect((await finish()).join('')).toBe('xabcaxx')
})

test('when it is full, the longest line loses its last; if all are equally long, the newest is refused', async () => {
  const { told, settled, enter, finish } = openQueue()
  enter('x')
  for (const source of ['a', 'b']) for (let i = 0; i < 4; i += 1) enter(source, `${source}${i}`)
  for (const source of ['c', 'd']) enter(source)
  await settled()
  expect(told).toEqual(['x', 'a3: overloaded', 'b3: overloaded'])
  expect((await finish()).slice(3)).toEqual(['a0', 'b0', 'c', 'd', 'a1', 'b1', 'a2', 'b2'])
  const other = openQueue()
  for (const source of 'x123456781') other.enter(source)
  await other.settled()
  expect(other.told).toEqual(['x', '1: overloaded'])
})
