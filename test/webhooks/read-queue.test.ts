import { expect, test } from 'vitest'
import { createReadQueue } from '../../src/webhooks/read-queue.ts'

/** A queue whose reads end when the test says so. */
function heldQueue(options: { readonly concurrency?: number; readonly limit?: number } = {}) {
  const started: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  let timesFull = 0
  const queue = createReadQueue({
    read: (_tenant, shipment) => {
      started.push(shipment)
      const held = Promise.withResolvers<void>()
      ends.set(shipment, held)
      return held.promise
    },
    onGivenUp: ({ shipment }, error) => expect.fail(`${shipment}: ${error}`),
    onFull: () => {
      timesFull += 1
    },
    pausesMs: [1, 1],
    ...options,
  })
  return { queue, started, timesFull: () => timesFull, end: (shipment: string) => ends.get(shipment)?.resolve() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('few reads run at once, in the order of their events', async () => {
  const { queue, started, end } = heldQueue({ concurrency: 2 })
  for (const shipment of ['a', 'b', 'c', 'd']) queue.add('t', shipment)
  expect(started).toEqual(['a', 'b'])
  expect(queue.waiting()).toBe(2)
  end('b')
  await turn()
  expect(started).toEqual(['a', 'b', 'c'])
})

test('a shipment that waits is read once, and one that is being read is read again', async () => {
  const { queue, started, end } = heldQueue({ concurrency: 1 })
  for (const shipment of ['a', 'b', 'b', 'a', 'a']) queue.add('t', shipment)
  end('a')
  await turn()
  end('b')
  await turn()
  end('a')
  await turn()
  expect(started).toEqual(['a', 'b', 'a'])
  expect(queue.waiting()).toBe(0)
})

test('tenants with shipments of the same id are apart', () => {
  const { queue, started } = heldQueue()
  queue.add('t', 'a')
  queue.add('u', 'a')
  expect(started).toEqual(['a', 'a'])
})

test('a full queue drops what comes, says so once, and goes on', async () => {
  const { queue, started, timesFull, end } = heldQueue({ concurrency: 1, limit: 2 })
  for (const shipment of ['a', 'b', 'c', 'd', 'e']) queue.add('t', shipment)
  expect(timesFull()).toBe(1)
  end('a')
  await turn()
  expect(started).toEqual(['a', 'b'])
  for (const shipment of ['f', 'g']) queue.add('t', shipment)
  expect(timesFull()).toBe(2)
})

test('a read that fails is tried three times in all', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  let tries = 0
  const queue = createReadQueue({
    read: async () => {
      tries += 1
      throw new Error(`try ${tries}`)
    },
    onGivenUp: (_task, error) => resolve(error),
    onFull: () => resolve('full'),
    pausesMs: [1, 1],
  })
  queue.add('t', 'a')
  expect(await promise).toEqual(new Error('try 3'))
  expect(queue.waiting()).toBe(0)
})

test('closing drops what waits, and waits for what runs', async () => {
  const { queue, started, end } = heldQueue({ concurrency: 1 })
  for (const shipment of ['a', 'b']) queue.add('t', shipment)
  let isClosed = false
  const closed = queue.close().then(() => {
    isClosed = true
  })
  queue.add('t', 'c')
  await turn()
  expect(isClosed).toBe(false)
  end('a')
  await closed
  expect(started).toEqual(['a'])
})
