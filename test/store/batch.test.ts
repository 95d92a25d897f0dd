import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type BatchOptions, createBatcher } from '../../src/store/batch.ts'

class Invalid extends Error {}

/** Creates a batcher of words that are answered in capitals, with the batches that were begun and a way to end them. */
function openBatcher(options: Partial<BatchOptions<string, string>> = {}) {
  const begun: (readonly string[])[] = []
  const ends: PromiseWithResolvers<void>[] = []
  const add = createBatcher<string, string>({
    concurrency: 1,
    maxItems: 10,
    isInvalidItem: (error) => error instanceof Invalid,
    async run(items) {
      begun.push(items)
      const end = Promise.withResolvers<void>()
      ends.push(end)
      await end.promise
      if (items.some((item) => item.startsWith('bad'))) throw new Invalid(items.join())
      return (index) => (items[index] ?? '').toUpperCase()
    },
    ...options,
  })
  return { add, begun, ends }
}

/** Waits until batches were begun; a batch begins within a few turns of the event loop. */
async function turnsUntil(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100 && !isTrue(); turn += 1) await nextTurn()
  expect(isTrue()).toBe(true)
}

async function aFewTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn()
}

test('items of consecutive turns share a batch, and each has its own answer', async () => {
  const { add, begun, ends } = openBatcher()
  const answers = [add('one'), add('two')]
  await nextTurn()
  answers.push(add('three'))
  await turnsUntil(() => begun.length === 1)
  ends[0]?.resolve()
  expect(await Promise.all(answers)).toEqual(['ONE', 'TWO', 'THREE'])
  expect(begun).toEqual([['one', 'two', 'three']])
})

test('items that arrive during a batch share the next one, and no more run at once than may', async () => {
  const { add, begun, ends } = openBatcher({ concurrency: 2 })
  const answers: Promise<string>[] = []
  for (const word of ['one', 'two', 'three', 'four']) {
    answers.push(add(word))
    await aFewTurns()
  }
  expect(begun).toEqual([['one'], ['two']])
  ends[1]?.resolve()
  expect(await answers[1]).toBe('TWO')
  await turnsUntil(() => begun.length === 3)
  expect(begun[2]).toEqual(['three', 'four'])
  for (const { resolve } of ends) resolve()
  expect(await Promise.all(answers)).toEqual(['ONE', 'TWO', 'THREE', 'FOUR'])
})

test('a batch has no more items than it may', async () => {
  const { add, begun, ends } = openBatcher({ maxItems: 2, concurrency: 3 })
  const answers = ['one', 'two', 'three', 'four', 'five'].map(add)
  await turnsUntil(() => begun.length === 3)
  for (const { resolve } of ends) resolve()
  expect(await Promise.all(answers)).toEqual(['ONE', 'TWO', 'THREE', 'FOUR', 'FIVE'])
  expect(begun).toEqual([['one', 'two'], ['three', 'four'], ['five']])
})

test('items of one key never share a batch, and keep their order', async () => {
  const { add, begun, ends } = openBatcher({ keyOf: (item) => item.slice(0, 1) })
  const answers = ['a1', 'b1', 'a2', 'a3', 'b2', 'c1'].map(add)
  for (const round of [1, 2, 3]) {
    await turnsUntil(() => begun.length === round)
    ends[round - 1]?.resolve()
  }
  expect(await Promise.all(answers)).toEqual(['A1', 'B1', 'A2', 'A3', 'B2', 'C1'])
  expect(begun).toEqual([['a1', 'b1', 'c1'], ['a2', 'b2'], ['a3']])
})

test('the others of an invalid item are tried by themselves', async () => {
  const { add, begun, ends } = openBatcher()
  const answers = Promise.allSettled(['one', 'bad', 'two'].map(add))
  for (const round of [1, 2, 3, 4]) {
    await turnsUntil(() => begun.length === round)
    ends[round - 1]?.resolve()
  }
  expect(await answers).toMatchObject([{ value: 'ONE' }, { reason: new Invalid('bad') }, { value: 'TWO' }])
  expect(begun).toEqual([['one', 'bad', 'two'], ['one'], ['bad'], ['two']])
})

test('items with keys are tried by themselves at once', async () => {
  const { add, begun, ends } = openBatcher({ keyOf: (item) => item })
  const answers = Promise.allSettled(['one', 'bad', 'two'].map(add))
  await turnsUntil(() => begun.length === 1)
  ends[0]?.resolve()
  await turnsUntil(() => begun.length === 4)
  for (const { resolve } of ends.toReversed()) resolve()
  expect(await answers).toMatchObject([{ value: 'ONE' }, { reason: new Invalid('bad') }, { value: 'TWO' }])
})

test('any other failure is that of every item, none is tried again, and the next batch goes on', async () => {
  const { add, begun, ends } = openBatcher()
  const answers = Promise.allSettled(['one', 'two'].map(add))
  await turnsUntil(() => begun.length === 1)
  const next = add('three')
  ends[0]?.reject(new Error('lost'))
  const lost = { status: 'rejected', reason: new Error('lost') }
  expect(await answers).toEqual([lost, lost])
  await turnsUntil(() => begun.length === 2)
  ends[1]?.resolve()
  expect(await next).toBe('THREE')
  expect(begun).toEqual([['one', 'two'], ['three']])
})
