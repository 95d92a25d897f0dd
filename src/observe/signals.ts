import { createBrownoutSignals, type TenantBrownouts } from './brownouts.ts'
import { createGauges, type GaugeSources } from './gauges.ts'
import type { Logger } from './log.ts'
import { measureLoopDelay } from './loop-delay.ts'
import type { Meters } from './meters.ts'
import { createMetrics, type Metrics, type MetricsOptions, type ReportedMetric } from './metrics.ts'

export interface SignalsDeps extends GaugeSources {
  readonly meters: Meters
  /** Metrics of other parts of the gateway. */
  readonly more: readonly ReportedMetric[]
  readonly brownouts: () => readonly TenantBrownouts[]
  readonly now: () => number
  readonly log: Logger
  readonly share: MetricsOptions['share']
}

/** The signals of a running gateway for its operators, besides the lines of calls. */
export interface Signals {
  readonly metrics: Metrics
  readonly stop: () => void
}

const LOOK_FOR_BROWNOUTS_EVERY_MS = 10_000

/** Opens the metrics, measures the event loop and announces brownouts, until it is stopped. */
export function openSignals(deps: SignalsDeps): Signals {
  const { meters, more, brownouts: all, now, log, share } = deps
  const brownouts = createBrownoutSignals({ all, now, log })
  brownouts.look()
  const looking = setInterval(brownouts.look, LOOK_FOR_BROWNOUTS_EVERY_MS).unref()
  const stopMeasuring = measureLoopDelay(meters)
  return {
    metrics: createMetrics({ counted: [...meters.all, ...createGauges(deps), ...brownouts.gauges, ...more], share }),
    stop: () => {
      clearInterval(looking)
      stopMeasuring()
    },
  }
}
