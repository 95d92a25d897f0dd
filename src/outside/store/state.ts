/** An engine's readiness, for the log. */
export interface StoreState {
  readonly ready: boolean
  /** Why it is not ready. */
  readonly error?: Error
}

export interface StoreOptions {
  /** Called when the readiness changes, or the reason for not being ready. */
  readonly onState?: (state: StoreState) => void
  /** Called with a remark for the operator, such as a connection that is not verified. */
  readonly onNotice?: (notice: string) => void
  /**
   * The clock for stores without their own: all engines but PostgreSQL.
   * @default Date.now
   */
  readonly now?: () => number
  /** True for a process that does nothing else while the store writes, such as a command: it needs no thread for the embedded store. */
  readonly blocks?: boolean
}

/** Keeps an engine's readiness, and reports changes of it and of its reason. */
export function createReadiness(onState: ((state: StoreState) => void) | undefined) {
  let state: StoreState | undefined
  let ended = false
  return {
    ready: (): boolean => !ended && state?.ready === true,
    set(next: StoreState): void {
      const same = state?.ready === next.ready && state?.error?.message === next.error?.message
      state = next
      if (!same && !ended) onState?.(next)
    },
    /** Stops reporting when the store is closed. */
    end(): void {
      ended = true
    },
  }
}
