import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Call } from './call.ts'

/** What operators watch. Labels are names of ours alone: nothing that a caller sends can make a new series. */
export interface Metrics {
  readonly noteCall: (call: Call, status: number) => void
  /** In Prometheus' text format. */
  readonly text: () => Promise<string>
  readonly contentType: string
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/**
 * Opens the registry of one gateway. Only tenants that the gateway itself knows have series of their own: in the other
 * modes anybody may call himself anything.
 */
export function createMetrics({ knowsTenants }: { readonly knowsTenants: boolean }): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const calls = new Counter({
    name: 'transload_calls_total',
    help: 'Calls by route, action, status, error code and tenant.',
    labelNames: ['route', 'action', 'status', 'error', 'tenant'],
    registers,
  })
  const seconds = new Histogram({
    name: 'transload_call_seconds',
    help: 'How long calls took.',
    labelNames: ['action'],
    buckets: SECONDS,
    registers,
  })
  const unknownFields = new Counter({
    name: 'transload_unknown_fields_total',
    help: 'Fields that no mapping knows.',
    labelNames: ['action'],
    registers,
  })
  collectDefaultMetrics({ register: registry })
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    noteCall: ({ route, action = '', error = '', startedAt, tenant: caller, unknownFields: unknown }, status) => {
      const tenant = (knowsTenants && caller) || ''
      calls.inc({ route, action, status, error, tenant })
      seconds.observe({ action }, (performance.now() - startedAt) / 1000)
      if (unknown > 0) unknownFields.inc({ action }, unknown)
    },
  }
}
