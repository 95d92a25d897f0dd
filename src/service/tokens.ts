import { CHALLENGE, type GatewayError, gatewayError } from '../errors.ts'
import { serviceSays } from '../messages.ts'
import type { Acceptance } from './acceptance.ts'
import { serviceMessage } from './error-message.ts'
import { NoReply, type UpstreamReply } from './exchange.ts'
import { createRetry, type Retry, timeAsked } from './retries.ts'
import { isIn, repeatsCredential } from './secret-echo.ts'
import type { Upstream } from './upstream.ts'

/** The token endpoint and the credential. */
export interface TokenSource {
  readonly upstream: Upstream
  readonly origin: string
  readonly prefix: string
  /** `Basic …`, exchanged for a token. */
  readonly basic: string
  readonly pool: () => string | undefined
  readonly timeoutMs: number
  /** Called with true if the token endpoint accepts the credential, with false if it refuses it. */
  readonly acceptance: Pick<Acceptance, 'accepted' | 'refused'>
}

/** The token of one credential: cached until shortly before it expires, and fetched once for all waiting calls. */
export interface Tokens {
  /** Returns a valid token; throws if the service gives none. */
  readonly get: (deadline: number) => Promise<string>
  /** Forgets a token that the service refused, if it is still the one that is cached. */
  readonly drop: (token: string) => void
  /** Returns true if a text repeats one of the latest tokens. */
  readonly areRepeatedIn: (text: string) => boolean
}

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

/** Keeps the token of one credential. */
export function createTokens(source: TokenSource): Tokens {
  let token: Token | undefined
  /** A call may still be under way with a token that was renewed or dropped meanwhile. */
  let latest: readonly string[] = []
  let fetching: Promise<Token> | undefined
  let pausedUntil = 0
  const retry = createRetry()

  const fetchOnce = (): Promise<Token> => {
    fetching ??= fetchToken(source, retry)
      .then((fetched) => {
        token = fetched
        latest = [fetched.text, ...latest].slice(0, LATEST_TOKENS)
        pausedUntil = 0
        return fetched
      })
      .finally(() => {
        fetching = undefined
      })
    return fetching
  }

  return {
    get: async (deadline) => {
      const now = performance.now()
      if (token && now < token.expiresAt) {
        if (now >= token.renewAt && now >= pausedUntil) {
          pausedUntil = now + RENEW_PAUSE_MS
          // The cached token stays in use; a failure matters only once it has expired.
          fetchOnce().catch(() => undefined)
        }
        return token.text
      }
      return (await before(deadline, fetchOnce())).text
    },
    drop: (refused) => {
      if (token?.text === refused) token = undefined
    },
    areRepeatedIn: (text) => latest.some((one) => isIn(text, one)),
  }
}

async function fetchToken(source: TokenSource, retry: Retry): Promise<Token> {
  const deadline = performance.now() + source.timeoutMs
  let askedAt = 0
  const ask = () => {
    askedAt = performance.now()
    return source.upstream.call({
      method: 'POST',
      operation: 'POST /oauth2/token',
      origin: source.origin,
      path: `${source.prefix}/oauth2/token`,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: source.basic,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
      pool: source.pool(),
      deadline,
    })
  }
  const { countToken } = source.upstream
  const reply = await retry(ask, deadline).catch((error: unknown) => {
    countToken('failed')
    throw error instanceof NoReply ? silent(error) : error
  })
  if (REFUSALS.has(reply.status)) source.acceptance.refused()
  if (reply.status < 200 || reply.status > 299) {
    countToken(REFUSALS.has(reply.status) ? 'refused' : 'failed')
    throw notGiven(reply, source.basic)
  }
  const { access_token: text, expires_in: life } = bodyOf(reply)
  if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text)) {
    countToken('failed')
    throw unreadable()
  }
  countToken('given')
  source.acceptance.accepted()
  const seconds = Number(life ?? DEFAULT_LIFE_S)
  const lifeMs = (Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_LIFE_S) * 1000
  const usableMs = Math.max(lifeMs - MARGIN_MS, lifeMs / 2)
  // The lifetime starts no later than the request for the token.
  return { text, expiresAt: askedAt + usableMs, renewAt: askedAt + usableMs * RENEW_AFTER }
}

function bodyOf(reply: UpstreamReply): { access_token?: unknown; expires_in?: unknown } {
  try {
    const body: unknown = JSON.parse(reply.body.toString('utf8'))
    return typeof body === 'object' && body !== null ? body : {}
  } catch {
    return {}
  }
}

const unreadable = () => gatewayError('login-failed/unreadable', {}, { status: 502 })

/** RFC 6749, 5.2: 400 and 401 concern the credential; any other status concerns the endpoint. */
const REFUSALS = new Set([400, 401, 403])

function notGiven({ status, headers, body }: UpstreamReply, basic: string): GatewayError {
  const found = status < 500 ? serviceMessage(body) : undefined
  const said = serviceSays(found === undefined || repeatsCredential(basic)(found) ? undefined : found)
  if (REFUSALS.has(status)) {
    return gatewayError(
      'login-refused',
      { serviceSays: said },
      { serviceStatus: status, headers: { 'WWW-Authenticate': CHALLENGE } },
    )
  }
  return gatewayError(
    'login-failed',
    { serviceSays: said },
    {
      status: status === 503 || status === 429 ? 503 : 502,
      serviceStatus: status,
      headers: { 'Retry-After': timeAsked(headers) ?? '5' },
    },
  )
}

/** Without a token, the call itself was not sent: its outcome is never unknown. */
function silent(cause: NoReply): GatewayError {
  return cause.silence === 'late' ? late(cause) : gatewayError('login-failed/unreachable', {}, { cause })
}

const late = (cause?: NoReply) => gatewayError('login-failed/silent', {}, { status: 504, cause })

/** Waits for a shared fetch, at most until this call's deadline. */
async function before<T>(deadline: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), deadline - performance.now())
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}
