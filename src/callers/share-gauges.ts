import { type Gauge, gauge } from '../observe/gauge.ts'
import type { Shares } from './shares.ts'

/** The current usage of all callers, as gauges. */
export function shareGauges(total: Shares['total']): readonly Gauge[] {
  return [
    gauge('transload_connections', 'Connections of callers.', () => total.connections),
    gauge('transload_calls_under_way', 'Calls under way.', () => total.calls),
    gauge('transload_body_bytes', 'Memory that bodies take.', () => total.bodyBytes),
  ]
}
