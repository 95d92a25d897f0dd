import { beforeEach, describe, expect, test } from 'vitest'
import { createDeliveryMetrics } from '../../src/delivery/metrics.ts'
import type { EndpointState, OpenEvents } from '../../src/store/events.ts'
import { StoreDown } from '../../src/store/store.ts'

const NOW = 1_000_000

let open: OpenEvents[]
let endpoints: EndpointState[]
let counts: number
let isDown: boolean
let made: ReturnType<typeof createDeliveryMetrics>

const answer = async <T>(value: T): Promise<T> => {
  if (isDown) throw new StoreDown('The disk is full.')
  return value
}

beforeEach(() => {
  ;[open, endpoints, counts, isDown] = [[], [], 0, false]
  const openEvents = () => {
    counts += 1
    return answer(open)
  }
  made = createDeliveryMetrics({ openEvents, endpoints: () => answer(endpoints) }, () => NOW)
})

/** Returns the values of a metric. */
async function valuesOf(name: string): Promise<readonly { readonly value: number; readonly labels: object }[]> {
  const metric = made.metrics.find((one) => one.name === name) ?? expect.fail(`no metric ${name}`)
  // The form that `prom-client` reports.
  const { values, ...about } = (await metric.get()) as { values: [] }
  const { get: _, ...declared } = metric
  expect(about).toEqual(declared)
  return values
}

test('each metric has a name, a help, and the way in which processes are combined', () => {
  expect(made.metrics.map(({ type, name, help, aggregator }) => [type, name, help, aggregator])).toEqual([
    ['counter', 'transload_delivery_tries_total', 'Tries of deliveries by tenant and outcome.', 'sum'],
    ['counter', 'transload_delivery_warnings_total', 'Events that have used 50, 70 or 90 % of their tries.', 'sum'],
    ['histogram', 'transload_delivery_seconds', 'Time from the event to its delivery.', 'sum'],
    ['gauge', 'transload_delivery_events', 'Events that are due or parked, by tenant.', 'max'],
    ['gauge', 'transload_delivery_oldest_seconds', 'Age of the oldest event that is due or parked.', 'max'],
    ['gauge', 'transload_delivery_stopped', 'Endpoints that have stopped their deliveries.', 'max'],
  ])
})

test('tries are counted by tenant and outcome, and warnings by their share', async () => {
  const { tried, warned } = made.counters
  tried('acme', { state: 'due', outcome: 'answered 500' }, undefined)
  tried('acme', { state: 'due', outcome: 'connection lost' }, undefined)
  tried('acme', { state: 'parked', outcome: 'answered 500' }, undefined)
  tried('zeta', { state: 'delivered', outcome: 'answered 200' }, 1_000)
  expect(await valuesOf('transload_delivery_tries_total')).toEqual([
    { labels: { tenant: 'acme', outcome: 'failed' }, value: 2 },
    { labels: { tenant: 'acme', outcome: 'parked' }, value: 1 },
    { labels: { tenant: 'zeta', outcome: 'delivered' }, value: 1 },
  ])
  for (const percent of [50, 70, 50]) warned('acme', percent)
  expect(await valuesOf('transload_delivery_warnings_total')).toEqual([
    { labels: { tenant: 'acme', percent: '50' }, value: 2 },
    { labels: { tenant: 'acme', percent: '70' }, value: 1 },
  ])
})

describe('the times of deliveries', () => {
  const NAME = 'transload_delivery_seconds'
  const BOUNDS = ['0.05', '0.1', '0.25', '0.5', '1', '5', '30', '300', '3600', '21600', '86400', '259200', '+Inf']
  const delivered = (afterMs: number, tenant = 'acme') =>
    made.counters.tried(tenant, { state: 'delivered', outcome: 'answered 200' }, afterMs)

  test('are in buckets with their bounds, the last of which has all', async () => {
    for (const ms of [50, 51, 259_200_000, 259_200_001]) delivered(ms)
    delivered(2_000, 'zeta')
    const values = await valuesOf(NAME)
    const counts = [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4]
    expect(values.slice(0, BOUNDS.length + 2)).toEqual([
      ...BOUNDS.map((le, i) => ({ labels: { le, tenant: 'acme' }, value: counts[i], metricName: `${NAME}_bucket` })),
      { labels: { tenant: 'acme' }, value: expect.closeTo(518_400.102), metricName: `${NAME}_sum` },
      { labels: { tenant: 'acme' }, value: 4, metricName: `${NAME}_count` },
    ])
    const zeta = values.slice(BOUNDS.length + 2)
    expect(zeta.map(({ value }) => value)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1])
  })

  test('are those of deliveries alone', async () => {
    made.counters.tried('acme', { state: 'due', outcome: 'answered 500' }, undefined)
    expect(await valuesOf(NAME)).toEqual([])
  })
})

describe('what is open', () => {
  test('is counted once for both metrics of a scrape, and again for the next one', async () => {
    open = [
      { tenant: 'acme', state: 'due', count: 3, oldest: NOW - 1_500 },
      { tenant: 'acme', state: 'parked', count: 1, oldest: NOW + 5 },
    ]
    const scrape = () => Promise.all(['transload_delivery_events', 'transload_delivery_oldest_seconds'].map(valuesOf))
    expect(await scrape()).toEqual([
      [
        { labels: { tenant: 'acme', state: 'due' }, value: 3 },
        { labels: { tenant: 'acme', state: 'parked' }, value: 1 },
      ],
      [
        { labels: { tenant: 'acme', state: 'due' }, value: 1.5 },
        { labels: { tenant: 'acme', state: 'parked' }, value: 0 },
      ],
    ])
    expect(counts).toBe(1)
    await scrape()
    expect(counts).toBe(2)
  })

  test('is not known while the store is down', async () => {
    open = [{ tenant: 'acme', state: 'due', count: 3, oldest: NOW }]
    isDown = true
    expect(await valuesOf('transload_delivery_events')).toEqual([])
    expect(await valuesOf('transload_delivery_stopped')).toEqual([])
    isDown = false
    expect(await valuesOf('transload_delivery_events')).toHaveLength(1)
  })

  test('has the endpoints that have stopped, and no other', async () => {
    endpoints = [
      { tenant: 'acme', stopped: true, pausedUntil: 0, changedAt: NOW },
      { tenant: 'zeta', stopped: false, pausedUntil: NOW + 1_000, changedAt: NOW },
    ]
    expect(await valuesOf('transload_delivery_stopped')).toEqual([{ labels: { tenant: 'acme' }, value: 1 }])
  })
})
