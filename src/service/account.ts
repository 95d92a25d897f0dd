import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../errors.ts'
import { type Acceptance, trusted } from './acceptance.ts'
import { repeatsCredential } from './secret-echo.ts'
import { createTokens } from './tokens.ts'
import type { Upstream } from './upstream.ts'

/** The authentication scheme for the service. */
export type Scheme = 'basic' | 'oauth2' | 'auto'

/** The part of a reply that shows if a credential was accepted. */
export interface Taken {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** One credential at the service, at one address. */
export interface Account {
  readonly origin: string
  readonly prefix: string
  readonly scheme: Scheme
  /**
   * Separates the connections of one credential from those of another; undefined until the service has accepted the
   * credential. Until then, each request uses a new connection.
   */
  readonly pool: () => string | undefined
  readonly acceptance: Acceptance
  /**
   * Makes an attempt with the expected `Authorization`, and repeats it if a refusal proves that another one is right.
   */
  readonly authorized: <R extends Taken>(deadline: number, attempt: (authorization: string) => Promise<R>) => Promise<R>
  /** The expected `Authorization`, for a call that cannot be repeated. */
  readonly authorization: (deadline: number) => Promise<string>
  /** Learns from the reply to such a call. */
  readonly learn: (authorization: string, answer: Taken) => void
  /** Returns true if a text repeats the credential, or a token for it, which must stay secret. */
  readonly isRepeatedIn: (text: string) => boolean
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
  /** @default the acceptance of an operator's credential */
  readonly acceptance?: Acceptance
}

/** The time during which the scheme that the service wants is remembered, before Basic is tried again. */
const PROBE_AGAIN_MS = 3_600_000

/** Opens an account with the scheme that the operator chose. */
export function openAccount(options: AccountOptions): Account {
  const { origin, prefix, basic, scheme, acceptance = trusted } = options
  const pool = () => (acceptance.isProven() ? options.pool : undefined)
  const repeatsBasic = repeatsCredential(basic)
  const tokens = createTokens({ ...options, pool, acceptance })
  /** The time until which `auto` assumes that the service wants tokens. */
  let bearerUntil = scheme === 'oauth2' ? Number.POSITIVE_INFINITY : 0
  const usesTokens = () => performance.now() < bearerUntil

  const wantsTokens = ({ status, headers }: Taken) =>
    scheme === 'auto' && status === 401 && challenges(headers).includes('bearer')
  const learn = (authorization: string, answer: Taken) => {
    if (authorization === basic) {
      if (wantsTokens(answer)) bearerUntil = performance.now() + PROBE_AGAIN_MS
    } else if (answer.status === 401) {
      tokens.drop(authorization.slice(BEARER.length))
      if (scheme === 'auto' && wantsBasicAlone(answer)) bearerUntil = 0
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
      // A 401 proves that nothing was done: one more attempt with a new token.
      if (answer.status !== 401 || !first) return answer
    }
  }

  async function withTokenOrBasic<R extends Taken>(
    deadline: number,
    attempt: (authorization: string) => Promise<R>,
  ): Promise<R> {
    let refused: R | undefined
    let failure: unknown
    try {
      refused = await withToken(deadline, attempt)
      if (refused.status !== 401 || !namesBasic(refused)) return refused
    } catch (error) {
      if (!isLoginError(error) || performance.now() >= deadline) throw error
      failure = error
    }
    // The service may have gone back to Basic and removed its token endpoint.
    const retried = await attempt(basic)
    if (retried.status !== 401) {
      bearerUntil = 0
      return retried
    }
    if (refused) return refused
    if (namesBasic(retried) && hasNoTokens(failure)) return retried
    throw failure
  }

  async function withBasic<R extends Taken>(
    deadline: number,
    attempt: (authorization: string) => Promise<R>,
  ): Promise<R> {
    const answer = await attempt(basic)
    learn(basic, answer)
    if (!wantsTokens(answer)) return answer
    try {
      return await withToken(deadline, attempt)
    } catch (error) {
      // The service names tokens, and has none yet: what it said of the credential stands.
      if (namesBasic(answer) && hasNoTokens(error)) return answer
      throw error
    }
  }

  return {
    origin,
    prefix,
    scheme,
    pool,
    acceptance,
    learn,
    isRepeatedIn: (text) => repeatsBasic(text) || tokens.areRepeatedIn(text),
    authorization: async (deadline) => {
      if (!usesTokens()) return basic
      try {
        return BEARER + (await tokens.get(deadline))
      } catch (error) {
        // Without a token endpoint, the service has gone back to Basic.
        if (scheme === 'auto' && hasNoTokens(error)) return basic
        throw error
      }
    },
    authorized: async (deadline, attempt) => {
      if (scheme === 'oauth2') return withToken(deadline, attempt)
      return usesTokens() ? withTokenOrBasic(deadline, attempt) : withBasic(deadline, attempt)
    },
  }
}

const BEARER = 'Bearer '
const NOT_FOUND = 404

const isLoginError = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.code.startsWith('login-')

/** Tells if a token was not given because the service has no token endpoint. */
const hasNoTokens = (error: unknown): boolean => isLoginError(error) && error.serviceStatus === NOT_FOUND

const namesBasic = ({ headers }: Taken): boolean => challenges(headers).includes('basic')

function wantsBasicAlone({ headers }: Taken): boolean {
  const schemes = challenges(headers)
  return schemes.includes('basic') && !schemes.includes('bearer')
}

/** The schemes of `WWW-Authenticate` (RFC 9110, 11.6.1), in lower case. */
function challenges(headers: IncomingHttpHeaders): readonly string[] {
  const value: string | readonly string[] = headers['www-authenticate'] ?? ''
  const lines = typeof value === 'string' ? [value] : value
  return lines.flatMap((line) =>
    [...line.replace(QUOTED, '""').matchAll(SCHEME)].map(([, name = '']) => name.toLowerCase()),
  )
}

/** A realm may contain commas and words that look like schemes. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const SCHEME = /(?:^|,)\s*([a-z][a-z0-9_-]*)(?=\s|,|$)/gi
