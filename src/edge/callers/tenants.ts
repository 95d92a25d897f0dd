import type { IncomingMessage } from 'node:http'
import { FAST_HASH, type Tenant } from '../../language/config/tenants-file.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { compileNetworks, type Networks } from '../../language/networks.ts'
import { basicOf, basicPair } from '../../outside/service/credential.ts'
import type { Share } from '../../runtime/call.ts'
import { createLimits } from '../limits/rates.ts'
import {
  accountAt,
  type Caller,
  type CallerRooms,
  type Credentials,
  commonProfile,
  deprecationFor,
  type EventRecipient,
  isBearer,
  missingCredential,
  passThroughOf,
  recipientsOf,
  wrongCredential,
} from './caller.ts'
import { type Candidate, type Candidates, createDecoys, createVerification } from './guesses.ts'

/** A tenant's caller, and the declaration that it was made from. */
interface DeclaredCaller {
  readonly declared: string
  readonly caller: Caller
}

/** What a list of tenants says. */
interface Register extends Candidates {
  /** By the tenant's name. */
  readonly callers: ReadonlyMap<string, DeclaredCaller>
  readonly byNetwork: readonly { readonly networks: Networks; readonly caller: Caller }[]
  readonly recipients: readonly EventRecipient[]
}

/**
 * Identifies the callers of a gateway with several tenants, by their credentials, or by their networks if a call carries no credential. The
 * gateway verifies a tenant's own credential, and sends the tenant's other one to the service.
 */
export function tenantCredentials(rooms: CallerRooms, tenants: readonly Tenant[]) {
  const decoyOf = createDecoys()
  let register = registerOf(tenants, new Map())
  const { verify, renew } = createVerification(rooms.config.MAX_IN_FLIGHT, () => register)

  /** Unchanged tenants keep their callers. */
  function registerOf(list: readonly Tenant[], before: Register['callers']): Register {
    const callers = new Map<string, DeclaredCaller>()
    const fast = new Map<string, Candidate[]>()
    const slow = new Map<string, Candidate[]>()
    const byNetwork: { networks: Networks; caller: Caller }[] = []
    for (const tenant of list) {
      const declared = JSON.stringify(tenant)
      const known = before.get(tenant.name)
      const caller = known?.declared === declared ? known.caller : callerOf(tenant, rooms)
      callers.set(tenant.name, { declared, caller })
      for (const { id, secret_hash: hash } of tenant.credentials) {
        const byId = FAST_HASH.test(hash) ? fast : slow
        byId.set(id, [...(byId.get(id) ?? []), { hash, caller }])
      }
      if (tenant.networks.length > 0) byNetwork.push({ networks: compileNetworks(tenant.networks), caller })
    }
    const allSlow = [...slow.values()]
    return {
      has: (id) => fast.has(id) || slow.has(id),
      fast: (id) => fast.get(id) ?? [],
      slow: (id) => slow.get(id) ?? decoyOf(id, allSlow),
      callers,
      byNetwork,
      recipients: recipientsIn(list),
    }
  }

  function recognize(incoming: IncomingMessage, { source }: Share): Caller | undefined | Promise<Caller | undefined> {
    const { authorization } = incoming.headers
    // This gateway issues no tokens, so a token identifies no tenant.
    if (!authorization || isBearer(authorization)) {
      const caller = byAddress(source.address)
      if (caller) {
        // A browser on that network calls for any page that its user opens.
        rooms.browserChecks.demandOwnOrigin(incoming)
        rooms.browserChecks.demandOwnHost(incoming)
      }
      return caller
    }
    const pair = basicPair(authorization)
    return pair && verify(pair, incoming, source.name)
  }

  function byAddress(address: string): Caller | undefined {
    const narrowness = register.byNetwork.map(({ networks, caller }) => ({ caller, bits: networks.narrowest(address) }))
    const [best] = narrowness.filter(({ bits }) => bits >= 0).sort((one, other) => other.bits - one.bits)
    return best?.caller
  }

  async function identify(incoming: IncomingMessage, share: Share): Promise<Caller> {
    const caller = await recognize(incoming, share)
    if (caller) return caller
    throw basicPair(incoming.headers.authorization) ? wrongCredential() : missingCredential(incoming)
  }

  const credentials: Credentials = {
    mode: 'tenants',
    tenants: () => [...register.callers.keys()],
    identify,
    verified: async (incoming, share) => recognize(incoming, share),
    passThrough: async (incoming, _streams, share) => passThroughOf(await identify(incoming, share)),
    ownCaller: (tenant) => register.callers.get(tenant)?.caller,
    eventRecipients: () => register.recipients,
  }
  return {
    ...credentials,
    brownouts: () =>
      [...register.callers].map(([tenant, { caller }]) => ({ tenant, windows: caller.profile.deprecation.windows })),
    /** Replaces the list; unchanged tenants keep their tokens and limits. */
    replace: (list: readonly Tenant[]): void => {
      register = registerOf(list, register.callers)
      renew((caller) => register.callers.get(caller.tenant)?.caller === caller)
    },
  }
}

function recipientsIn(tenants: readonly Tenant[]): readonly EventRecipient[] {
  return tenants.flatMap(({ name, webhookSecrets, signingKeys, callback_url }) =>
    recipientsOf(name, webhookSecrets, signingKeys, callback_url !== undefined),
  )
}

function callerOf(tenant: Tenant, rooms: CallerRooms): Caller {
  const { name, v2, secret, limits } = tenant
  const common = commonProfile(rooms)
  const basic = basicOf(v2.client_id, secret)
  const account = accountAt(rooms, v2.base_url ?? rooms.config.V2_BASE_URL, {
    basic,
    pool: `tenant ${name} ${basic}`,
    scheme: v2.token ?? rooms.config.V2_TOKEN,
  })
  const profile = {
    settings: tenantSettings(tenant, common.settings),
    errorStatus: tenant.error_status ?? common.errorStatus,
    support: tenant.support_contact ?? common.support,
    synonyms: tenant.actions,
    deprecation: deprecationFor(rooms.config, tenant),
    limits: createLimits(limits.per_second, limits.concurrent),
  }
  return { tenant: name, credential: undefined, account, profile }
}

/** Returns the settings of a tenant's translations: its own, otherwise the common ones. */
export function tenantSettings(
  { defaults, shipment_number }: Pick<Tenant, 'defaults' | 'shipment_number'>,
  common: Settings,
): Settings {
  return {
    ...common,
    transport_type: defaults.transport_type ?? common.transport_type,
    vehicle_type: defaults.vehicle_type ?? common.vehicle_type,
    shipment_number: shipment_number ?? common.shipment_number,
  }
}
