import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createBatchWrite, storePeriodically } from '../../src/store/periodic.ts'
import { StoreDown } from '../../src/store/store.ts'

const EVERY_MS = 10_000
const LAST_WAIT_MS = 5_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** A write that a test ends, or that fails. */
function open(everyMs?: number) {
  const writes: PromiseWithResolvers<void>[] = []
  const errors: unknown[] = []
  const write = () => {
    const one = Promise.withResolvers<void>()
    writes.push(one)
    return one.promise
  }
  const { close } = storePeriodically(write, { onError: (error) => errors.push(error), everyMs })
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  return { writes, errors, close, pass }
}

describe('a periodic write', () => {
  test('runs every ten seconds, or as often as told', async () => {
    const { writes, pass } = open()
    await pass(EVERY_MS - 1)
    expect(writes).toHaveLength(0)
    await pass(1)
    expect(writes).toHaveLength(1)
    writes[0]?.resolve()
    await pass(EVERY_MS)
    expect(writes).toHaveLength(2)
    const often = open(50)
    await often.pass(50)
    expect(often.writes).toHaveLength(1)
  })

  test('never runs twice at once', async () => {
    const { writes, pass } = open()
    await pass(5 * EVERY_MS)
    expect(writes).toHaveLength(1)
    writes[0]?.resolve()
    await pass(EVERY_MS)
    expect(writes).toHaveLength(2)
  })

  test('tells the first failure in a row, and goes on', async () => {
    const { writes, errors, pass } = open()
    const end = async (error?: Error) => {
      await pass(EVERY_MS)
      if (error) writes.at(-1)?.reject(error)
      else writes.at(-1)?.resolve()
      await pass(0)
    }
    for (const error of [new Error('1'), new Error('2'), undefined, new Error('3')]) await end(error)
    expect(errors).toEqual([new Error('1'), new Error('3')])
    expect(writes).toHaveLength(4)
  })

  test('runs a last time at the end, after the one under way', async () => {
    const { writes, close, pass } = open()
    await pass(EVERY_MS)
    let isClosed = false
    const closing = close().then(() => {
      isClosed = true
    })
    await pass(0)
    expect(writes).toHaveLength(1)
    writes[0]?.resolve()
    await pass(0)
    expect([writes.length, isClosed]).toEqual([2, false])
    writes[1]?.resolve()
    await closing
    expect(vi.getTimerCount()).toBe(0)
    await pass(2 * EVERY_MS)
    expect(writes).toHaveLength(2)
  })

  test('holds up the end for five seconds at most', async () => {
    const { close, pass } = open()
    let isClosed = false
    const closing = close().then(() => {
      isClosed = true
    })
    await pass(LAST_WAIT_MS - 1)
    expect(isClosed).toBe(false)
    await pass(1)
    await closing
  })
})

describe('a write of batches', () => {
  /** Writes batches 1, 2, 3…, each of which may fail. */
  function batches(fails: readonly (Error | undefined)[]) {
    const left = [...fails]
    const written: number[] = []
    let no = 0
    const next = () => {
      no += 1
      return no
    }
    const write = async (batch: number) => {
      written.push(batch)
      const error = left.shift()
      if (error) throw error
    }
    return { written, store: createBatchWrite(next, write) }
  }

  test('takes the next batch each time', async () => {
    const { written, store } = batches([])
    await store()
    await store()
    expect(written).toEqual([1, 2])
  })

  test('writes a batch again after an outage, before the next one', async () => {
    const { written, store } = batches([new StoreDown('down'), new StoreDown('down')])
    await expect(store()).rejects.toThrow('down')
    await expect(store()).rejects.toThrow('down')
    await store()
    expect(written).toEqual([1, 1, 1, 2])
    await store()
    expect(written.slice(4)).toEqual([3])
  })

  test('drops a batch that the store refuses', async () => {
    const { written, store } = batches([new Error('invalid')])
    await expect(store()).rejects.toThrow('invalid')
    await store()
    expect(written).toEqual([1, 2])
  })

  test('writes nothing where there is nothing', async () => {
    const store = createBatchWrite(
      () => undefined,
      () => expect.fail('nothing to write'),
    )
    await expect(store()).resolves.toBeUndefined()
  })
})
