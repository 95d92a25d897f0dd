import type { IncomingHttpHeaders } from 'node:http'
import { CHALLENGE, GatewayError, gatewayError, retryAfter } from '../../language/errors.ts'
import { serviceSays } from '../../language/messages.ts'
import { isObject, scalarText } from '../../language/text/json.ts'
import { oneAtATime } from '../../runtime/time.ts'
import { createCredentialMask } from './credential.ts'
import { exchange, NoReply } from './exchange.ts'
import { serviceMessage } from './failures.ts'
import { isSuccess, parsedOrNothing, type UpstreamReply } from './reply.ts'
import { createRetry, type Retry, timeAsked } from './retries.ts'
import type { Upstream } from './upstream.ts'

/** The authentication scheme for the service. */
export type Scheme = 'basic' | 'oauth2' | 'auto'

/** The part of a reply that shows whether a credential was accepted. */
export interface AuthorizedReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** Makes a request with an `Authorization`. */
type Attempt<R extends AuthorizedReply> = (authorization: string) => Promise<R>

/** One credential at the service, at one address. */
export interface Account {
  readonly origin: string
  readonly prefix: string
  /** That of the next request: `auto` until the service asks for a token. */
  readonly scheme: Scheme
  /** The name of its connection pool. Until the service has accepted the credential, each request uses a new connection. */
  readonly pool: string
  readonly acceptance: Acceptance
  /** Makes an attempt with the expected `Authorization`, and repeats it if a refusal proves that another one is needed. */
  readonly authorized: <R extends AuthorizedReply>(deadline: number, attempt: Attempt<R>) => Promise<R>
  /** The expected `Authorization`, for a call that cannot be repeated. */
  readonly authorization: (deadline: number) => Promise<string>
  /** Learns from the reply to such a call. */
  readonly learn: (authorization: string, answer: AuthorizedReply) => void
  /** Returns each `Authorization` that a request may have carried: the credential, and the latest tokens for it. */
  readonly authorizations: () => readonly string[]
}

/** An account as its caller sees it. */
export interface AccountOfCaller {
  /** `Basic …` */
  readonly basic: string
  readonly pool: string
  readonly scheme: Scheme
  /** @default the acceptance of an operator's credential */
  readonly acceptance?: Acceptance
}

interface NewAccount extends AccountOfCaller {
  readonly upstream: Upstream
  readonly origin: string
  readonly prefix: string
  readonly timeoutMs: number
}

/** Opens an account with the scheme that the operator chose. */
export function openAccount(options: NewAccount): Account {
  const { origin, prefix, basic, pool, scheme, acceptance = trusted } = options
  const tokens = createTokens({ ...options, acceptance })
  /** With `auto`, false until the service asks for a token. */
  let usesTokens = scheme === 'oauth2'

  const wantsTokens = ({ status, headers }: AuthorizedReply) =>
    scheme === 'auto' && status === 401 && challenges(headers).includes('bearer')
  const learn = (authorization: string, answer: AuthorizedReply) => {
    if (authorization !== basic) {
      if (answer.status === 401) tokens.drop(authorization.slice(BEARER.length))
    } else if (wantsTokens(answer)) usesTokens = true
  }
  /** Counts a refusal of a credential that the operator gave. */
  const counted = <R extends AuthorizedReply>(answer: R): R => {
    if (answer.status === 401 && acceptance === trusted) options.upstream.refusals.add(1)
    return answer
  }
  const bearer = async (deadline: number) => {
    try {
      return BEARER + (await tokens.get(deadline))
    } catch (error) {
      // A service can ask for tokens before it issues any.
      if (hasNoTokens(error)) usesTokens = scheme === 'oauth2'
      throw error
    }
  }

  async function withToken<R extends AuthorizedReply>(deadline: number, attempt: Attempt<R>): Promise<R> {
    for (let first = true; ; first = false) {
      const authorization = await bearer(deadline)
      const answer = await attempt(authorization)
      learn(authorization, answer)
      // A 401 proves that nothing was done, so one more attempt follows with a new token.
      if (answer.status !== 401 || !first) return answer
    }
  }

  async function withBasic<R extends AuthorizedReply>(deadline: number, attempt: Attempt<R>): Promise<R> {
    const answer = await attempt(basic)
    learn(basic, answer)
    if (!wantsTokens(answer)) return answer
    try {
      return await withToken(deadline, attempt)
    } catch (error) {
      // The service's first verdict on the credential stands.
      if (namesBasic(answer) && hasNoTokens(error)) return answer
      throw error
    }
  }

  return {
    origin,
    prefix,
    get scheme() {
      return usesTokens ? 'oauth2' : scheme
    },
    pool,
    acceptance,
    learn: (authorization, answer) => learn(authorization, counted(answer)),
    authorizations: () => [basic, ...tokens.latest().map((token) => BEARER + token)],
    authorization: async (deadline) => (usesTokens ? bearer(deadline) : basic),
    authorized: (deadline, attempt) => {
      const answer =
        scheme === 'basic' ? attempt(basic) : usesTokens ? withToken(deadline, attempt) : withBasic(deadline, attempt)
      return acceptance === trusted ? answer.then(counted) : answer
    },
  }
}

const BEARER = 'Bearer '
const NOT_FOUND = 404

/** Reports whether no token was issued because the service has no token endpoint. */
const hasNoTokens = (error: unknown): boolean =>
  error instanceof GatewayError && error.code.startsWith('login-') && error.serviceStatus === NOT_FOUND

const namesBasic = ({ headers }: AuthorizedReply): boolean => challenges(headers).includes('basic')

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

