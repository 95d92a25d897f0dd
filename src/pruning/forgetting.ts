import type { Logger } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import { steadiness } from './schedule.ts'

/** Every use of a quote checks its age; this sweep only frees space. */
const FORGET_EVERY_MS = 3_600_000

/** Deletes the facts of old quotes every hour, until it is stopped. */
export function forgetOldQuotes(store: Pick<Store, 'forget' | 'now'>, quoteMemoryMs: number, log: Logger): () => void {
  const isSteady = steadiness(store.now)
  const forgetting = setInterval(() => {
    if (!isSteady()) return
    store.forget(quoteMemoryMs).catch((err: unknown) => log.warn({ err }, 'old quotes could not be deleted'))
  }, FORGET_EVERY_MS)
  return () => clearInterval(forgetting)
}
