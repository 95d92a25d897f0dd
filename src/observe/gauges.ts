import type { CacheLookups, ClaimState, Claims, Store } from '../store/store.ts'
import type { CountedMetric } from './counters.ts'
import { type Gauge, gauge, labelledGauge } from './gauge.ts'

/** The values of the gauges, read when they are scraped. */
export interface GaugeSources {
  readonly version: string
  /** The current usage of all callers. */
  readonly usage: { readonly connections: number; readonly calls: number; readonly bodyBytes: number }
  /** The kept connections to the service. */
  readonly upstream: () => { readonly connections: number; readonly running: number; readonly queued: number }
  /** Each address of the service that was called, and if its circuit is open. */
  readonly circuits: () => readonly (readonly [address: string, isOpen: boolean])[]
  readonly store: Pick<Store, 'listClaims' | 'lookups'>
}

/** Makes the gauges of a gateway. */
export function createGauges(sources: GaugeSources): readonly (Gauge | CountedMetric)[] {
  const { version, usage, upstream, circuits, store } = sources
  return [
    labelledGauge('transload_build_info', 'The version of the gateway and of Node.', () => [
      { labels: { version, node: process.versions.node }, value: 1 },
    ]),
    gauge('transload_connections', 'Connections of callers.', () => usage.connections),
    gauge('transload_calls_under_way', 'Calls under way.', () => usage.calls),
    gauge('transload_body_bytes', 'Memory that bodies take.', () => usage.bodyBytes),
    gauge('transload_service_connections', 'Kept connections to the service.', () => upstream().connections),
    gauge('transload_service_requests_under_way', 'Requests that the service answers now.', () => upstream().running),
    gauge('transload_service_requests_queued', 'Requests that wait for a connection.', () => upstream().queued),
    labelledGauge('transload_circuit_open', 'Whether the service fails and calls are refused.', () =>
      circuits().map(([service, isOpen]) => ({ labels: { service }, value: isOpen ? 1 : 0 })),
    ),
    labelledGauge('transload_bookings', 'Bookings under way and of unknown outcome.', () => countClaims(store)),
    ...(store.lookups ? [lookupCounter(store.lookups)] : []),
  ]
}

const PENDING: readonly ClaimState[] = ['sending', 'unknown']
/** A gauge that reads more claims would hold up the event loop. */
const MOST_CLAIMS = 1_000

/** Counts the bookings of each pending state; none while the store is down. */
async function countClaims({ listClaims }: Pick<Claims, 'listClaims'>) {
  try {
    return await Promise.all(
      PENDING.map(async (state) => ({
        labels: { state },
        value: (await listClaims({ state, limit: MOST_CLAIMS })).length,
      })),
    )
  } catch {
    return []
  }
}

function lookupCounter(read: () => CacheLookups): CountedMetric {
  const name = 'transload_store_lookups_total'
  const about = {
    name,
    help: 'Look-ups in the store, by result of its cache.',
    type: 'counter',
    aggregator: 'sum',
  } as const
  const get = async () => {
    const { hits, misses } = read()
    const values = [
      { labels: { result: 'hit' }, value: hits },
      { labels: { result: 'miss' }, value: misses },
    ]
    return { ...about, values }
  }
  return { ...about, get }
}
