/**
 * Works through the store's tables, tenant by tenant. The table is the queue; memory holds only the names of the tenants that were woken. A
 * tenant's work never runs twice at once, and must not reject.
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

  /** Resolves when nothing is under way or waiting. */
  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay.values())
  }

  return {
    /** Works on a tenant as soon as there is room. A tenant whose work is under way is worked on once more. */
    wake: (tenant: string): void => {
      if (isClosed) return
      woken.add(tenant)
      start()
    },
    idle,
    /** Drops waiting work, and resolves when nothing is under way. */
    close: () => {
      isClosed = true
      woken.clear()
      return idle()
    },
  }
}
