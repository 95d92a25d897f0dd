/** What an engine tells of itself when it comes or goes, for the log. */
export interface StoreState {
  readonly ready: boolean
  /** Why it is not ready. */
  readonly error?: Error
}

/** How a store is opened. */
export interface StoreOptions {
  /**
   * How much memory the cache in front of the store may take, in bytes.
   * @default 16777216
   */
  readonly cacheBytes?: number
  /** Called whenever readiness, or the reason for its lack, changes. */
  readonly onState?: (state: StoreState) => void
}

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
