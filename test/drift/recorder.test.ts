import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { replyShapes } from '../../mappings/service-shapes.ts'
import { type DriftRecorder, startDriftRecorder } from '../../src/drift/recorder.ts'
import type { DriftBatch } from '../../src/store/drift.ts'
import { StoreDown } from '../../src/store/store.ts'

const DAY_MS = 86_400_000
const NOW = 100 * DAY_MS
const EVERY_MS = 50
const QUOTE = { shipment_id: 'x', price: 1 }

let batches: DriftBatch[]
let told: string[]
let errors: unknown[]
let failure: Error | undefined
let recorder: DriftRecorder

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  ;[batches, told, errors, failure] = [[], [], [], undefined]
  recorder = startDriftRecorder({
    shapes: replyShapes,
    instance: 'me',
    keptDays: 30,
    everyMs: EVERY_MS,
    store: {
      now: () => NOW,
      addDrift: async (batch) => {
        batches.push(structuredClone(batch))
        if (failure) throw failure
        return batch.seen
      },
      listDrift: () => expect.fail('nothing is listed'),
    },
    onNew: ({ kind, path }) => told.push(`${kind} ${path}`),
    onError: (error) => errors.push(error),
  })
  onTestFinished(async () => {
    vi.useRealTimers()
    await recorder.close()
  })
})

const inspect = (field: string) => recorder.inspect('quote.get', { ...QUOTE, [field]: 1 })
const pass = () => vi.advanceTimersByTimeAsync(EVERY_MS)
const counts = () => batches.map(({ seen }) => seen.map(({ path, count }) => `${path} ${count}`))

test('differences are stored now and then, and told once each', async () => {
  await pass()
  expect(batches).toEqual([])
  inspect('currency')
  inspect('currency')
  await pass()
  expect(batches).toEqual([
    {
      instance: 'me',
      keptSince: NOW - 30 * DAY_MS,
      seen: [{ kind: 'new-field', path: 'quote.currency', count: 2, firstAt: NOW, lastAt: NOW }],
    },
  ])
  expect(told).toEqual(['new-field quote.currency'])
  inspect('currency')
  inspect('tax')
  await pass()
  expect(told).toEqual(['new-field quote.currency', 'new-field quote.tax'])
  expect(recorder.counts()['new-field']).toBe(4)
})

test('differences are kept while the store is down', async () => {
  failure = new StoreDown('down')
  inspect('currency')
  await pass()
  inspect('currency')
  await pass()
  failure = undefined
  await pass()
  expect(counts()).toEqual([['quote.currency 1'], ['quote.currency 2'], ['quote.currency 2']])
  expect(errors).toEqual([new StoreDown('down')])
  expect(told).toEqual(['new-field quote.currency'])
})

test('differences that the store refuses are dropped', async () => {
  failure = new Error('refused')
  inspect('currency')
  await pass()
  failure = undefined
  inspect('tax')
  await pass()
  expect(counts()).toEqual([['quote.currency 1'], ['quote.tax 1']])
  expect(errors).toEqual([new Error('refused')])
})

test('the last differences are stored at the end', async () => {
  inspect('currency')
  await recorder.close()
  expect(counts()).toEqual([['quote.currency 1']])
})
