import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import {
  accountAt,
  asTheyAre,
  basicOf,
  basicPair,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  isBearer,
  noCredential,
  passageOf,
} from './credentials.ts'
import { GatewayError } from './errors.ts'
import { createLimits } from './limits.ts'
import { hashSecret, matchesHash } from './secret-hash.ts'
import { compileNetworks, type Networks, sourceAddress } from './source-address.ts'
import type { Tenant } from './tenants-file.ts'

/** The shared edge's callers: each tenant's own credential is verified here, and the tenant's goes to the service. */
export interface TenantCredentials extends Credentials {
  /** Takes a new list; tenants that are declared as before keep their tokens and limits. */
  readonly replace: (tenants: readonly Tenant[]) => void
}

interface Register {
  readonly byId: ReadonlyMap<string, readonly { readonly hash: string; readonly caller: Caller }[]>
  readonly byNetwork: readonly { readonly networks: Networks; readonly caller: Caller }[]
}

const VERIFIED_KEPT = 100_000
/** So many wrong secrets for one id from one address in a while, and no more are looked at from there. */
const WRONG_LIMIT = 10
const WRONG_WINDOW_MS = 60_000
const WRONG_KEPT = 10_000

/** Tells tenants apart by their credentials, or by their networks where they send none. */
export function tenantCredentials(deps: CredentialsDeps, tenants: readonly Tenant[]): TenantCredentials {
  const trusted = deps.config.TRUST_PROXY && compileNetworks(deps.config.TRUST_PROXY)
  // The key is this process's own, so that what is kept in memory is worth nothing elsewhere.
  const key = randomBytes(32)
  const digest = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const verified = new LRUCache<string, Promise<Caller | undefined>>({ max: VERIFIED_KEPT })
  const wrong = new LRUCache<string, number>({ max: WRONG_KEPT, ttl: WRONG_WINDOW_MS, noUpdateTTL: true })
  // An id that nobody has takes as long to refuse as one that somebody has.
  const decoy = hashSecret(digest('nobody')).then((hash) => [{ hash, caller: undefined }])
  let callers = new Map<string, { readonly declared: string; readonly caller: Caller }>()
  let register = registerOf(tenants)

  function registerOf(list: readonly Tenant[]): Register {
    const next = new Map<string, { readonly declared: string; readonly caller: Caller }>()
    const byId = new Map<string, { hash: string; caller: Caller }[]>()
    const byNetwork: { networks: Networks; caller: Caller }[] = []
    for (const tenant of list) {
      const declared = JSON.stringify(tenant)
      const known = callers.get(tenant.name)
      const caller = known?.declared === declared ? known.caller : callerOf(tenant, deps)
      next.set(tenant.name, { declared, caller })
      for (const { id, secret_hash: hash } of tenant.credentials)
        byId.set(id, [...(byId.get(id) ?? []), { hash, caller }])
      if (tenant.networks.length > 0) byNetwork.push({ networks: compileNetworks(tenant.networks), caller })
    }
    callers = next
    return { byId, byNetwork }
  }

  async function recognise(incoming: IncomingMessage): Promise<Caller | undefined> {
    const { authorization } = incoming.headers
    const source = sourceAddress(incoming, trusted || undefined)
    if (authorization === undefined) return byAddress(source)
    const pair = basicPair(authorization)
    if (!pair) return undefined
    const credential = basicOf(pair.id, pair.secret)
    const id = digest(credential)
    const known = await verified.get(id)
    if (known) return { ...known, credential }
    const guesses = digest(`${source} ${pair.id}`)
    if ((wrong.get(guesses) ?? 0) >= WRONG_LIMIT) throw tooManyGuesses()
    const checking = verified.get(id) ?? matching(pair.secret, register.byId.get(pair.id) ?? (await decoy))
    verified.set(id, checking)
    const caller = await checking
    if (caller) return { ...caller, credential }
    // What is wrong now may be right after a rotation.
    verified.delete(id)
    wrong.set(guesses, (wrong.get(guesses) ?? 0) + 1)
    return undefined
  }

  function byAddress(source: string): Caller | undefined {
    const narrowness = register.byNetwork.map(({ networks, caller }) => ({ caller, bits: networks.narrowest(source) }))
    const [best] = narrowness.filter(({ bits }) => bits >= 0).sort((one, other) => other.bits - one.bits)
    return best?.caller
  }

  async function identify(incoming: IncomingMessage): Promise<Caller> {
    const caller = await recognise(incoming)
    if (!caller) throw noCredential()
    return caller
  }

  return {
    mode: 'tenants',
    identify,
    verified: recognise,
    passage: async (incoming) =>
      isBearer(incoming.headers.authorization)
        ? asTheyAre(deps, incoming.headers.authorization)
        : passageOf(await identify(incoming)),
    replace: (list) => {
      register = registerOf(list)
      verified.clear()
      wrong.clear()
    },
  }
}

async function matching(
  secret: string,
  candidates: readonly { readonly hash: string; readonly caller: Caller | undefined }[],
): Promise<Caller | undefined> {
  for (const { hash, caller } of candidates) if (await matchesHash(secret, hash)) return caller
  return undefined
}

function callerOf(tenant: Tenant, deps: CredentialsDeps): Caller {
  const { name, v2, secret, defaults, limits } = tenant
  const common = commonProfile(deps)
  const basic = basicOf(v2.client_id, secret)
  const account = accountAt(
    deps,
    v2.base_url ?? deps.config.V2_BASE_URL,
    basic,
    `tenant ${name}`,
    v2.token ?? deps.config.V2_TOKEN,
  )
  const settings = {
    ...common.settings,
    transport_type: defaults.transport_type ?? common.settings.transport_type,
    vehicle_type: defaults.vehicle_type ?? common.settings.vehicle_type,
    shipment_number: tenant.shipment_number ?? common.settings.shipment_number,
  }
  const profile = {
    settings,
    errorStatus: tenant.error_status ?? common.errorStatus,
    synonyms: tenant.actions,
    limits: createLimits({ perSecond: limits.per_second, concurrent: limits.concurrent }),
  }
  // A caller that is known by its network sends no credential; the tenant's name stands for it.
  return { tenant: name, credential: `network of ${name}`, account, profile }
}

function tooManyGuesses(): GatewayError {
  const message =
    'Too many wrong credentials came from this address. Check the Client ID and the secret, and wait a minute.'
  return new GatewayError('too-many-calls', message, { headers: { 'Retry-After': '60' } })
}
