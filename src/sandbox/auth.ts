import { randomBytes } from 'node:crypto'
import { Refusal } from './refusal.ts'
import type { SandboxState } from './state.ts'

const REALM = 'sandbox'

/** Returns the client of a request; throws a 401 with the challenge of the scheme that is accepted. */
export function authenticate(state: SandboxState, authorization: string | undefined): string {
  const { auth } = state.settings
  const [scheme = '', value = ''] = (authorization ?? '').split(' ', 2)
  if (auth !== 'basic' && scheme.toLowerCase() === 'bearer') return clientOfToken(state, value)
  if (auth === 'bearer') throw unauthorized('A bearer token is needed', `Bearer realm="${REALM}"`)
  return clientOfBasic(state, authorization)
}

/** Answers the token endpoint of RFC 6749, section 4.4; errors have the shape of section 5.2. */
export function grantToken(state: SandboxState, authorization: string | undefined, form: URLSearchParams) {
  const grant = form.get('grant_type')
  if (grant === null) return { status: 400, body: { error: 'invalid_request' } }
  if (grant !== 'client_credentials') return { status: 400, body: { error: 'unsupported_grant_type' } }
  let client: string
  try {
    client = clientOfBasic(state, authorization)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: 401, headers: error.headers, body: { error: 'invalid_client' } }
  }
  const access_token = randomBytes(24).toString('base64url')
  const { tokenExpiresIn: expires_in, clock } = state.settings
  const until = expires_in === null ? Number.POSITIVE_INFINITY : clock().getTime() + expires_in * 1000
  state.tokens.set(access_token, { client, until })
  const body = { access_token, token_type: 'Bearer', ...(expires_in !== null && { expires_in }) }
  return { status: 200, headers: { 'cache-control': 'no-store' }, body }
}

function clientOfBasic(state: SandboxState, authorization: string | undefined): string {
  const challenge = `Basic realm="${REALM}"`
  const encoded = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (!encoded) throw unauthorized('Credentials are needed', challenge)
  const [, id, secret] = /^([^:]+):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  const { credentials } = state.settings
  const known =
    id !== undefined && (credentials === 'any' || (Object.hasOwn(credentials, id) && credentials[id] === secret))
  if (!known) throw unauthorized('The credentials are not known', challenge)
  return id
}

function clientOfToken(state: SandboxState, token: string): string {
  const entry = state.tokens.get(token)
  if (entry && entry.until > state.settings.clock().getTime()) return entry.client
  throw unauthorized('The token is not good', `Bearer realm="${REALM}", error="invalid_token"`)
}

function unauthorized(message: string, challenge: string): Refusal {
  return new Refusal('unauthorized', message, { headers: { 'www-authenticate': challenge } })
}
