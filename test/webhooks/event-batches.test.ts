import { expect, test } from 'vitest'
import { createEventBatches } from '../../src/webhooks/event-batches.ts'

test('the first event is processed at once, and those that come meanwhile together, each shipment once', async () => {
  const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const second = Promise.withResolvers<void>()
  const batches: unknown[] = []
  const events = createEventBatches({
    process: (tenant, shipments) => {
      batches.push([tenant, [...shipments]])
      if (batches.length === 2) second.resolve()
      return held[batches.length - 1]?.promise ?? Promise.resolve()
    },
    onFull: () => expect.fail('it is not full'),
    pauseMs: 1,
  })
  for (const shipment of ['a', 'b', 'c', 'b', 'a']) events.add('t', shipment)
  expect(batches).toEqual([['t', ['a']]])
  held[0]?.resolve()
  await second.promise
  expect(batches[1]).toEqual(['t', ['b', 'c', 'a']])
  // An event that comes while its shipment is being processed belongs to the next batch.
  events.add('t', 'b')
  held[1]?.resolve()
  await expect.poll(() => batches.length).toBe(3)
  expect(batches[2]).toEqual(['t', ['b']])
})

test('a batch has a limit, and says once that it is full', async () => {
  const held = Promise.withResolvers<void>()
  const processed: string[] = []
  let timesFull = 0
  const events = createEventBatches({
    process: async (_tenant, shipments) => {
      processed.push(...shipments)
      if (processed.length === 1) await held.promise
    },
    onFull: () => {
      timesFull += 1
    },
    limit: 3,
    pauseMs: 1,
  })
  for (let i = 0; i < 20; i += 1) events.add(`t${i % 2}`, `shipment ${i}`)
  expect(timesFull).toBe(1)
  held.resolve()
  await expect.poll(() => processed).toHaveLength(4)
})

test('closing waits for the batch under way, and starts no other', async () => {
  const held = Promise.withResolvers<void>()
  let batches = 0
  const events = createEventBatches({
    process: () => {
      batches += 1
      return held.promise
    },
    onFull: () => expect.fail('it is not full'),
    pauseMs: 1,
  })
  events.add('t', 'a')
  events.add('t', 'b')
  const closed = events.close()
  events.add('t', 'c')
  held.resolve()
  await closed
  expect(batches).toBe(1)
})
