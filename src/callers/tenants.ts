import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Tenant } from '../config/tenants-file.ts'
import { type Deprecation, deprecationOf } from '../deprecation/deprecation.ts'
import type { Settings } from '../mapping/settings.ts'
import { compileNetworks, type Networks } from '../networks.ts'
import { basicOf, basicPair } from '../service/basic.ts'
import {
  accountAt,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  type DeprecationConfig,
  isBearer,
  missingCredential,
  passThroughOf,
  refuseTokens,
  wrongCredential,
} from './caller.ts'
import { type EventRecipient, recipientsOf } from './events.ts'
import { createLimits } from './limits.ts'
import { type Candidate, type Candidates, createVerification } from './verification.ts'

/**
 * The callers of a shared edge: the gateway verifies a tenant's own credential, and sends the tenant's other one to
 * the service.
 */
export interface TenantCredentials extends Credentials {
  /** Replaces the list; unchanged tenants keep their tokens and limits. */
  readonly replace: (tenants: readonly Tenant[]) => void
  /** Returns the deprecation of each tenant. */
  readonly deprecations: () => readonly (readonly [tenant: string, deprecation: Deprecation])[]
}

interface Register extends Candidates {
  readonly byNetwork: readonly { readonly networks: Networks; readonly caller: Caller }[]
}

/** Identifies tenants by their credentials, or by their networks if a call carries no credential. */
export function tenantCredentials(deps: CredentialsDeps, tenants: readonly Tenant[]): TenantCredentials {
  const decoyOf = createDecoys()
  let callers = new Map<string, { readonly declared: string; readonly caller: Caller }>()
  let register = registerOf(tenants)
  let recipients = recipientsIn(tenants)
  const { verify, renew } = createVerification(deps, () => register)

  function registerOf(list: readonly Tenant[]): Register {
    const next = new Map<string, { readonly declared: string; readonly caller: Caller }>()
    const byId = new Map<string, Candidate[]>()
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
    const all = [...byId.values()]
    return { of: (id) => byId.get(id) ?? decoyOf(id, all), byNetwork }
  }

  function recognize(incoming: IncomingMessage): Caller | undefined | Promise<Caller | undefined> {
    const { authorization } = incoming.headers
    // This gateway issues no tokens, so a token identifies no tenant.
    if (!authorization || isBearer(authorization)) return byAddress(deps.addressOf(incoming))
    const pair = basicPair(authorization)
    return pair && verify(pair, incoming)
  }

  function byAddress(address: string): Caller | undefined {
    const narrowness = register.byNetwork.map(({ networks, caller }) => ({ caller, bits: networks.narrowest(address) }))
    const [best] = narrowness.filter(({ bits }) => bits >= 0).sort((one, other) => other.bits - one.bits)
    return best?.caller
  }

  async function identify(incoming: IncomingMessage): Promise<Caller> {
    const caller = await recognize(incoming)
    if (caller) return caller
    throw basicPair(incoming.headers.authorization) ? wrongCredential() : missingCredential(incoming)
  }

  return {
    mode: 'tenants',
    tenants: () => [...callers.keys()],
    identify,
    verified: async (incoming) => recognize(incoming),
    passThrough: async (incoming) => {
      refuseTokens(incoming)
      return passThroughOf(await identify(incoming))
    },
    deprecations: () => [...callers].map(([name, { caller }]) => [name, caller.profile.deprecation]),
    ownCaller: (tenant) => callers.get(tenant)?.caller,
    eventRecipients: () => recipients,
    replace: (list) => {
      register = registerOf(list)
      recipients = recipientsIn(list)
      renew((caller) => callers.get(caller.tenant)?.caller === caller)
    },
  }
}

/** A hash that no secret has, for a tenants file without credentials. */
const NO_HASH = `$scrypt$ln=15,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
const PICK_BYTES = 4

/**
 * Makes decoys for unknown ids: the hashes of a known id, always the same one for the same unknown id, without a
 * caller. An unknown id then takes as long to refuse as a known one, even if tenants' hashes differ in cost.
 */
function createDecoys(): (id: string, all: readonly (readonly Candidate[])[]) => readonly Candidate[] {
  const key = createSecretKey(randomBytes(32))
  return (id, all) => {
    const pick = createHmac('sha256', key).update(id).digest().readUIntBE(0, PICK_BYTES)
    const candidates = all[pick % all.length] ?? [{ hash: NO_HASH }]
    return candidates.map(({ hash }) => ({ hash, caller: undefined }))
  }
}

/** Returns the deprecation of a tenant: its own values, else those of the configuration. */
export function tenantDeprecation(tenant: Tenant, config: DeprecationConfig): Deprecation {
  return deprecationOf({
    sunset: tenant.sunset ?? config.SUNSET,
    guide: tenant.migration_guide_url ?? config.MIGRATION_GUIDE_URL,
    windows: tenant.brownouts ?? config.BROWNOUTS,
    coversBookings: tenant.brownout_bookings ?? config.BROWNOUT_BOOKINGS,
  })
}

function recipientsIn(tenants: readonly Tenant[]): readonly EventRecipient[] {
  return tenants.flatMap(({ name, webhookSecrets: secrets, signingKeys, callback_url }) =>
    recipientsOf(name, { secrets, signingKeys, hasCallback: callback_url !== undefined }),
  )
}

function callerOf(tenant: Tenant, deps: CredentialsDeps): Caller {
  const { name, v2, secret, limits } = tenant
  const common = commonProfile(deps)
  const basic = basicOf(v2.client_id, secret)
  const account = accountAt(deps, v2.base_url ?? deps.config.V2_BASE_URL, {
    basic,
    pool: `tenant ${name} ${basic}`,
    scheme: v2.token ?? deps.config.V2_TOKEN,
  })
  const profile = {
    settings: tenantSettings(tenant, common.settings),
    errorStatus: tenant.error_status ?? common.errorStatus,
    synonyms: tenant.actions,
    deprecation: tenantDeprecation(tenant, deps.config),
    limits: createLimits({ perSecond: limits.per_second, concurrent: limits.concurrent }),
  }
  return { tenant: name, credential: undefined, account, profile }
}

/** Returns the settings of a tenant's translations: its own, else those of all. */
export function tenantSettings({ defaults, shipment_number }: Tenant, common: Settings): Settings {
  return {
    ...common,
    transport_type: defaults.transport_type ?? common.transport_type,
    vehicle_type: defaults.vehicle_type ?? common.vehicle_type,
    shipment_number: shipment_number ?? common.shipment_number,
  }
}
