/** Promise: lists, caches and locks keep their content. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createKeyedMutex } from '../../src/runtime/collections.ts'

test('work of one key is in sequence, after work that fails, and where more comes while other work waits', async () => {
  const mutex = createKeyedMutex()
  const begun: string[] = []
  const start = (name: string) => {
    const held = Promise.withResolvers<void>()
    const work = () => {
      begun.push(name)
      return held.promise
    }
    return { ...held, done: mutex('key', work) }
  }
  const [first, second] = [start('first'), start('second')]
  first.reject(new Error('no'))
  await expect(first.done).rejects.toThrow('no')
  const third = start('third')
  await nextTurn()
  expect(begun).toEqual(['first', 'second'])
  second.resolve()
  third.resolve()
  await Promise.all([second.done, third.done])
  expect(begun).toEqual(['first', 'second', 'third'])
})
