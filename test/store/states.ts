import type { StoreState } from '../../src/outside/store/state.ts'

/** Listens to a store's states, and lets a test wait for one. */
export function listen() {
  const seen: StoreState[] = []
  let waiting: { readonly ready: boolean; resolve(state: StoreState): void }[] = []
  return {
    seen,
    onState(state: StoreState): void {
      seen.push(state)
      for (const one of waiting) if (one.ready === state.ready) one.resolve(state)
      waiting = waiting.filter((one) => one.ready !== state.ready)
    },
    /** The next state of this readiness. */
    next(ready: boolean): Promise<StoreState> {
      return new Promise((resolve) => waiting.push({ ready, resolve }))
    },
  }
}
