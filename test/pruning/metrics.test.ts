/** Promise: the size of the store is measured (contract, section 11). */

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { sizeGauges } from '../../src/observe/store.ts'
import type { StoreSize } from '../../src/store/pruning.ts'
import { StoreDown } from '../../src/store/store.ts'

const NOW = 1_000_000
const SIZE: StoreSize = {
  bytes: 1_000,
  freeBytes: 300,
  tables: [
    { table: 'links', rows: 5, oldest: NOW - 2_500 },
    { table: 'claims', rows: 2, oldest: NOW + 1 },
    { table: 'events', rows: 0, oldest: undefined },
  ],
}

let reads: number
let isDown: boolean
let gauges: ReturnType<typeof sizeGauges>

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  reads = 0
  isDown = false
  const size = async () => {
    reads += 1
    if (isDown) throw new StoreDown('down')
    return SIZE
  }
  gauges = sizeGauges({ size, now: () => NOW })
})

/** Reads all gauges, as a scrape does. */
const scrape = () => Promise.all(gauges.map(async (one) => (await one.get()) as { name: string; values: object[] }))
const valuesNow = async () => (await scrape()).map(({ values }) => values)

test('the gauges have names, help, and the size of the store, which all processes see alike', async () => {
  expect(gauges.map(({ name, help, aggregator }) => [name, help, aggregator])).toEqual([
    ['transload_store_bytes', 'The size of the store.', 'max'],
    ['transload_store_rows', 'Rows of the big tables of the store, about.', 'max'],
    ['transload_store_oldest_seconds', 'The age of the oldest row of a table.', 'max'],
  ])
  expect(await valuesNow()).toEqual([
    [
      { labels: { state: 'used' }, value: 700 },
      { labels: { state: 'free' }, value: 300 },
    ],
    [
      { labels: { table: 'links' }, value: 5 },
      { labels: { table: 'claims' }, value: 2 },
      { labels: { table: 'events' }, value: 0 },
    ],
    [
      { labels: { table: 'links' }, value: 2.5 },
      { labels: { table: 'claims' }, value: 0 },
    ],
  ])
})

test('the size is read once a minute, however often it is scraped', async () => {
  await scrape()
  vi.advanceTimersByTime(59_999)
  await scrape()
  expect(reads).toBe(1)
  vi.advanceTimersByTime(1)
  await scrape()
  expect(reads).toBe(2)
})

test('while the store is down there are no values, and the next scrape asks again', async () => {
  isDown = true
  expect(await valuesNow()).toEqual([[], [], []])
  isDown = false
  expect(await valuesNow()).not.toContainEqual([])
})
