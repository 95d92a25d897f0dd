import { AggregatorRegistry, Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Call } from './call.ts'
import type { Figures, Gather } from './worker-metrics.ts'

/** What operators watch. Labels are names of ours alone: nothing that a caller sends can make a new series. */
export interface Metrics {
  readonly noteCall: (call: Call, status: number) => void
  /** In Prometheus' text format. */
  readonly text: () => Promise<string>
  readonly contentType: string
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export interface MetricsOptions {
  /** Only tenants that the gateway itself knows have series of their own: in the other modes anybody may call himself anything. */
  readonly knowsTenants: boolean
  /**
   * Makes one of several processes tell of all of them.
   * @default this process is alone
   */
  readonly share?: ((own: () => Promise<Figures>) => Gather) | undefined
}

/** Opens the registry of one gateway. */
export function createMetrics({ knowsTenants, share }: MetricsOptions): Metrics {
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
  const gather = share?.(() => registry.getMetricsAsJSON())
  return {
    contentType: registry.contentType,
    text: async () => (gather ? AggregatorRegistry.aggregate(await gather()) : registry).metrics(),
    noteCall: ({ route, action = '', error = '', startedAt, tenant: caller, unknownFields: unknown }, status) => {
      const tenant = (knowsTenants && caller) || ''
      calls.inc({ route, action, status, error, tenant })
      seconds.observe({ action }, (performance.now() - startedAt) / 1000)
      if (unknown > 0) unknownFields.inc({ action }, unknown)
    },
  }
}
