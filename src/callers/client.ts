import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Share } from '../observe/call.ts'
import type { Acceptance, Account } from '../service/account.ts'
import { type BasicPair, basicOf, basicPair, hasControlCharacter } from '../service/credential.ts'
import { credentialRefused } from '../service/failures.ts'
import { accepts } from '../service/service.ts'
import {
  accountAt,
  asksForToken,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  missingCredential,
  type OwnCaller,
  type PassThrough,
  recipientsOf,
} from './caller.ts'
import { createTurns, unlimited } from './limits.ts'
import { sourceOf } from './source-address.ts'

/** Sends the caller's own credential to the service, which verifies it (docs/architecture.md). */
export function clientCredentials(deps: CredentialsDeps): Credentials {
  const { config } = deps
  const profile = commonProfile(deps)
  const callers = createAcceptedCredentials<Caller>()
  const unproven = createTurns<Caller>(unprovenTurns(config))
  const decided = (header: string, isAccepted: boolean) =>
    unproven.decide(header, isAccepted ? undefined : credentialRefused(), isAccepted)

  function open(header: string, { client, secret }: BasicPair): Caller {
    const make = (acceptance: Caller['account']['acceptance']): Caller => ({
      tenant: client,
      credential: basicOf(client, secret),
      account: accountAt(deps, config.V2_BASE_URL, {
        basic: header,
        pool: header,
        scheme: config.V2_TOKEN,
        acceptance,
      }),
      profile,
    })
    return callers.open(header, make, decided).value
  }

  async function arrive(
    incoming: IncomingMessage,
    share: Share,
    header: string,
    known: Caller | undefined,
  ): Promise<Caller> {
    const pair = basicPair(header)
    if (!pair || hasControlCharacter(pair.id)) throw missingCredential(incoming)
    const source = sourceOf(deps.addressOf(incoming))
    const { shared, leave } = await unproven.enter(incoming, source, header, () => known ?? open(header, pair))
    share.hold(leave)
    return shared
  }

  const { WEBHOOK_CLIENT_ID: ownId, WEBHOOK_SECRET: secrets, WEBHOOK_SIGNING_SECRET: signingKeys } = config
  const own = ownCallerOf(deps)
  const recipients = recipientsOf(ownId ?? NO_CLIENT, { secrets, signingKeys })

  return {
    mode: 'client',
    tenants: () => [],
    identify: (incoming, share) => {
      const { authorization } = incoming.headers
      if (!authorization) throw missingCredential(incoming)
      const known = callers.find(authorization)
      return known?.acceptance.isProven() ? known.value : arrive(incoming, share, authorization, known?.value)
    },
    verified: async () => undefined,
    passThrough: createPassThrough(deps),
    ownCaller: (tenant) => (tenant === ownId ? own : undefined),
    eventRecipients: () => recipients,
  }
}

/** The tenant of events that no credential can read; no Client ID is empty. */
const NO_CLIENT = ''

/** Returns the credential with which the gateway reads the shipments of events; undefined without one. */
function ownCallerOf(deps: CredentialsDeps): OwnCaller | undefined {
  const { WEBHOOK_CLIENT_ID: id, WEBHOOK_CLIENT_SECRET: secret, V2_BASE_URL: address, V2_TOKEN: scheme } = deps.config
  if (id === undefined || secret === undefined) return undefined
  const basic = basicOf(id, secret)
  return { account: accountAt(deps, address, { basic, pool: `events ${basic}`, scheme }), profile: commonProfile(deps) }
}

/** The connections and the credential for calls with one `Authorization` header. */
interface PassedCredential {
  readonly account: Account
  /** The pass-through of calls once the service has accepted the credential; the same for all of them. */
  readonly accepted: PassThrough
}

/** Passes calls through with the credential that they carry, of any scheme. */
export function createPassThrough(deps: CredentialsDeps): Credentials['passThrough'] {
  const { config, prove } = deps
  const passed = createAcceptedCredentials<PassedCredential>()
  const unproven = createTurns<PassedCredential>(unprovenTurns(config))
  const decided = (header: string, isAccepted: boolean) => {
    // A refusal is passed on unchanged, so each call needs its own.
    if (isAccepted) unproven.decide(header, undefined, true)
  }
  const open = (header: string) => {
    const make = (acceptance: Acceptance): PassedCredential => {
      const options = { basic: header, pool: header, scheme: 'basic', acceptance } as const
      const account = accountAt(deps, config.V2_BASE_URL, options)
      return { account, accepted: passThroughWith(header, account) }
    }
    return passed.open(header, make, decided).value
  }

  return (incoming, streams, share) => {
    const header = incoming.headers.authorization
    if (header === undefined) return { ...config.V2_BASE_URL, ...NO_CREDENTIAL }
    const known = passed.find(header)
    return known?.acceptance.isProven() ? known.value.accepted : unprovenCall(incoming, header, streams, share)
  }

  async function unprovenCall(
    incoming: IncomingMessage,
    header: string,
    streams: boolean,
    share: Share,
  ): Promise<PassThrough> {
    const make = () => passed.find(header)?.value ?? open(header)
    const { shared, leave } = await unproven.enter(incoming, sourceOf(deps.addressOf(incoming)), header, make)
    if (!streams) {
      share.hold(leave)
      return passThroughWith(header, shared.account, leave)
    }
    // The sender of an incomplete body could hold the turn for as long as it wants.
    const deadline = performance.now() + config.UPSTREAM_TIMEOUT_MS
    try {
      await prove({ account: shared.account, deadline, requestId: randomUUID() })
    } finally {
      leave()
    }
    return shared.accepted
  }
}

