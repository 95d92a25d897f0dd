import type { StoreState } from './open.ts'

/** Whether an engine answers, told to whoever listens when it, or the reason, changes. */
export function watchState(onState: ((state: StoreState) => void) | undefined) {
  let state: StoreState | undefined
  let ended = false
  return {
    ready: (): boolean => !ended && state?.ready === true,
    set(next: StoreState): void {
      const same = state?.ready === next.ready && state?.error?.message === next.error?.message
      state = next
      if (!same && !ended) onState?.(next)
    },
    /** The store was closed: nothing more is told. */
    end(): void {
      ended = true
    },
  }
}
