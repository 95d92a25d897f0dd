import type { Verdict } from '../compare/answers.ts'
import { createLabeledCounter } from '../observe/labeled-counter.ts'
import type { ReportedMetric } from '../observe/metrics.ts'

const RESULTS = ['equal', 'differs', 'failed', 'over budget', 'queue full'] as const
const VERDICTS: readonly Verdict[] = ['equal', 'differs', 'noise']

/** The end of a sampled call: compared, without a verdict, or dropped. */
export type ShadowResult = (typeof RESULTS)[number]

/** The metrics of shadowed calls. */
export interface ShadowMetrics {
  readonly countCall: (result: ShadowResult) => void
  readonly countField: (verdict: Verdict) => void
  readonly all: readonly ReportedMetric[]
}

/** Makes the metrics of shadowed calls. */
export function createShadowMetrics(): ShadowMetrics {
  const calls = createLabeledCounter(
    'transload_shadow_calls_total',
    'Sampled calls by the result of their comparison with native answers.',
    RESULTS.map((result) => ({ result })),
  )
  const fields = createLabeledCounter(
    'transload_shadow_fields_total',
    'Compared fields of sampled calls by verdict.',
    VERDICTS.map((verdict) => ({ verdict })),
  )
  return {
    countCall: (result) => calls.count({ result }),
    countField: (verdict) => fields.count({ verdict }),
    all: [calls.metric, fields.metric],
  }
}