interface Token {
  readonly text: string
  /** In milliseconds of `performance.now()`, which a wrong system clock does not affect. */
  readonly renewAt: number
  readonly expiresAt: number
}

/** The lifetime of a token without `expires_in`. */
const DEFAULT_LIFE_S = 300
/** A token this close to its expiry may expire on the way. */
const MARGIN_MS = 5_000
/** The share of its lifetime after which a token is renewed in the background. */
const RENEW_AFTER = 0.8
const LATEST_TOKENS = 3
/** The pause after a failed renewal while the cached token is valid. */
const RENEW_PAUSE_MS = 5_000

/** Keeps the token of one credential: cached until shortly before it expires, and fetched once for all waiting calls. */
function createTokens(source: Required<NewAccount>) {
  let token: Token | undefined
  /** Kept because a call may still be under way with a token that was renewed or dropped meanwhile. */
  let latest: readonly string[] = []
  let pausedUntil = 0
  const retry = createRetry()

  const fetches = oneAtATime(async () => {
    const fetched = await fetchToken(source, retry)
    token = fetched
    latest = [fetched.text, ...latest].slice(0, LATEST_TOKENS)
    pausedUntil = 0
    return fetched
  })

  return {
    /** Returns a valid token; throws if the service issues none. */
    get: async (deadline: number): Promise<string> => {
      const now = performance.now()
      if (token && now < token.expiresAt) {
        if (now >= token.renewAt && now >= pausedUntil) {
          pausedUntil = now + RENEW_PAUSE_MS
          // The cached token stays in use; a failure matters only once it has expired.
          fetches.run().catch(() => undefined)
        }
        return token.text
      }
      return (await before(deadline, fetches.run())).text
    },
    /** Forgets a token that the service refused, if it is still the cached one. */
    drop: (refused: string): void => {
      if (token?.text === refused) token = undefined
    },
    latest: () => latest,
  }
}

async function fetchToken(source: Required<NewAccount>, retry: Retry): Promise<Token> {
  const deadline = performance.now() + source.timeoutMs
  let askedAt = 0
  const ask = () => {
    askedAt = performance.now()
    return exchange(source.upstream.line(source), {
      method: 'POST',
      operation: 'POST /oauth2/token',
      path: `${source.prefix}/oauth2/token`,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: source.basic,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
      deadline,
    })
  }
  const { tokens } = source.upstream
  const reply = await retry(ask, deadline).catch((error: unknown) => {
    tokens.add(1, 'failed')
    if (!(error instanceof NoReply)) throw error
    // Without a token, the call itself was not sent, so its outcome is never unknown.
    throw error.silence === 'late' ? late(error) : gatewayError('login-failed/unreachable', {}, { cause: error })
  })
  if (!isSuccess(reply.status)) {
    const isRefused = REFUSALS.has(reply.status)
    tokens.add(1, isRefused ? 'refused' : 'failed')
    if (isRefused && source.acceptance === trusted) source.upstream.refusals.add(1)
    if (isRefused) source.acceptance.refused()
    throw notGiven(reply, source.basic)
  }
  const given = parsedOrNothing(reply)
  const { access_token: text, expires_in: life }: Readonly<Record<string, unknown>> = isObject(given) ? given : {}
  if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text)) {
    tokens.add(1, 'failed')
    throw gatewayError('login-failed/unreadable', {}, { status: 502 })
  }
  tokens.add(1, 'given')
  source.acceptance.accepted()
  // 0 is a lifetime, too: such a token serves the calls that wait for it.
  const seconds = Number(scalarText(life)?.trim() || Number.NaN)
  const lifeMs = (Number.isFinite(seconds) ? Math.max(seconds, 0) : DEFAULT_LIFE_S) * 1000
  const usableMs = Math.max(lifeMs - MARGIN_MS, lifeMs / 2)
  // The lifetime starts no later than the request for the token.
  return { text, expiresAt: askedAt + usableMs, renewAt: askedAt + usableMs * RENEW_AFTER }
}

/** RFC 6749, 5.2: 400 and 401 concern the credential; any other status concerns the endpoint. */
const REFUSALS = new Set([400, 401, 403])

function notGiven({ status, headers, body }: UpstreamReply, basic: string): GatewayError {
  const found = status < 500 ? serviceMessage(body) : undefined
  const said = serviceSays(found && createCredentialMask(basic, false).text(found))
  if (REFUSALS.has(status)) {
    return gatewayError('login-refused', { serviceSays: said }, { serviceStatus: status, ...CHALLENGE })
  }
  return gatewayError(
    'login-failed',
    { serviceSays: said },
    {
      status: status === 503 || status === 429 ? status : 502,
      serviceStatus: status,
      ...retryAfter(timeAsked(headers) ?? 5),
    },
  )
}

const late = (cause?: NoReply) => gatewayError('login-failed/silent', {}, { status: 504, cause })

/** Waits for work that several calls share, at most until this call's deadline. */
export async function before<T>(deadline: number, work: Promise<T>, tooLate: () => Error = late): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLate()), deadline - performance.now())
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}

/** This process's knowledge of whether the service accepts a credential. */
export interface Acceptance {
  /** Reports whether the service has accepted the credential recently. */
  readonly isProven: () => boolean
  /** Called when the service accepts the credential. */
  readonly accepted: () => void
  /** Called when the service refuses the credential. */
  readonly refused: () => void
}

/** The acceptance of a credential that the operator gave to the gateway. */
export const trusted: Acceptance = { isProven: () => true, accepted: () => {}, refused: () => {} }

/** An id that no shipment has: reading it is harmless and only shows whether the credential is accepted. */
export const NO_SHIPMENT = '00000000-0000-4000-8000-000000000000'
