import { type GatewayError, gatewayError } from '../errors.ts'

/** The rate limits of one tenant. */
export interface Limits {
  /** Admits a call, or throws `too-many-calls`. Returns the function to call when the call is over. */
  readonly enter: () => () => void
}

const nothing = () => {}

/** Admits every call. */
export const unlimited: Limits = { enter: () => nothing }

export interface LimitOptions {
  readonly perSecond?: number | undefined
  readonly concurrent?: number | undefined
}

/** Limits calls per second, with a burst of one second's worth, and concurrent calls. */
export function createLimits({ perSecond, concurrent = Number.POSITIVE_INFINITY }: LimitOptions): Limits {
  let inside = 0
  const most = Math.max(perSecond ?? 0, 1)
  let left = most
  let filledAt = performance.now()
  const spend = (rate: number) => {
    const now = performance.now()
    left = Math.min(most, left + ((now - filledAt) / 1000) * rate)
    filledAt = now
    if (left < 1) throw tooMany(Math.ceil((1 - left) / rate))
    left -= 1
  }
  return {
    enter: () => {
      if (inside >= concurrent) throw tooMany(1)
      if (perSecond !== undefined) spend(perSecond)
      inside += 1
      let gone = false
      return () => {
        if (!gone) inside -= 1
        gone = true
      }
    },
  }
}

function tooMany(seconds: number): GatewayError {
  return gatewayError('too-many-calls', { seconds }, { headers: { 'Retry-After': String(seconds) } })
}
