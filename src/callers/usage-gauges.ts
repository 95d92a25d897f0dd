import { type Gauge, gauge } from '../observe/gauge.ts'
import type { Usage } from './usage.ts'

/** The current usage of all callers, as gauges. */
export function usageGauges(total: Readonly<Usage>): readonly Gauge[] {
  return [
    gauge('transload_connections', 'Connections of callers.', () => total.connections),
    gauge('transload_calls_under_way', 'Calls under way.', () => total.calls),
    gauge('transload_body_bytes', 'Memory that bodies take.', () => total.bodyBytes),
  ]
}
