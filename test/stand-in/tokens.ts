import { randomBytes } from 'node:crypto'
import { DemoRefusal } from '../../src/labs/demo/bodies.ts'
import { authenticate, type DemoReply, type DemoRequest, type DemoService } from '../../src/labs/demo/service.ts'

/** How the stand-in grants tokens. */
export interface TokenSettings {
  /** The credentials that /v2 accepts; `basic` has no token endpoint. @default 'both' */
  auth?: 'basic' | 'bearer' | 'both'
  /** Seconds in `expires_in`; null leaves it out, and tokens do not expire. */
  tokenExpiresIn: number | null
  clock: () => Date
}

const granted = new WeakMap<DemoService, Map<string, { readonly authorization: string; readonly until: number }>>()

/** Returns the valid tokens of a service, each with the credential that got it, and its end in milliseconds. */
export function tokensOf(service: DemoService) {
  const tokens = granted.get(service) ?? new Map()
  granted.set(service, tokens)
  return tokens
}

/** Answers the token endpoint of RFC 6749, section 4.4; errors have the shape of section 5.2. */
export function grantToken(
  service: DemoService,
  { tokenExpiresIn: expires_in, clock }: TokenSettings,
  { method, headers: { authorization = '' }, body: form }: DemoRequest,
): DemoReply {
  if (method !== 'POST') return new DemoRefusal('method_not_allowed', 'Use POST', { allow: 'POST' })
  const grant = new URLSearchParams(form).get('grant_type')
  if (grant === null) return { status: 400, body: { error: 'invalid_request' } }
  if (grant !== 'client_credentials') return { status: 400, body: { error: 'unsupported_grant_type' } }
  try {
    authenticate(service, authorization)
  } catch (error) {
    if (!(error instanceof DemoRefusal)) throw error
    return { status: 401, headers: error.headers, body: { error: 'invalid_client' } }
  }
  const access_token = randomBytes(24).toString('base64url')
  const until = expires_in === null ? Number.POSITIVE_INFINITY : clock().getTime() + expires_in * 1000
  tokensOf(service).set(access_token, { authorization, until })
  const body = { access_token, token_type: 'Bearer', ...(expires_in !== null && { expires_in }) }
  return { status: 200, headers: { 'cache-control': 'no-store' }, body }
}

/** Returns a request with the credential that its token stands for; the refusal of a token that is not valid. */
export function withoutToken(
  service: DemoService,
  { auth, clock }: TokenSettings,
  call: DemoRequest,
): DemoRequest | DemoReply {
  const [, token] = /^bearer (.*)/i.exec(call.headers.authorization ?? '') ?? []
  if (auth === 'basic' || (auth !== 'bearer' && token === undefined)) return call
  const { authorization, until = 0 } = tokensOf(service).get(token ?? '') ?? {}
  if (until > clock().getTime()) return { ...call, headers: { ...call.headers, authorization } }
  const challenge = 'Bearer realm="sandbox", error="invalid_token"'
  return new DemoRefusal('unauthorized', 'The token is not valid', { 'www-authenticate': challenge })
}
