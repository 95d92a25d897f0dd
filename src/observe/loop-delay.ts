import type { Meters } from './meters.ts'

const EVERY_MS = 100

/** Measures how late a timer of the event loop is, ten times a second, until it is stopped. */
export function measureLoopDelay({ countLoopDelay }: Pick<Meters, 'countLoopDelay'>): () => void {
  let dueAt = performance.now() + EVERY_MS
  const timer = setInterval(() => {
    const now = performance.now()
    countLoopDelay(Math.max(0, now - dueAt))
    dueAt = now + EVERY_MS
  }, EVERY_MS).unref()
  return () => clearInterval(timer)
}
