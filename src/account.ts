import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from './errors.ts'
import { createTokens } from './tokens.ts'
import type { Upstream } from './upstream.ts'

/** How the service is told who asks. */
export type Scheme = 'basic' | 'oauth2' | 'auto'

/** What an answer shows of how a credential was taken. */
interface Taken {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** One credential at the service, at one address. */
export interface Account {
  readonly origin: string
  readonly prefix: string
  /** Keeps the connections of one credential apart from those of another. */
  readonly pool: string
  /** Makes an attempt with the right `Authorization`, and makes it anew where a refusal proves that another is right. */
  readonly authorized: <R extends Taken>(deadline: number, attempt: (authorization: string) => Promise<R>) => Promise<R>
  /** The right `Authorization` as far as is known, for a call that cannot be made twice. */
  readonly authorization: (deadline: number) => Promise<string>
  /** Learns from the answer to such a call. */
  readonly learn: (authorization: string, answer: Taken) => void
}

export interface AccountOptions {
  readonly upstream: Upstream
  readonly origin: string
  readonly prefix: string
  /** `Basic …` */
  readonly basic: string
  readonly pool: string
  readonly scheme: Scheme
  readonly timeoutMs: number
}

/** How long it is remembered which scheme the service wants, before Basic is tried again. */
const PROBE_AGAIN_MS = 3_600_000

/** Opens an account with the scheme that the operator chose. */
export function openAccount(options: AccountOptions): Account {
  const { origin, prefix, basic, pool, scheme } = options
  const tokens = createTokens(options)
  /** Until when `auto` takes tokens to be what the service wants. */
  let bearerUntil = scheme === 'oauth2' ? Number.POSITIVE_INFINITY : 0
  const usesTokens = () => performance.now() < bearerUntil

  const wantsTokens = ({ status, headers }: Taken) =>
    scheme === 'auto' && status === 401 && challenges(headers).includes('bearer')
  const learn = (authorization: string, answer: Taken) => {
    if (authorization === basic) {
      if (wantsTokens(answer)) bearerUntil = performance.now() + PROBE_AGAIN_MS
    } else if (answer.status === 401) {
      tokens.drop(authorization.slice(BEARER.length))
    }
  }

  async function withToken<R extends Taken>(
    deadline: number,
    attempt: (authorization: string) => Promise<R>,
  ): Promise<R> {
    for (let first = true; ; first = false) {
      const authorization = BEARER + (await tokens.get(deadline))
      const answer = await attempt(authorization)
      learn(authorization, answer)
      // A 401 proves that nothing was done: once more with a new token, and no more than once.
      if (answer.status !== 401 || !first) return answer
    }
  }

  async function withTokenOrBasic<R extends Taken>(
    deadline: number,
    attempt: (authorization: string) => Promise<R>,
  ): Promise<R> {
    let answer: R
    try {
      answer = await withToken(deadline, attempt)
      if (answer.status !== 401 || !challenges(answer.headers).includes('basic')) return answer
    } catch (error) {
      if (!(error instanceof GatewayError) || !error.code.startsWith('login-')) throw error
      // The service may have gone back to Basic, and its token endpoint with it.
      const retried = await attempt(basic)
      if (retried.status === 401) throw error
      bearerUntil = 0
      return retried
    }
    const retried = await attempt(basic)
    if (retried.status !== 401) bearerUntil = 0
    return retried.status === 401 ? answer : retried
  }

  return {
    origin,
    prefix,
    pool,
    learn,
    authorization: async (deadline) => (usesTokens() ? BEARER + (await tokens.get(deadline)) : basic),
    authorized: async (deadline, attempt) => {
      if (scheme === 'oauth2') return withToken(deadline, attempt)
      if (usesTokens()) return withTokenOrBasic(deadline, attempt)
      const answer = await attempt(basic)
      learn(basic, answer)
      return wantsTokens(answer) ? withToken(deadline, attempt) : answer
    },
  }
}

const BEARER = 'Bearer '

/** The schemes of `WWW-Authenticate` (RFC 9110, 11.6.1), in lower case. */
function challenges(headers: IncomingHttpHeaders): readonly string[] {
  const value: string | readonly string[] = headers['www-authenticate'] ?? ''
  const lines = typeof value === 'string' ? [value] : value
  return lines.flatMap((line) =>
    [...line.matchAll(/(?:^|,)\s*([a-z][a-z0-9_-]*)(?=\s|,|$)/gi)].map(([, name = '']) => name.toLowerCase()),
  )
}
