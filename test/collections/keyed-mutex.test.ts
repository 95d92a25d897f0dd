import { expect, test } from 'vitest'
import { createKeyedMutex } from '../../src/collections/keyed-mutex.ts'

/** Work that begins when the mutex lets it, and ends when the test does. */
function worksOf() {
  const mutex = createKeyedMutex()
  const begun: string[] = []
  const start = (key: string, name: string) => {
    const held = Promise.withResolvers<string>()
    const done = mutex(key, () => {
      begun.push(name)
      return held.promise
    })
    return { ...held, done }
  }
  return { begun, start }
}

test('work of one key is in sequence, also where some comes while other work waits; other keys do not wait', async () => {
  const { begun, start } = worksOf()
  const first = start('a', 'first')
  const second = start('a', 'second')
  const other = start('b', 'other')
  other.resolve('o')
  expect(await other.done).toBe('o')
  expect(begun).toEqual(['first', 'other'])
  first.resolve('1')
  expect(await first.done).toBe('1')
  const third = start('a', 'third')
  const last = start('c', 'last')
  last.resolve('l')
  await last.done
  expect(begun).toEqual(['first', 'other', 'second', 'last'])
  second.resolve('2')
  third.resolve('3')
  expect([await second.done, await third.done]).toEqual(['2', '3'])
  expect(begun.at(-1)).toBe('third')
})

test('work that fails rejects for itself alone', async () => {
  const { start } = worksOf()
  const [first, second] = [start('a', 'first'), start('a', 'second')]
  second.resolve('2')
  first.reject(new Error('no'))
  await expect(first.done).rejects.toThrow('no')
  expect(await second.done).toBe('2')
})