/** Calls without a credential share their connections. */
const NO_CREDENTIAL = { pool: () => '', authorization: undefined, limits: unlimited } as const

function passThroughWith(
  header: string,
  { origin, prefix, acceptance, pool }: Account,
  answered: () => void = () => undefined,
): PassThrough {
  const pair = basicPair(header)
  return {
    origin,
    prefix,
    acceptance,
    pool,
    tenant: pair && !hasControlCharacter(pair.id) ? pair.client : undefined,
    authorization: () => header,
    learn: (_authorization, { status }, { method = '', url = '' }) => {
      // Passing the reply on takes as long as its reader does.
      answered()
      if (showsAcceptance(method, url, status)) acceptance.accepted()
      else if (status === UNAUTHORIZED) acceptance.refused()
    },
    limits: unlimited,
  }
}

const UNAUTHORIZED = 401
/** Paths that the service never serves without a credential. Other paths under `/v2/` may be public. */
const NEEDS_CREDENTIAL = /^\/v2\/(quote|shipments?)(\/|$)/

function showsAcceptance(method: string, url: string, status: number): boolean {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  return (NEEDS_CREDENTIAL.test(path) || asksForToken(path)) && method !== 'OPTIONS' && accepts(method, path, status)
}

/** Each call of an unproven credential uses its own connection to the service. */
const AT_ONCE = 32
const AT_ONCE_OF_SOURCE = 8

const unprovenTurns = ({ MAX_IN_FLIGHT, UPSTREAM_CONNECTIONS }: CredentialsDeps['config']) => ({
  atOnce: AT_ONCE,
  atOnceOfSource: Math.min(AT_ONCE_OF_SOURCE, UPSTREAM_CONNECTIONS),
  calls: MAX_IN_FLIGHT,
})

/** A credential that the service has accepted in this process, with its account. */
interface Accepted<T> {
  readonly value: T
  readonly acceptance: Acceptance
}

/** Accepted credentials, by the `Authorization` header that carries them. */
interface AcceptedCredentials<T> {
  readonly find: (header: string) => Accepted<T> | undefined
  /**
   * Makes the entry of a header that is not accepted yet. Acceptance stores it, and a refusal removes it again.
   * `decided` is called for both.
   */
  readonly open: (header: string, value: (acceptance: Acceptance) => T, decided?: Decided) => Accepted<T>
}

/** Called with the service's verdict on a header. */
type Decided = (header: string, isAccepted: boolean) => void

/** Time after the last acceptance until the service is asked again. */
const PROVEN_MS = 15 * 60_000
const KEPT = 10_000
const KEPT_BYTES = 32 * 1024 * 1024
/** The size of an account with its token and three encodings of the credential. */
const ACCOUNT_BYTES = 2_048
const SPELLINGS = 3
/** The size that counts for a small entry: it limits their number. */
const LEAST_BYTES = Math.ceil(KEPT_BYTES / KEPT)

/** Makes the cache of accepted credentials; a credential that the service has not accepted takes no place in it. */
export function createAcceptedCredentials<T>(): AcceptedCredentials<T> {
  const kept = new LRUCache<string, Accepted<T>>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (_entry, { length }) => Math.max(LEAST_BYTES, ACCOUNT_BYTES + SPELLINGS * length),
  })
  return {
    find: (header) => kept.get(header),
    open: (header, value, decided = () => undefined) => {
      let provenUntil = Number.NEGATIVE_INFINITY
      const acceptance: Acceptance = {
        isProven: () => performance.now() < provenUntil,
        accepted: () => {
          provenUntil = performance.now() + PROVEN_MS
          if (kept.peek(header) !== entry) kept.set(header, entry)
          decided(header, true)
        },
        refused: () => {
          provenUntil = Number.NEGATIVE_INFINITY
          if (kept.peek(header) === entry) kept.delete(header)
          decided(header, false)
        },
      }
      const entry: Accepted<T> = { value: value(acceptance), acceptance }
      return entry
    },
  }
}
