import { type GatewayError, gatewayError } from '../errors.ts'
import { NoReply, type UpstreamReply } from './exchange.ts'

/**
 * Keeps calls away from a failing service, and sends one probe now and then. A call that does not count neither opens
 * nor closes the circuit.
 */
export type Circuit = (attempt: () => Promise<UpstreamReply>, counts?: boolean) => Promise<UpstreamReply>

const WINDOW_MS = 10_000
/** Fewer calls in a window prove nothing. */
const LEAST_CALLS = 20
const FAILED_SHARE = 0.5
const OPEN_MS = 5_000
const LEAST_WAIT_MS = 1_000

const FAILURES = new Set([502, 503, 504])

/** Makes the circuit breaker of one service address; it opens after sustained failure. `onChange` learns its state. */
export function createCircuit(onChange: (isOpen: boolean) => void = () => {}): Circuit {
  let windowAt = performance.now()
  let calls = 0
  let failures = 0
  /** When an open circuit lets a probe through; undefined while it is closed. */
  let probeAt: number | undefined

  /** Returns whether the call is the probe of an open circuit; throws if it may not be made. */
  const admit = (counts: boolean) => {
    if (probeAt === undefined) return false
    const now = performance.now()
    if (now < probeAt || !counts) throw open(Math.max(probeAt - now, LEAST_WAIT_MS))
    // If the probe never reports back, another one is sent later.
    probeAt = now + OPEN_MS
    return true
  }
  const note = (failed: boolean, isProbe: boolean) => {
    // Calls that were under way when the circuit opened prove nothing new.
    if (probeAt !== undefined && !isProbe) return
    const now = performance.now()
    if (isProbe || now - windowAt > WINDOW_MS) {
      calls = 0
      failures = 0
      windowAt = now
    }
    if (isProbe) {
      probeAt = failed ? now + OPEN_MS : undefined
      if (!failed) onChange(false)
      return
    }
    calls += 1
    if (failed) failures += 1
    if (calls < LEAST_CALLS || failures / calls < FAILED_SHARE) return
    probeAt = now + OPEN_MS
    onChange(true)
  }

  return async (attempt, counts = true) => {
    const isProbe = admit(counts)
    if (!counts) return attempt()
    try {
      const reply = await attempt()
      note(FAILURES.has(reply.status), isProbe)
      return reply
    } catch (error) {
      // A resource that the gateway itself lacks proves nothing about the service.
      if (error instanceof NoReply && !error.isOurs) note(true, isProbe)
      throw error
    }
  }
}

function open(leftMs: number): GatewayError {
  return gatewayError('circuit-open', {}, { headers: { 'Retry-After': String(Math.ceil(leftMs / 1000)) } })
}
