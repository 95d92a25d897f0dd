import { describe, expect, test } from 'vitest'
import {
  CALL_BOUNDS_SECONDS,
  createCounter,
  createHistogram,
  createLabeledCounter,
  MAX_SERIES,
  SHORT_BOUNDS_SECONDS,
} from '../../src/observe/metrics.ts'

interface Value {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly metricName?: string
}

/** The values of a metric: `name{label="value"}` → number. */
async function valuesOf(metric: { readonly name: string; readonly get: () => Promise<object> }) {
  // The form that prom-client asks for.
  const { values } = (await metric.get()) as { readonly values: readonly Value[] }
  return Object.fromEntries(
    values.map(({ metricName = metric.name, labels, value }) => [
      metricName + JSON.stringify(Object.values(labels).map(String)),
      value,
    ]),
  )
}

describe('a counter', () => {
  test('adds up, each series for itself', async () => {
    const { add, metric } = createCounter('calls', 'Calls.', ['route', 'status'])
    expect(await valuesOf(metric)).toEqual({})
    add(1, '/a', '200')
    add(1, '/a', '200')
    add(5, '/b', '200')
    add(2, '/a', '200')
    add(1, '/b', '200')
    add(1, '/c', '')
    expect(await valuesOf(metric)).toEqual({ 'calls["/a","200"]': 4, 'calls["/b","200"]': 6, 'calls["/c",""]': 1 })
    expect(await metric.get()).toMatchObject({ name: 'calls', help: 'Calls.', type: 'counter', aggregator: 'sum' })
  })

  test('without labels is 0 from the start', async () => {
    const { add, metric } = createCounter('retries', 'Retries.', [])
    expect(await valuesOf(metric)).toEqual({ 'retries[]': 0 })
    add(1)
    add(2)
    expect(await valuesOf(metric)).toEqual({ 'retries[]': 3 })
  })

  test('puts the series beyond its limit into one, and the known ones stay', async () => {
    const { add, metric } = createCounter('many', 'Many.', ['a', 'b'])
    for (let i = 0; i < MAX_SERIES + 3; i += 1) add(1, `${i}`, 'x')
    add(1, '0', 'x')
    const values = await valuesOf(metric)
    expect(Object.keys(values)).toHaveLength(MAX_SERIES + 1)
    expect(values['many["0","x"]']).toBe(2)
    expect(values[`many["${MAX_SERIES - 1}","x"]`]).toBe(1)
    expect(values['many["other","other"]']).toBe(3)
  })
})

describe('a histogram', () => {
  test('counts each duration in every bucket that it fits into, and adds up', async () => {
    const { observe, metric } = createHistogram('seconds', 'Seconds.', ['action'], [0.1, 1])
    for (const seconds of [0.05, 0.1, 0.11, 1, 1.01, 7]) observe(seconds, 'quote')
    observe(0.5, 'book')
    expect(await valuesOf(metric)).toEqual({
      'seconds_bucket["0.1","quote"]': 2,
      'seconds_bucket["1","quote"]': 4,
      'seconds_bucket["+Inf","quote"]': 6,
      'seconds_sum["quote"]': expect.closeTo(9.27),
      'seconds_count["quote"]': 6,
      'seconds_bucket["0.1","book"]': 0,
      'seconds_bucket["1","book"]': 1,
      'seconds_bucket["+Inf","book"]': 1,
      'seconds_sum["book"]': 0.5,
      'seconds_count["book"]': 1,
    })
    expect(await metric.get()).toMatchObject({ type: 'histogram', aggregator: 'sum' })
  })

  test('keeps the buckets that dashboards and alerts name', async () => {
    expect(CALL_BOUNDS_SECONDS).toEqual([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15])
    expect(SHORT_BOUNDS_SECONDS).toEqual([
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5,
    ])
    const { metric } = createHistogram('calls', 'Calls.', [])
    expect(Object.keys(await valuesOf(metric))).toContain('calls_bucket["15"]')
  })

  test('without labels has its buckets from the start', async () => {
    const { metric } = createHistogram('delay', 'Delay.', [], [1])
    expect(await valuesOf(metric)).toEqual({
      'delay_bucket["1"]': 0,
      'delay_bucket["+Inf"]': 0,
      'delay_sum[]': 0,
      'delay_count[]': 0,
    })
  })
})

test('a counter of few events begins at 0 for those it knows, and adds up', async () => {
  const { count, metric } = createLabeledCounter('events', 'Events.', [{ end: 'done' }, { end: 'parked' }])
  expect(await valuesOf(metric)).toEqual({ 'events["done"]': 0, 'events["parked"]': 0 })
  count({ end: 'done' })
  count({ end: 'done' })
  count({ end: 'gone' })
  const values = { 'events["done"]': 2, 'events["parked"]': 0, 'events["gone"]': 1 }
  expect(await valuesOf(metric)).toEqual(values)
  expect(await valuesOf(metric)).toEqual(values)
})
