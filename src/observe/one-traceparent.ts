import { subscribe } from 'node:diagnostics_channel'

/** Where undici announces each request that it has made; instrumentations add headers to it. */
const CREATED = 'undici:request:create'

let isKept = false

/**
 * Removes every `traceparent` but the first from requests of undici. The gateway adds the first one; an instrumentation
 * may add another, for a request that undici had queued and makes outside of its call.
 */
export function keepOneTraceparent(): void {
  if (isKept) return
  isKept = true
  subscribe(CREATED, (message) => {
    const headers = headersOf(message)
    if (headers) removeRepeated(headers)
  })
}

/** Returns the header lines of a request, names and values in turn. */
function headersOf(message: unknown): unknown[] | undefined {
  if (typeof message !== 'object' || message === null || !('request' in message)) return undefined
  const { request } = message
  if (typeof request !== 'object' || request === null || !('headers' in request)) return undefined
  return Array.isArray(request.headers) ? request.headers : undefined
}

/** Removes what was added behind the first `traceparent` and its `tracestate`. */
function removeRepeated(headers: unknown[]): void {
  const seen = new Set<string>()
  for (let i = 0; i < headers.length; ) {
    const name = String(headers[i]).toLowerCase()
    const isOfTrace = name === 'traceparent' || name === 'tracestate'
    if (isOfTrace && seen.has(name)) headers.splice(i, 2)
    else i += 2
    seen.add(name)
  }
}
