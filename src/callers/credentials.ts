import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config/config.ts'
import { CHALLENGE, GatewayError } from '../errors.ts'
import type { Settings } from '../mapping/settings.ts'
import { type Account, openAccount, type Scheme } from '../service/account.ts'
import { basicOf, basicPair } from '../service/basic.ts'
import type { Upstream } from '../service/upstream.ts'
import { type Limits, unlimited } from './limits.ts'

/** Who calls, and on whose account at the service. */
export interface Caller {
  /** Separates cross-references, limits and connections. */
  readonly tenant: string
  /** Tells this credential of the tenant from its others; only a slow hash of it is ever stored. */
  readonly credential: string
  readonly account: Account
  readonly profile: Profile
}

/** What one tenant may have otherwise than the others. */
export interface Profile {
  readonly settings: Settings
  readonly errorStatus: Config['ERROR_STATUS']
  /** More `ActionName`s: name → action. */
  readonly synonyms: Readonly<Record<string, string>>
  readonly limits: Limits
}

/** Where and with which credential a passed-through call goes. */
export interface Passage extends Pick<Account, 'origin' | 'prefix' | 'pool'> {
  /** Where the gateway knows who calls. */
  readonly tenant?: string
  /** Undefined sends none. */
  readonly authorization: ((deadline: number) => Promise<string>) | undefined
  /** Undefined where the call's own credential is all there is. */
  readonly authorized?: Account['authorized']
  readonly learn?: Account['learn']
  readonly limits: Limits
}

/** How callers are told apart, and whose credential goes to the service. */
export interface Credentials {
  readonly mode: 'client' | 'fixed' | 'tenants'
  /** The caller of a legacy call; throws `credential-missing`. */
  readonly identify: (incoming: IncomingMessage) => Caller | Promise<Caller>
  /** The caller, where the gateway itself verifies who it is; a dry run shows such a caller its own numbers. */
  readonly verified: (incoming: IncomingMessage) => Promise<Caller | undefined>
  readonly passage: (incoming: IncomingMessage) => Promise<Passage>
}

export interface CredentialsDeps {
  readonly config: Config
  readonly settings: Settings
  readonly upstream: Upstream
}

/** The profile of callers that have none of their own. */
export function commonProfile({ config, settings }: CredentialsDeps): Profile {
  return { settings, errorStatus: config.ERROR_STATUS, synonyms: {}, limits: unlimited }
}

const ACCOUNTS_KEPT = 10_000

/** The caller's own credential goes to the service, which verifies it. */
export function clientCredentials(deps: CredentialsDeps): Credentials {
  const profile = commonProfile(deps)
  const callers = new LRUCache<string, Caller>({ max: ACCOUNTS_KEPT })
  const identify = ({ headers: { authorization } }: IncomingMessage): Caller => {
    const known = authorization === undefined ? undefined : callers.get(authorization)
    if (known) return known
    const pair = basicPair(authorization)
    if (authorization === undefined || !pair) throw noCredential()
    const account = accountAt(deps, deps.config.V2_BASE_URL, authorization, authorization, deps.config.V2_TOKEN)
    const caller = { tenant: pair.id, credential: basicOf(pair.id, pair.secret), account, profile }
    callers.set(authorization, caller)
    return caller
  }
  return {
    mode: 'client',
    identify,
    verified: async () => undefined,
    passage: async ({ headers: { authorization } }) => asTheyAre(deps, authorization),
  }
}

/** One credential goes to the service, whatever the caller sent: the gateway stands beside one application. */
export function fixedCredentials(deps: CredentialsDeps, id: string, secret: string): Credentials {
  const basic = basicOf(id, secret)
  const account = accountAt(deps, deps.config.V2_BASE_URL, basic, basic, deps.config.V2_TOKEN)
  const caller = { tenant: id, credential: basic, account, profile: commonProfile(deps) }
  return {
    mode: 'fixed',
    identify: () => caller,
    verified: async () => caller,
    passage: async ({ url, headers: { authorization } }) =>
      isBearer(authorization) ? asTheyAre(deps, authorization) : passageOf(caller, url),
  }
}

/** A call passed through with what it brings. */
export function asTheyAre({ config }: CredentialsDeps, authorization: string | undefined): Passage {
  const sent = authorization === undefined ? undefined : async () => authorization
  return { ...config.V2_BASE_URL, pool: authorization ?? '', authorization: sent, limits: unlimited }
}

/** A call passed through on a caller's account. */
export function passageOf({ tenant, account, profile }: Caller, url = ''): Passage {
  // The token endpoint takes Basic whatever the scheme; the router has decoded the path already.
  const forTokens = decodeURIComponent(url.split('?', 1)[0] ?? '') === '/oauth2/token'
  return { tenant, ...account, ...(forTokens && account.forTokens), limits: profile.limits }
}

/** Opens an account at an address of the service. */
export function accountAt(
  { config, upstream }: CredentialsDeps,
  address: Config['V2_BASE_URL'],
  basic: string,
  pool: string,
  scheme: Scheme,
): Account {
  return openAccount({ upstream, ...address, basic, pool, scheme, timeoutMs: config.UPSTREAM_TIMEOUT_MS })
}

/** The error of a call without a credential that can be used. */
export function noCredential(): GatewayError {
  return new GatewayError(
    'credential-missing',
    'No usable credential was sent. Send the Client ID and Client Secret as HTTP Basic authentication.',
    { headers: { 'WWW-Authenticate': CHALLENGE } },
  )
}

/** Whether a call brings a token of its own. */
export function isBearer(authorization: string | undefined): authorization is string {
  return /^bearer /i.test(authorization ?? '')
}
