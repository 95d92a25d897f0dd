import { replyShapes } from '../../mappings/service-shapes.ts'
import { knownShapes } from '../drift/known-shapes.ts'
import { type DriftRecorder, type DriftRecorderDeps, startDriftRecorder } from '../drift/recorder.ts'
import type { Catalog } from '../mapping/catalog.ts'
import type { CountedMetric } from './counters.ts'
import type { Logger } from './log.ts'

export interface DriftDeps extends Omit<DriftRecorderDeps, 'shapes' | 'onNew' | 'onError'> {
  readonly catalog: Catalog
  readonly log: Pick<Logger, 'warn'>
}

/** Notices how the replies of the service change, and tells the operator. */
export interface DriftObserver extends Pick<DriftRecorder, 'inspect' | 'close'> {
  readonly metric: CountedMetric
}

/** Starts to notice how the replies of the service change: each difference is one line of the log. */
export function observeDrift({ catalog, log, ...deps }: DriftDeps): DriftObserver {
  const { inspect, counts, close } = startDriftRecorder({
    ...deps,
    shapes: knownShapes(replyShapes, catalog),
    onNew: (drift) => log.warn({ drift }, 'a reply of the service differs from what the gateway knows'),
    onError: (err) => log.warn({ err }, 'the differences in replies could not be stored'),
  })
  const about = {
    name: 'transload_reply_drift_total',
    help: 'Differences in replies of the service from what the gateway knows.',
    type: 'counter',
    aggregator: 'sum',
  } as const
  const values = () => Object.entries(counts()).map(([kind, value]) => ({ labels: { kind }, value }))
  return { inspect, close, metric: { ...about, get: async () => ({ ...about, values: values() }) } }
}
