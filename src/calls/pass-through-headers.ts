/** Headers of one connection alone (RFC 9110, 7.6.1), and those that the gateway sets for the next one. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Returns the header lines of a call that go to the service, without its credential. */
export function requestLines(lines: readonly string[], requestId: string): string[] {
  const own = namedByConnection(lines)
  const kept: string[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] ?? ''
    const key = name.toLowerCase()
    if (PLAIN_NAME.test(key) && key !== 'authorization' && isPassedOn(key, own)) kept.push(name, lines[i + 1] ?? '')
  }
  kept.push('x-request-id', requestId)
  return kept
}

/**
 * Other header names are dropped: some servers read `Content_Length` and `Content.Length` as the length of the body,
 * and `X_Forwarded_For` as the statement of a trusted proxy.
 */
const PLAIN_NAME = /^[a-z\d-]+$/

/** Returns the header lines of a reply that go to the caller. */
export function replyLines(lines: readonly string[], requestId: string): string[] {
  const own = namedByConnection(lines)
  const kept: string[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] ?? ''
    if (isPassedOn(name.toLowerCase(), own)) kept.push(name, lines[i + 1] ?? '')
  }
  kept.push('X-Request-Id', requestId)
  return kept
}

const isPassedOn = (name: string, own: readonly string[]) => !HOP_BY_HOP.has(name) && !own.includes(name)

/** Returns the headers that apply to this hop only: those that `Connection` names, and the request id. */
function namedByConnection(lines: readonly string[]): readonly string[] {
  const names = ['x-request-id']
  for (let i = 0; i < lines.length; i += 2) {
    if (lines[i]?.toLowerCase() !== 'connection') continue
    for (const name of (lines[i + 1] ?? '').split(',')) names.push(name.trim().toLowerCase())
  }
  return names
}

/** Returns the challenges of a refusal, in one header. */
export const challengesIn = (lines: readonly string[]) => {
  const values = lines.filter((_line, i) => i % 2 === 1 && lines[i - 1]?.toLowerCase() === 'www-authenticate')
  return values.length > 0 ? { 'www-authenticate': values.join(', ') } : {}
}
