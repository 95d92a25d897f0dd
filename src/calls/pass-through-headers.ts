import type { Mask } from '../service/mask.ts'

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

/**
 * Other header names are dropped: some servers read `Content_Length` and `Content.Length` as the length of the body,
 * and `X_Forwarded_For` as the statement of a trusted proxy.
 */
const PLAIN_NAME = /^[a-z\d-]+$/

/** The treatment of a header by its name. */
interface Treatment {
  /** The name in lower case. */
  readonly key: string
  readonly isPlain: boolean
  readonly isOfOneHop: boolean
}

/** Treatments by the names as they were sent; most calls send the same few dozen. */
const treatments = new Map<string, Treatment>()
/** The most names that are kept, and the longest: callers choose them. */
const MAX_TREATMENTS = 1_000
const MAX_NAME_CHARACTERS = 64

function treatmentOf(name: string): Treatment {
  const known = treatments.get(name)
  if (known) return known
  const key = name.toLowerCase()
  const made = { key, isPlain: PLAIN_NAME.test(key), isOfOneHop: HOP_BY_HOP.has(key) || key === 'x-request-id' }
  if (name.length > MAX_NAME_CHARACTERS) return made
  if (treatments.size >= MAX_TREATMENTS) treatments.clear()
  treatments.set(name, made)
  return made
}

/** Returns the header lines of a call that go to the service, with this credential instead of the caller's. */
export function requestLines(lines: readonly string[], requestId: string, authorization: string | undefined): string[] {
  const own = namedByConnection(lines)
  const kept: string[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] ?? ''
    const { key, isPlain, isOfOneHop } = treatmentOf(name)
    if (isPlain && !isOfOneHop && key !== 'authorization' && !own?.includes(key)) kept.push(name, lines[i + 1] ?? '')
  }
  kept.push('x-request-id', requestId)
  if (authorization !== undefined) kept.push('authorization', authorization)
  return kept
}

/** Returns the header lines of a reply that go to the caller, with a mask over their values. */
export function replyLines(lines: readonly string[], requestId: string, mask?: Pick<Mask, 'text'>): string[] {
  const own = namedByConnection(lines)
  const kept: string[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] ?? ''
    const { key, isOfOneHop } = treatmentOf(name)
    const value = lines[i + 1] ?? ''
    if (!isOfOneHop && !own?.includes(key)) kept.push(name, mask ? mask.text(value) : value)
  }
  kept.push('X-Request-Id', requestId)
  return kept
}

/** Returns the headers that `Connection` names, which apply to this hop only; undefined if there are none. */
function namedByConnection(lines: readonly string[]): readonly string[] | undefined {
  let names: string[] | undefined
  for (let i = 0; i < lines.length; i += 2) {
    if (treatmentOf(lines[i] ?? '').key !== 'connection') continue
    names ??= []
    for (const name of (lines[i + 1] ?? '').split(',')) names.push(name.trim().toLowerCase())
  }
  return names
}

const UNAUTHORIZED = 401
const NO_CHALLENGES = {}

/** Returns the challenges of a refusal, in one header. */
export function challengesIn({ status, lines }: { readonly status: number; readonly lines: readonly string[] }) {
  if (status !== UNAUTHORIZED) return NO_CHALLENGES
  const values = lines.filter((_line, i) => i % 2 === 1 && lines[i - 1]?.toLowerCase() === 'www-authenticate')
  return values.length > 0 ? { 'www-authenticate': values.join(', ') } : NO_CHALLENGES
}
