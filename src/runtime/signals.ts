import { type BrownoutWindow, windowAt, windowsToCome } from '../language/legacy-headers.ts'
import type { Logger } from './log.ts'
import {
  buildInfo,
  type CountedMetric,
  createMetrics,
  labelledGauge,
  type Meters,
  measureLoopDelay,
} from './metrics.ts'

const LOOK_FOR_BROWNOUTS_EVERY_MS = 10_000

/** Opens the metrics, measures the event loop and announces brownouts, until it is stopped. */
export function openSignals({
  meters,
  rooms,
  brownoutsOf,
  now,
  log,
}: {
  readonly meters: Meters
  /** The metrics of the gateway's rooms. */
  readonly rooms: readonly CountedMetric[]
  readonly brownoutsOf: () => readonly TenantBrownouts[]
  readonly now: () => number
  readonly log: Logger
}) {
  const brownouts = createBrownoutSignals(brownoutsOf, now, log)
  brownouts.look()
  const looking = setInterval(brownouts.look, LOOK_FOR_BROWNOUTS_EVERY_MS).unref()
  const stopMeasuring = measureLoopDelay(meters)
  return {
    metrics: createMetrics([
      ...Object.values(meters).map(({ metric }) => metric),
      buildInfo(),
      ...brownouts.gauges,
      ...rooms,
    ]),
    stop: () => {
      clearInterval(looking)
      stopMeasuring()
    },
  }
}

/** The brownouts of a tenant; of all callers if the tenant is empty. */
export interface TenantBrownouts {
  readonly tenant: string
  readonly windows: readonly BrownoutWindow[]
}

/** How long in advance a brownout is announced. */
const NOTICE_MS = 86_400_000

type Stage = 'announced' | 'active' | 'over'

/** Announces brownouts in the log and in gauges. */
export function createBrownoutSignals(
  /** Read each time, because the tenants file may change. */
  all: () => readonly TenantBrownouts[],
  now: () => number,
  log: Logger,
) {
  /** The last logged stage of each window of each tenant. */
  let logged = new Map<string, Stage>()

  function look(): void {
    const time = now()
    const next = new Map<string, Stage>()
    for (const { tenant, windows } of all()) {
      for (const { start, end } of windows) {
        if (time < start - NOTICE_MS) break
        const key = `${tenant} ${start} ${end}`
        const before = logged.get(key)
        const stage = time < start ? 'announced' : time < end ? 'active' : 'over'
        next.set(key, stage)
        // A brownout that was over when the gateway started is not news.
        if (stage === before || (stage === 'over' && before === undefined)) continue
        const line = {
          ...(tenant && { tenant }),
          start: new Date(start).toISOString(),
          end: new Date(end).toISOString(),
        }
        log.warn(line, LINES[stage])
      }
    }
    logged = next
  }

  const valuesOf = (value: (windows: readonly BrownoutWindow[], time: number) => number | undefined) => () => {
    const time = now()
    return all().flatMap(({ tenant, windows }) => {
      const shown = value(windows, time)
      return shown === undefined ? [] : [{ labels: { tenant }, value: shown }]
    })
  }
  const toCome = (windows: readonly BrownoutWindow[], time: number) => windowsToCome(windows, time)[0]
  return {
    /** Logs each brownout a day before, at its start and at its end; called periodically. */
    look,
    gauges: [
      labelledGauge(
        'transload_brownout_active',
        'Whether legacy calls are refused now.',
        valuesOf((windows, time) => (windowAt(windows, time) ? 1 : 0)),
      ),
      labelledGauge(
        'transload_brownout_start_timestamp_seconds',
        'Start of the active or next brownout.',
        valuesOf((windows, time) => seconds(toCome(windows, time)?.start)),
      ),
      labelledGauge(
        'transload_brownout_end_timestamp_seconds',
        'End of that brownout.',
        valuesOf((windows, time) => seconds(toCome(windows, time)?.end)),
      ),
    ],
  }
}

const LINES: Readonly<Record<Stage, string>> = {
  announced: 'a brownout begins within a day',
  active: 'a brownout has begun: legacy calls are refused',
  over: 'a brownout is over',
}

const seconds = (moment: number | undefined) => (moment === undefined ? undefined : moment / 1000)
