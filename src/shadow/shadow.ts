import { AsyncLocalStorage } from 'node:async_hooks'
import { onlyAsks } from '../calls/native-request.ts'
import { createSendPlan } from '../calls/send.ts'
import type { NoteShadowed, ShadowedCall } from '../calls/shadowed-call.ts'
import { answered, type Comparison, confirmed, hasDifference, type Outcome } from '../compare/answers.ts'
import type { ReportedMetric } from '../observe/metrics.ts'
import type { Sending, Service } from '../service/service.ts'
import type { Upstream } from '../service/upstream.ts'
import { type AskDeps, askNatively, askTranslated, compareOutcomes } from './ask.ts'
import { createBudget } from './budget.ts'
import { createShadowMetrics } from './metrics.ts'
import { type ShadowRecorderDeps, startShadowRecorder } from './recorder.ts'
import { createShadowService } from './shadow-service.ts'

export interface ShadowDeps extends ShadowRecorderDeps {
  /** The share of the quotes and reads that are compared, above 0. */
  readonly share: number
  /** The most comparisons in a second. */
  readonly perSecond: number
  readonly nativePath: string
  /** The client that live calls use; it only tells how a request is spelled now. */
  readonly service: Pick<Service, 'outgoing'>
  /** Connections of the shadow's own. */
  readonly upstream: Upstream
  readonly timeoutMs: number
  /** @default Math.random */
  readonly random?: () => number
}

/** Compares a share of live quotes and reads with the service's own version-1 answers, after they were answered. */
export interface Shadow {
  readonly note: NoteShadowed
  readonly metrics: readonly ReportedMetric[]
  /** Begins no more comparisons, and drops those that wait. */
  readonly stop: () => void
  /** Ends those under way, and stores the last results. */
  readonly close: () => Promise<void>
}

/** The most comparisons that wait; those beyond it are dropped. */
const QUEUE_LENGTH = 100
/** Comparisons under way at the same time, each with one request. */
export const SHADOW_CONNECTIONS = 4

export function startShadow(deps: ShadowDeps): Shadow {
  const { share, perSecond, nativePath, upstream, timeoutMs, random = Math.random } = deps
  const service = createShadowService(deps.service, upstream)
  const ask: AskDeps = {
    service,
    send: createSendPlan({ service, merge: () => Promise.reject(new Error('nothing is merged')) }),
    nativePath,
  }
  const metrics = createShadowMetrics()
  const recorder = startShadowRecorder(deps)
  const admits = createBudget(perSecond)
  // The time and the spans of a comparison belong to no call.
  const outsideCalls = AsyncLocalStorage.snapshot()
  let queue: ShadowedCall[] = []
  let underWay = 0
  let isStopped = false

  function offer(call: ShadowedCall): void {
    if (isStopped) return
    if (!admits()) metrics.countCall('over budget')
    else if (queue.length >= QUEUE_LENGTH) metrics.countCall('queue full')
    else {
      queue.push(call)
      outsideCalls(() => void setImmediate(begin))
    }
  }

  function begin(): void {
    while (underWay < SHADOW_CONNECTIONS) {
      const next = queue.shift()
      if (!next) return
      underWay += 1
      void compareShadowed(next)
        .then((comparison) => keep(next, comparison))
        // A mistake of the comparison must not end the process.
        .catch(() => metrics.countCall('failed'))
        .finally(() => {
          underWay -= 1
          begin()
        })
    }
  }

  async function compareShadowed({ plan, answer, tenant, account, requestId }: ShadowedCall): Promise<Comparison> {
    const sending = (): Sending => ({ account, requestId, deadline: performance.now() + timeoutMs })
    const live: Outcome = answered(answer) ?? { kind: 'none', why: 'the answer is not JSON' }
    const first = await askNatively(plan, sending(), ask)
    // A service that does not answer is not asked again.
    if (first.kind === 'none') return { compared: false, why: first.why }
    const second = await askNatively(plan, sending(), ask)
    const comparison = compareOutcomes(plan, [first, second], live)
    if (!hasDifference(comparison) || isStopped) return comparison
    // The live answer is older than the native ones: a price may have moved in between.
    const { shipment: _, ...found } = plan.found
    const translated = await askTranslated({ ...plan, found }, tenant, sending(), ask)
    const third = await askNatively(plan, sending(), ask)
    return confirmed(comparison, compareOutcomes(plan, [second, third], translated))
  }

  function keep({ plan, requestId }: ShadowedCall, comparison: Comparison): void {
    const { action } = plan.request.compiled
    if (!comparison.compared) {
      metrics.countCall('failed')
      return
    }
    metrics.countCall(hasDifference(comparison) ? 'differs' : 'equal')
    for (const { verdict } of comparison.fields) metrics.countField(verdict)
    recorder.add(action, requestId, comparison.fields)
  }

  function stop(): void {
    isStopped = true
    queue = []
  }

  return {
    note: (call, shadowed) => {
      const { plan } = shadowed
      if (plan.isNative || !onlyAsks(plan.request.compiled.action) || random() >= share) return
      call.afterwards = () => offer(shadowed)
    },
    metrics: metrics.all,
    stop,
    close: async () => {
      stop()
      await upstream.close()
      await recorder.close()
    },
  }
}
