/** Runs the work of one key in sequence, and that of different keys concurrently. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Creates a mutex that keeps nothing of a key once its queue is empty. */
export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const run = (tails.get(key) ?? Promise.resolve()).then(work, work)
    tails.set(key, run)
    try {
      return await run
    } finally {
      if (tails.get(key) === run) tails.delete(key)
    }
  }
}
