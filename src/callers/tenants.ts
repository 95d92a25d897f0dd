import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Tenant } from '../config/tenants-file.ts'
import { GatewayError } from '../errors.ts'
import { compileNetworks, type Networks } from '../networks.ts'
import { type BasicPair, basicOf, basicPair } from '../service/basic.ts'
import {
  accountAt,
  asTheyAre,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  isBearer,
  noCredential,
  passageOf,
} from './credentials.ts'
import { createLimits } from './limits.ts'
import { hashSecret, matchesHash } from './secret-hash.ts'
import { sourceAddress, sourceOf } from './source-address.ts'

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
/** So many different wrong secrets for one id from one address in a while, and no other is looked at from there. */
const GUESSES = 10
const GUESSES_WINDOW_MS = 60_000
const GUESSES_KEPT = 10_000

/** Tells tenants apart by their credentials, or by their networks where they send none. */
export function tenantCredentials(deps: CredentialsDeps, tenants: readonly Tenant[]): TenantCredentials {
  const trusted = deps.config.TRUST_PROXY && compileNetworks(deps.config.TRUST_PROXY)
  // The key is this process's own, so that what is kept in memory is worth nothing elsewhere.
  const key = randomBytes(32)
  const digest = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const verified = new LRUCache<string, Caller>({ max: VERIFIED_KEPT })
  // Known to be wrong: whoever goes on sending an old secret uses up no guesses, nor anybody's time.
  const refused = new LRUCache<string, true>({ max: GUESSES_KEPT, ttl: GUESSES_WINDOW_MS })
  const checking = new Map<string, Promise<Caller | undefined>>()
  const guesses = new LRUCache<string, number>({ max: GUESSES_KEPT, ttl: GUESSES_WINDOW_MS, noUpdateTTL: true })
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
    const known = verified.get(id)
    if (known) return { ...known, credential }
    if (refused.has(id)) return undefined
    let check = checking.get(id)
    if (!check) {
      check = verify(pair, id, digest(`${sourceOf(source)} ${pair.id}`)).finally(() => checking.delete(id))
      checking.set(id, check)
    }
    const caller = await check
    return caller && { ...caller, credential }
  }

  /** Counted before it is known to be wrong, so that many guesses at once are not free. */
  async function verify(pair: BasicPair, id: string, guesser: string): Promise<Caller | undefined> {
    const count = guesses.get(guesser) ?? 0
    if (count >= GUESSES) throw tooManyGuesses()
    guesses.set(guesser, count + 1)
    const asked = register
    const caller = await matching(pair.secret, asked.byId.get(pair.id) ?? (await decoy))
    if (caller) guesses.set(guesser, Math.max(0, (guesses.get(guesser) ?? 0) - 1))
    // What a list says that has been replaced meanwhile is not worth remembering.
    if (asked !== register) return caller
    if (caller) verified.set(id, caller)
    else refused.set(id, true)
    return caller
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
    passage: async (incoming) => {
      if (isBearer(incoming.headers.authorization)) return asTheyAre(deps, incoming.headers.authorization)
      return passageOf(await identify(incoming), incoming.url)
    },
    replace: (list) => {
      register = registerOf(list)
      // Tenants that stay as they are need no slow hash again.
      for (const [id, caller] of verified) if (callers.get(caller.tenant)?.caller !== caller) verified.delete(id)
      refused.clear()
      guesses.clear()
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
    `tenant ${name} ${basic}`,
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
