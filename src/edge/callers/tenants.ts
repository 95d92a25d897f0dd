import { createHmac, createSecretKey, hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { FAST_HASH, MADE_SECRET, parseSecretHash, type Tenant } from '../../language/config/tenants-file.ts'
import { type Deprecation, deprecationOf } from '../../language/deprecation.ts'
import { gatewayError } from '../../language/errors.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { compileNetworks, type Networks } from '../../language/networks.ts'
import { type BasicPair, basicOf, basicPair } from '../../outside/service/credential.ts'
import type { Share } from '../../runtime/call.ts'
import { createBoundedCache } from '../../runtime/collections.ts'
import {
  accountAt,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  type DeprecationConfig,
  type EventRecipient,
  isBearer,
  missingCredential,
  passThroughOf,
  recipientsOf,
  refuseTokens,
  wrongCredential,
} from './caller.ts'
import { createLimits, createTurns } from './limits.ts'

/**
 * The callers of a shared edge: the gateway verifies a tenant's own credential, and sends the tenant's other one to
 * the service.
 */
interface TenantCredentials extends Credentials {
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
    const slow = all
      .map((some) => some.filter(({ hash: text }) => !FAST_HASH.test(text)))
      .filter((some) => some.length > 0)
    return {
      has: (id) => byId.has(id),
      fast: (id) => byId.get(id)?.filter(({ hash: text }) => FAST_HASH.test(text)) ?? [],
      slow: (id) => {
        const own = byId.get(id)?.filter(({ hash: text }) => !FAST_HASH.test(text)) ?? []
        return own.length > 0 ? own : decoyOf(id, slow)
      },
      byNetwork,
    }
  }

  function recognize(incoming: IncomingMessage, { source }: Share): Caller | undefined | Promise<Caller | undefined> {
    const { authorization } = incoming.headers
    // This gateway issues no tokens, so a token identifies no tenant.
    if (!authorization || isBearer(authorization)) {
      const caller = byAddress(source.address)
      if (caller) {
        // A browser of that network calls for any page that its user opens.
        deps.browserChecks.demandOwnOrigin(incoming)
        deps.browserChecks.demandOwnHost(incoming)
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

  return {
    mode: 'tenants',
    tenants: () => [...callers.keys()],
    identify,
    verified: async (incoming, share) => recognize(incoming, share),
    passThrough: async (incoming, _streams, share) => {
      refuseTokens(incoming)
      return passThroughOf(await identify(incoming, share))
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
    retiredFrom: tenant.retired_from === 'never' ? undefined : (tenant.retired_from ?? config.RETIRED_FROM),
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
    support: tenant.support_contact ?? common.support,
    synonyms: tenant.actions,
    deprecation: tenantDeprecation(tenant, deps.config),
    limits: createLimits({ perSecond: limits.per_second, concurrent: limits.concurrent }),
  }
  return { tenant: name, credential: undefined, account, profile }
}

/** Returns the settings of a tenant's translations: its own, else those of all. */
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

/** A hash that the secret of an id may match, and the caller that the secret proves; undefined for a decoy. */
interface Candidate {
  readonly hash: string
  readonly caller: Caller | undefined
}

/** The credentials of a tenants file. */
interface Candidates {
  readonly has: (id: string) => boolean
  /** Those of secrets that the gateway has made. */
  readonly fast: (id: string) => readonly Candidate[]
  /** Never empty: an unknown id has candidates too, so refusing it takes as long. */
  readonly slow: (id: string) => readonly Candidate[]
}

/** Verifies each credential once by its slow hash. */
interface Verification {
  /** Returns the caller; undefined if the credential is wrong. Throws if the credential was not checked. */
  readonly verify: (
    pair: Pick<BasicPair, 'id' | 'secret'>,
    incoming: IncomingMessage,
    source: string,
  ) => Caller | undefined | Promise<Caller | undefined>
  /** Forgets wrong credentials, and verified ones of removed callers. */
  readonly renew: (isCurrent: (caller: Caller) => boolean) => void
}

/** Begins the names of lanes of ids that no tenant has. */
const UNKNOWN = '? '
const VERIFIED_KEPT = 100_000
/** Wrong secrets for one id from one source per period; further guesses are refused unchecked. */
const GUESSES = 10
/** Wrong secrets for all ids together from one source per period: invented ids cost the sender nothing. */
const GUESSES_OF_SOURCE = 20
const GUESSES_WINDOW_MS = 60_000
const GUESSES_KEPT = 10_000

/** At least two of libuv's four threads stay free for DNS and files. */
const HASHES_AT_ONCE = Math.min(2, availableParallelism())
/** After a start, the first call of every tenant waits here; callers in PHP wait a minute for an answer. */
const HASH_WAIT_MS = 55_000

/** Verifies credentials against the candidates that `current` returns. */
function createVerification(
  { config: { MAX_IN_FLIGHT } }: Pick<CredentialsDeps, 'config'>,
  current: () => Candidates,
): Verification {
  // A key of this process makes the remembered values useless elsewhere.
  const key = createSecretKey(randomBytes(32))
  const digest = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const verified = createBoundedCache<string, Caller>(VERIFIED_KEPT)
  // An old secret that is sent again and again uses no guesses and no hashing time.
  const refused = createBoundedCache<string, true>(GUESSES_KEPT, { ttl: GUESSES_WINDOW_MS })
  const guesses = createBoundedCache<string, number>(GUESSES_KEPT, { ttl: GUESSES_WINDOW_MS, noUpdateTTL: true })
  // Calls with one credential share one hash.
  const hashes = createTurns<undefined>({
    atOnce: HASHES_AT_ONCE,
    atOnceOfSource: HASHES_AT_ONCE,
    calls: MAX_IN_FLIGHT,
    // A source that has sent no wrong secret comes before those that have, and a known id before an unknown one.
    rankOf: (lane) =>
      (lane.startsWith(UNKNOWN) ? GUESSES_OF_SOURCE : 0) + (guesses.peek(digest(lane.replace(UNKNOWN, ''))) ?? 0),
    waitMs: HASH_WAIT_MS,
  })

  async function check(
    pair: Pick<BasicPair, 'id' | 'secret'>,
    id: string,
    incoming: IncomingMessage,
    source: string,
  ): Promise<Caller | undefined> {
    const guessers = [
      [digest(`${source} ${pair.id}`), GUESSES],
      [digest(source), GUESSES_OF_SOURCE],
    ] as const
    demandGuesses(guessers)
    const lane = current().has(pair.id) ? source : UNKNOWN + source
    const { leave } = await hashes.enter(incoming, lane, id, () => undefined)
    try {
      const known = verified.get(id)
      if (known || refused.has(id)) return known
      demandGuesses(guessers)
      return await decide(pair, id, guessers)
    } finally {
      leave()
    }
  }

  type Guessers = readonly (readonly [guesser: string, most: number])[]

  function demandGuesses(guessers: Guessers): void {
    for (const [guesser, most] of guessers) if ((guesses.get(guesser) ?? 0) >= most) throw tooManyGuesses()
  }

  function count(guessers: Guessers, by: number): void {
    for (const [guesser] of guessers) guesses.set(guesser, Math.max(0, (guesses.get(guesser) ?? 0) + by))
  }

  /** Counts a guess before its result is known, because concurrent guesses count too. */
  async function decide(
    pair: Pick<BasicPair, 'id' | 'secret'>,
    id: string,
    guessers: Guessers,
  ): Promise<Caller | undefined> {
    const asked = current()
    count(guessers, 1)
    const caller = await callerMatching(pair.secret, asked.slow(pair.id))
    if (caller) count(guessers, -1)
    // A result from a list that was replaced in the meantime is not remembered.
    if (asked !== current()) return caller
    if (caller) verified.set(id, caller)
    else refused.set(id, true)
    hashes.decide(id)
    return caller
  }

  return {
    verify: (pair, incoming, source) => {
      const id = digest(basicOf(pair.id, pair.secret))
      const known = verified.get(id)
      if (known || refused.has(id)) return known
      // The form of the secret alone decides how it is checked, so the time tells nothing about the id.
      if (!MADE_SECRET.test(pair.secret)) return check(pair, id, incoming, source)
      const made = fastHash(pair.secret)
      const match = current()
        .fast(pair.id)
        .find(({ hash: text }) => isSame(text, made))
      if (match?.caller) verified.set(id, match.caller)
      return match?.caller
    },
    renew: (isCurrent) => {
      // Tenants that did not change need no new slow hash.
      for (const [id, caller] of verified) if (!isCurrent(caller)) verified.delete(id)
      refused.clear()
      guesses.clear()
    },
  }
}

async function callerMatching(secret: string, candidates: readonly Candidate[]): Promise<Caller | undefined> {
  for (const { hash, caller } of candidates) if (await matchesHash(secret, hash)) return caller
  return undefined
}

const tooManyGuesses = () => gatewayError('too-many-calls/secrets', {}, { headers: { 'Retry-After': '60' } })

const MADE_BYTES = 32

/** Makes a secret that needs no slow hash. */
export const makeSecret = (): string => `tl_${randomBytes(MADE_BYTES).toString('base64url')}`

/** Returns the hash of a secret that the gateway has made. */
const fastHash = (secret: string): string => `$sha256$${hash('sha256', secret, 'base64').replace(/=+$/, '')}`

const isSame = (one: string, other: string) =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

/** The cost of a hash: 2^15 rounds of 1 KiB, about 0.1 s and 32 MiB. */
const COST_LOG2 = 15
const BLOCK = 8
const PARALLEL = 1
const SALT_BYTES = 16
const HASH_BYTES = 32
/** The memory limit of scrypt: 128 bytes per block and round, with a margin. */
const MEMORY_BYTES = 256 * 1024 * 1024

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/**
 * Returns the hash of a secret for the tenants file: a salted, slow one as a PHC string, `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`, or
 * `$sha256$<hash>` for a secret that the gateway has made.
 */
export async function hashSecret(secret: string): Promise<string> {
  if (MADE_SECRET.test(secret)) return fastHash(secret)
  const salt = randomBytes(SALT_BYTES)
  const derived = await derive(secret, salt, HASH_BYTES, {
    N: 2 ** COST_LOG2,
    r: BLOCK,
    p: PARALLEL,
    maxmem: MEMORY_BYTES,
  })
  return `$scrypt$ln=${COST_LOG2},r=${BLOCK},p=${PARALLEL}$${base64(salt)}$${base64(derived)}`
}

/** Returns true if the secret has this hash; takes the same time either way. */
export async function matchesHash(secret: string, text: string): Promise<boolean> {
  const parsed = parseSecretHash(text)
  if (!parsed) return false
  const { costLog2, block, parallel, salt, hash } = parsed
  const options = { N: 2 ** costLog2, r: block, p: parallel, maxmem: MEMORY_BYTES }
  return timingSafeEqual(await derive(secret, salt, hash.length, options), hash)
}

/** PHC strings carry no padding. */
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
