import { expect, test } from 'vitest'
import { createGauges, type GaugeSources } from '../../src/observe/meters.ts'
import { StoreDown } from '../../src/store/store.ts'

const asked: unknown[] = []
const claims = { sending: 2, unknown: 3 } as const

const SOURCES: GaugeSources = {
  version: '1.2.3',
  usage: { connections: 1, calls: 2, bodyBytes: 3 },
  upstream: () => ({ connections: 4, running: 5, queued: 6 }),
  circuits: () => [
    ['http://a.example.com', true],
    ['http://b.example.com', false],
  ],
  store: {
    listClaims: async (filter = {}) => {
      asked.push(filter)
      return Array(filter.state === 'sending' || filter.state === 'unknown' ? claims[filter.state] : 0)
    },
  },
}

/** Reads gauges: the name, how the values of several processes become one, and the values. */
const read = (sources: GaugeSources) =>
  Promise.all(
    createGauges(sources).map(async ({ name, get }) => {
      const { aggregator, values, ...about } = Object(await get())
      expect(about).toEqual({
        name,
        help: expect.stringMatching(/^[A-Z].+\.$/),
        type: expect.stringMatching(/^(gauge|counter)$/),
      })
      return [name, aggregator, values]
    }),
  )

test('the gauges read what is there; what all processes see alike does not add up', async () => {
  const plain = (value: number) => [{ labels: {}, value }]
  expect(await read(SOURCES)).toEqual([
    ['transload_build_info', 'max', [{ labels: { version: '1.2.3', node: process.versions.node }, value: 1 }]],
    ['transload_connections', 'sum', plain(1)],
    ['transload_calls_under_way', 'sum', plain(2)],
    ['transload_body_bytes', 'sum', plain(3)],
    ['transload_service_connections', 'sum', plain(4)],
    ['transload_service_requests_under_way', 'sum', plain(5)],
    ['transload_service_requests_queued', 'sum', plain(6)],
    [
      'transload_circuit_open',
      'max',
      [
        { labels: { service: 'http://a.example.com' }, value: 1 },
        { labels: { service: 'http://b.example.com' }, value: 0 },
      ],
    ],
    [
      'transload_bookings',
      'max',
      [
        { labels: { state: 'sending' }, value: 2 },
        { labels: { state: 'unknown' }, value: 3 },
      ],
    ],
  ])
  expect(asked).toEqual([
    { state: 'sending', limit: 1_000 },
    { state: 'unknown', limit: 1_000 },
  ])
})

test('a store that is down has no bookings to count', async () => {
  const listClaims = () => Promise.reject(new StoreDown('the disk is full'))
  const all = await read({ ...SOURCES, store: { listClaims } })
  expect(all.at(-1)).toEqual(['transload_bookings', 'max', []])
})
