/** The current usage of one source, or of all sources together. */
export interface Usage {
  connections: number
  /** Requests that have started to arrive. */
  requests: number
  /** Calls that are under way. */
  calls: number
  bodyBytes: number
}

/** Beyond this number, only sources with current usage are remembered. */
const SOURCES_KEPT = 10_000

/** Returns a usage of zero. */
export function noUsage(): Usage {
  return { connections: 0, requests: 0, calls: 0, bodyBytes: 0 }
}

/**
 * Makes the function that returns the usage of a source. Idle sources are removed in bulk once there are many, because
 * a map that changes with every call is expensive (docs/architecture.md).
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
