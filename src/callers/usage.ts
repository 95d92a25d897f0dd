/** What one source, or all of them together, hold at the moment. */
export interface Usage {
  connections: number
  /** Requests that have begun. */
  requests: number
  /** Of these, the ones that are whole and worked on. */
  calls: number
  bodyBytes: number
}

/** More sources than this are remembered only while they hold something. */
const SOURCES_KEPT = 10_000

/** Begins to count. */
export function noUsage(): Usage {
  return { connections: 0, requests: 0, calls: 0, bodyBytes: 0 }
}

/**
 * Makes the function that returns the usage of a source. Idle sources are forgotten all together when there are many, and
 * not each as soon as it is idle: a map that changes with every call is expensive (docs/decisions/0010).
 */
export function createUsages(): (source: string) => Usage {
  const usages = new Map<string, Usage>()
  return (source) => {
    const known = usages.get(source)
    if (known) return known
    if (usages.size >= SOURCES_KEPT) for (const [idle, usage] of usages) if (isIdle(usage)) usages.delete(idle)
    const usage = noUsage()
    usages.set(source, usage)
    return usage
  }
}

function isIdle({ connections, requests, calls, bodyBytes }: Usage): boolean {
  return connections === 0 && requests === 0 && calls === 0 && bodyBytes === 0
}
