import { randomBytes } from 'node:crypto'
import { Refusal } from './refusal.ts'
import type { World } from './world.ts'

const REALM = 'sandbox'

/** Answers which client a request comes from; throws a 401 with the challenge that would help. */
export function authenticate(world: World, authorization: string | undefined): string {
  const { auth } = world.settings
  const [scheme = '', value = ''] = (authorization ?? '').split(' ', 2)
  if (auth !== 'basic' && scheme.toLowerCase() === 'bearer') return clientOfToken(world, value)
  if (auth === 'bearer') throw unauthorized('A bearer token is needed', `Bearer realm="${REALM}"`)
  return clientOfBasic(world, authorization)
}

/** The token endpoint of RFC 6749, section 4.4: an answer, or an error in that standard's own shape. */
export function grantToken(world: World, authorization: string | undefined, form: URLSearchParams) {
  const grant = form.get('grant_type')
  if (grant === null) return { status: 400, body: { error: 'invalid_request' } }
  if (grant !== 'client_credentials') return { status: 400, body: { error: 'unsupported_grant_type' } }
  let client: string
  try {
    client = clientOfBasic(world, authorization)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: 401, headers: error.headers, body: { error: 'invalid_client' } }
  }
  const access_token = randomBytes(24).toString('base64url')
  const { tokenExpiresIn: expires_in, clock } = world.settings
  const until = expires_in === null ? Number.POSITIVE_INFINITY : clock().getTime() + expires_in * 1000
  world.tokens.set(access_token, { client, until })
  const body = { access_token, token_type: 'Bearer', ...(expires_in !== null && { expires_in }) }
  return { status: 200, headers: { 'cache-control': 'no-store' }, body }
}

function clientOfBasic(world: World, authorization: string | undefined): string {
  const challenge = `Basic realm="${REALM}"`
  const encoded = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (!encoded) throw unauthorized('Credentials are needed', challenge)
  const [, id, secret] = /^([^:]+):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  const { credentials } = world.settings
  const known =
    id !== undefined && (credentials === 'any' || (Object.hasOwn(credentials, id) && credentials[id] === secret))
  if (!known) throw unauthorized('The credentials are not known', challenge)
  return id
}

function clientOfToken(world: World, token: string): string {
  const entry = world.tokens.get(token)
  if (entry && entry.until > world.settings.clock().getTime()) return entry.client
  throw unauthorized('The token is not good', `Bearer realm="${REALM}", error="invalid_token"`)
}

function unauthorized(message: string, challenge: string): Refusal {
  return new Refusal('unauthorized', message, { headers: { 'www-authenticate': challenge } })
}
