/**
 * Works through tables of the store, tenant by tenant. The table is the queue: memory holds only the names of the tenants
 * that something has woken. The work of one tenant is never done twice at once, and must not reject.
 */
export function createSweep(concurrency: number, work: (tenant: string) => Promise<void>) {
  const woken = new Set<string>()
  const underWay = new Map<string, Promise<void>>()
  let isClosed = false

  function start(): void {
    for (const tenant of woken) {
      if (underWay.size >= concurrency) return
      if (underWay.has(tenant)) continue
      woken.delete(tenant)
      const done = work(tenant).finally(() => {
        underWay.delete(tenant)
        start()
      })
      underWay.set(tenant, done)
    }
  }

  /** Resolves when nothing is under way or waits. */
  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay.values())
  }

  return {
    /** Works on a tenant as soon as there is room; on one that is being worked on, once more. */
    wake: (tenant: string): void => {
      if (isClosed) return
      woken.add(tenant)
      start()
    },
    idle,
    /** Forgets what waits, and resolves when nothing is under way. */
    close: () => {
      isClosed = true
      woken.clear()
      return idle()
    },
  }
}
