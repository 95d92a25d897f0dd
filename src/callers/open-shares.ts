import type { Config } from '../config/config.ts'
import { type Gauge, gauge } from '../observe/gauge.ts'
import { createShares, type Shares } from './shares.ts'

/** Makes the shares of the configuration. */
export function openShares(config: Config): Shares {
  return createShares({
    maxConnections: config.MAX_CONNECTIONS,
    sourceConnections: config.SOURCE_CONNECTIONS,
    maxInFlight: config.MAX_IN_FLIGHT,
    sourceInFlight: config.SOURCE_IN_FLIGHT,
    bodiesLimitBytes: config.BODIES_LIMIT_BYTES,
  })
}

/** The current usage of all callers, as gauges. */
export function shareGauges(total: Shares['total']): readonly Gauge[] {
  return [
    gauge('transload_connections', 'Connections of callers.', () => total.connections),
    gauge('transload_calls_under_way', 'Calls under way.', () => total.calls),
    gauge('transload_body_bytes', 'Memory that bodies take.', () => total.bodyBytes),
  ]
}
