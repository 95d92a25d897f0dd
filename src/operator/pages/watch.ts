import { faultOf } from '../../language/errors.ts'
import type { Metrics } from '../../runtime/metrics.ts'

type Fault = ReturnType<typeof faultOf>

/** The calls of a minute. */
export interface Minute {
  /** Its end, in milliseconds since 1970. */
  readonly at: number
  readonly faults: Readonly<Record<Fault, number>>
  /** Calls that failed or were refused, by error and tenant; only those that there were. */
  readonly errors: readonly { readonly error: string; readonly tenant: string; readonly count: number }[]
  /** The calls that took at most so many seconds, in order. */
  readonly within: readonly (readonly [seconds: number, calls: number])[]
}

/** Keeps the calls of the last hour, minute by minute. */
export interface Watch {
  /** Returns the minutes, the oldest first; the last one is not over. */
  readonly minutes: () => Promise<readonly Minute[]>
  readonly close: () => void
}

export const MINUTE_MS = 60_000
export const MINUTES = 60

/** Begins to watch: it reads two counters once a minute. */
export function openWatch({ valuesOf }: Pick<Metrics, 'valuesOf'>, now: () => number): Watch {
  let before: ReadonlyMap<string, number> = new Map()
  let minutes: readonly Minute[] = []

  /** Reads what was counted since the last minute ended. */
  async function read() {
    const counts = new Map<string, number>()
    const added = new Map<string, { error: string; tenant: string; count: number }>()
    const within = new Map<number, number>()
    /** Returns what a series has more than before. */
    const more = (key: string, value: number) => {
      counts.set(key, value)
      return value - (before.get(key) ?? 0)
    }
    for (const { labels, value } of await valuesOf('transload_calls_total')) {
      const { error = '', tenant = '' } = labels
      const count = more(Object.values(labels).join('\0'), value)
      const key = `${error}\0${tenant}`
      if (count > 0) added.set(key, { error, tenant, count: count + (added.get(key)?.count ?? 0) })
    }
    for (const { labels, value } of await valuesOf('transload_call_seconds')) {
      const { le, action } = labels
      if (le === undefined) continue
      const seconds = Number(le.replace('+Inf', 'Infinity'))
      within.set(seconds, (within.get(seconds) ?? 0) + more(`${le}\0${action}`, value))
    }
    const faults = { caller: 0, gateway: 0, service: 0, nobody: 0 }
    for (const { error, count } of added.values()) faults[faultOf(error)] += count
    const minute: Minute = {
      at: now(),
      faults,
      errors: [...added.values()].filter(({ error }) => error !== ''),
      within: [...within].sort(([one], [other]) => one - other),
    }
    return { counts, minute }
  }

  const timer = setInterval(async () => {
    const { counts, minute } = await read()
    before = counts
    minutes = [...minutes, minute].slice(-MINUTES)
  }, MINUTE_MS).unref()

  return {
    minutes: async () => [...minutes.slice(1 - MINUTES), (await read()).minute],
    close: () => clearInterval(timer),
  }
}

/** Adds minutes up. */
export function summed(minutes: readonly Minute[]) {
  const faults = { caller: 0, gateway: 0, service: 0, nobody: 0 }
  const within = new Map<number, number>()
  const errors = new Map<string, { error: string; tenant: string; count: number }>()
  for (const minute of minutes) {
    for (const fault of Object.keys(faults) as Fault[]) faults[fault] += minute.faults[fault]
    for (const [seconds, calls] of minute.within) within.set(seconds, (within.get(seconds) ?? 0) + calls)
    for (const { error, tenant, count } of minute.errors) {
      const key = `${error}\0${tenant}`
      errors.set(key, { error, tenant, count: count + (errors.get(key)?.count ?? 0) })
    }
  }
  const timed = within.get(Number.POSITIVE_INFINITY) ?? 0
  /** The bound below which so large a part of the calls ended, in milliseconds. */
  const quantile = (part: number) => {
    const bound = [...within]
      .sort(([one], [other]) => one - other)
      .find(([, count]) => timed > 0 && count >= timed * part)
    return bound === undefined ? null : bound[0] * 1_000
  }
  return {
    calls: Object.values(faults).reduce((sum, count) => sum + count, 0),
    errors: { callers: faults.caller, gateway: faults.gateway, service: faults.service },
    topErrors: [...errors.values()].sort((one, other) => other.count - one.count),
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }
}
