import { GatewayError } from './errors.ts'

/** How much one tenant may ask for. */
export interface Limits {
  /** Lets a call in, or throws `too-many-calls`; the answer is to be called when the call is over. */
  readonly enter: () => () => void
}

const nothing = () => {}

/** Lets every call in. */
export const unlimited: Limits = { enter: () => nothing }

export interface LimitOptions {
  readonly perSecond?: number | undefined
  readonly concurrent?: number | undefined
}

/** Lets so many calls in per second, with a second's worth at once, and so many at a time. */
export function createLimits({ perSecond, concurrent = Number.POSITIVE_INFINITY }: LimitOptions): Limits {
  let inside = 0
  let tokens = perSecond ?? 0
  let filledAt = performance.now()
  const admits = () => {
    if (perSecond === undefined) return true
    const now = performance.now()
    tokens = Math.min(Math.max(perSecond, 1), tokens + ((now - filledAt) / 1000) * perSecond)
    filledAt = now
    if (tokens < 1) return false
    tokens -= 1
    return true
  }
  return {
    enter: () => {
      if (inside >= concurrent || !admits()) throw tooMany()
      inside += 1
      let left = false
      return () => {
        if (!left) inside -= 1
        left = true
      }
    },
  }
}

function tooMany(): GatewayError {
  const message = 'Too many calls at once for this account. Send fewer, or try again in a second.'
  return new GatewayError('too-many-calls', message, { headers: { 'Retry-After': '1' } })
}
