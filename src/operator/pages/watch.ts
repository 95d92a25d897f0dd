import { faultOf } from '../../language/errors.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { largestFirst, MINUTE_MS, total } from '../words.ts'

type Counts = ReadonlyMap<string, number>

/** The calls of a minute. */
export interface Minute {
  /** By error and tenant; those without an error are together. */
  readonly calls: Counts
  /** Calls that took at most so many seconds. */
  readonly within: Counts
}

const NO_CALLS: Minute = { calls: new Map(), within: new Map() }

/** Keeps the calls of the last hour, minute by minute. */
export type Watch = ReturnType<typeof openWatch>

const MINUTES = 60
const BETWEEN = '\0'

/** Begins to watch: it reads two counters once a minute. */
export function openWatch({ valuesOf }: Metrics) {
  let before = NO_CALLS
  let minutes = new Array<Minute>(MINUTES - 1).fill(NO_CALLS)

  async function countedSoFar(): Promise<Minute> {
    const calls = (await valuesOf('transload_calls_total')).map(
      ({ labels: { error = '', tenant = '' }, value }) =>
        [error === '' ? error : error + BETWEEN + tenant, value] as const,
    )
    const within = (await valuesOf('transload_call_seconds')).flatMap(({ labels: { le }, value }) =>
      le === undefined ? [] : [[le.replace('+Inf', 'Infinity'), value] as const],
    )
    return { calls: sumOf(calls), within: sumOf(within) }
  }
  const sinceBefore = ({ calls, within }: Minute): Minute => ({
    calls: grown(calls, before.calls),
    within: grown(within, before.within),
  })

  const timer = setInterval(async () => {
    const counted = await countedSoFar()
    minutes = [...minutes.slice(1), sinceBefore(counted)]
    before = counted
  }, MINUTE_MS).unref()

  return {
    /** Returns the minutes of an hour, the oldest first; the last one is not over. */
    minutes: async (): Promise<readonly Minute[]> => [...minutes, sinceBefore(await countedSoFar())],
    close: () => clearInterval(timer),
  }
}

function sumOf(counts: readonly (readonly [key: string, count: number])[]): Counts {
  const sums = new Map<string, number>()
  for (const [key, count] of counts) sums.set(key, (sums.get(key) ?? 0) + count)
  return sums
}

const grown = (counts: Counts, before: Counts): Counts =>
  new Map([...counts].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const).filter(([, more]) => more))

/** Adds minutes up. */
export function summed(minutes: readonly Minute[]) {
  const faults = { caller: 0, gateway: 0, service: 0, nobody: 0 }
  const counts = [...sumOf(minutes.flatMap(({ calls }) => [...calls]))].map(([key, count]) => {
    const [error = '', tenant = ''] = key.split(BETWEEN)
    faults[faultOf(error)] += count
    return { error, tenant, count }
  })
  const within = [...sumOf(minutes.flatMap((minute) => [...minute.within]))]
    .map(([seconds, calls]) => ({ seconds: Number(seconds), calls }))
    .sort((one, other) => one.seconds - other.seconds)
  const timed = within.at(-1)?.calls ?? 0
  /** The bound below which so large a part of the calls ended, in milliseconds. */
  const quantile = (part: number) => {
    const bound = within.find(({ calls }) => timed > 0 && calls >= timed * part)
    return bound === undefined ? null : bound.seconds * 1_000
  }
  return {
    faults,
    calls: total(counts, 'count'),
    topErrors: counts.filter(({ error }) => error !== '').sort(largestFirst('count')),
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }
}
