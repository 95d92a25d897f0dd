import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { type GatewayError, gatewayError, RETRY_SOON, retryAfter } from '../../language/errors.ts'
import {
  type Acceptance,
  type Account,
  before,
  NO_SHIPMENT,
  type Scheme,
  trusted,
} from '../../outside/service/account.ts'
import { type BasicPair, basicOf, basicPair, hasControlCharacter } from '../../outside/service/credential.ts'
import { NoReply } from '../../outside/service/exchange.ts'
import { credentialRefused, refusal } from '../../outside/service/failures.ts'
import { accepts, type UpstreamReply } from '../../outside/service/reply.ts'
import { timeAsked } from '../../outside/service/retries.ts'
import { type Sender, type Sending, sendingOf, shipmentRead } from '../../outside/service/service.ts'
import type { Share } from '../../runtime/call.ts'
import { createTurns, type Turns } from '../limits/turns.ts'
import { BELOW_VERSION_2, version2Call } from '../routing.ts'
import {
  accountAt,
  type Caller,
  type CallerRooms,
  type Credentials,
  commonProfile,
  missingCredential,
  type OwnCaller,
  type PassThrough,
  type Prove,
  recipientsOf,
} from './caller.ts'

/** A credential that callers bring, and its account at the service. */
interface KnownCredential {
  readonly account: Account
  /** Undefined if the credential names no client. */
  readonly caller: Caller | undefined
  /** For all calls that pass through after the service has accepted the credential. */
  readonly accepted: PassThrough
}

/** Sends the caller's own credential to the service, which verifies it (docs/architecture.md). */
export function clientCredentials(rooms: CallerRooms): Credentials {
  const { config, prove } = rooms
  const profile = commonProfile(rooms)
  const translated = credentialsOf(config.V2_TOKEN, (turns, header, isAccepted) =>
    turns.decide(header, isAccepted ? undefined : credentialRefused(), isAccepted),
  )
  // Calls that pass through send the credential that they carry, of any scheme.
  const passed = credentialsOf('basic', (turns, header, isAccepted) => {
    // Each call needs a refusal of its own, because refusals are passed on unchanged.
    if (isAccepted) turns.decide(header, undefined, true)
  })

  function credentialsOf(
    scheme: Scheme,
    decide: (turns: Turns<KnownCredential>, header: string, isAccepted: boolean) => void,
  ) {
    const turns = createTurns<KnownCredential>({
      atOnce: AT_ONCE,
      atOnceOfSource: Math.min(AT_ONCE_OF_SOURCE, config.UPSTREAM_CONNECTIONS),
      calls: config.MAX_IN_FLIGHT,
    })
    const make = (header: string, acceptance: Acceptance) => {
      const account = accountAt(rooms, config.V2_BASE_URL, { basic: header, pool: header, scheme, acceptance })
      const pair = readablePair(header)
      const credential = pair && basicOf(pair.client, pair.secret)
      const caller = pair && { tenant: pair.client, credential, account, profile }
      return { account, caller, accepted: passThroughWith(header, account) }
    }
    const { kept, open } = createAcceptedCredentials<KnownCredential>(make, (header, isAccepted) =>
      decide(turns, header, isAccepted),
    )
    return {
      kept,
      enter: (incoming: IncomingMessage, { source }: Share, header: string) =>
        turns.enter(incoming, source.name, header, () => kept.get(header) ?? open(header)),
    }
  }

  function provenCaller(header: string): Caller | undefined {
    const known = translated.kept.get(header)
    return known?.account.acceptance.isProven() ? known.caller : undefined
  }

  async function arrive(incoming: IncomingMessage, share: Share, header: string): Promise<Caller> {
    if (!readablePair(header)) throw missingCredential(incoming)
    const { shared, leave } = await translated.enter(incoming, share, header)
    share.hold(leave)
    if (!shared.caller) throw missingCredential(incoming)
    return shared.caller
  }

  async function passUnproven(
    incoming: IncomingMessage,
    header: string,
    streams: boolean,
    share: Share,
  ): Promise<PassThrough> {
    const { shared, leave } = await passed.enter(incoming, share, header)
    const { account, caller, accepted } = shared
    const { method = '', url = '' } = incoming
    const ask = () => prove(sendingOf(account, config.UPSTREAM_TIMEOUT_MS))
    if (streams) {
      // The sender of an incomplete body could hold the turn for as long as it wants.
      try {
        await ask()
      } finally {
        leave()
      }
      return accepted
    }
    share.hold(leave)
    // A version-1 call may have proven the credential.
    const isProven = () => account.acceptance.isProven() || provenCaller(header) !== undefined
    // An approval's meaning for bookings is noted before it is sent, and nothing is noted for a stranger.
    if (caller && version2Call(method, url)?.verb === 'approve' && !isProven()) await ask()?.catch(() => undefined)
    return passThroughWith(header, { ...account, acceptance: { ...account.acceptance, isProven } }, leave)
  }

  const { WEBHOOK_CLIENT_ID: ownId, WEBHOOK_SECRET: secrets, WEBHOOK_SIGNING_SECRET: signingKeys } = config
  const own = ownCallerOf(rooms)
  const recipients = recipientsOf(ownId ?? NO_CLIENT, secrets, signingKeys)

  return {
    mode: 'client',
    tenants: () => [],
    identify: (incoming, share) => {
      const { authorization } = incoming.headers
      if (!authorization) throw missingCredential(incoming)
      return provenCaller(authorization) ?? arrive(incoming, share, authorization)
    },
    verified: async ({ headers: { authorization = '' } }) => provenCaller(authorization),
    passThrough: (incoming, streams, share) => {
      const header = incoming.headers.authorization
      if (header === undefined) return { ...config.V2_BASE_URL, ...NO_CREDENTIAL }
      const known = passed.kept.get(header)
      return known?.account.acceptance.isProven() ? known.accepted : passUnproven(incoming, header, streams, share)
    },
    ownCaller: (tenant) => (tenant === ownId ? own : undefined),
    eventRecipients: () => recipients,
  }
}

/** Returns the credential in a header; undefined if the gateway cannot read it. */
function readablePair(header: string): BasicPair | undefined {
  const pair = basicPair(header)
  return pair && !hasControlCharacter(pair.id) ? pair : undefined
}

/** The tenant of events without a Client ID. No Client ID is empty, so no credential can read them. */
const NO_CLIENT = ''

/** Returns the credential with which the gateway reads the shipments of events; undefined without one. */
function ownCallerOf(rooms: CallerRooms): OwnCaller | undefined {
  const { WEBHOOK_CLIENT_ID: id, WEBHOOK_CLIENT_SECRET: secret, V2_BASE_URL: address, V2_TOKEN: scheme } = rooms.config
  if (id === undefined || secret === undefined) return undefined
  const basic = basicOf(id, secret)
  return {
    account: accountAt(rooms, address, { basic, pool: `events ${basic}`, scheme }),
    profile: commonProfile(rooms),
  }
}

/** Calls without a credential share their connections. */
const NO_CREDENTIAL = { pool: '', acceptance: trusted, authorization: undefined, limits: undefined } as const

function passThroughWith(
  header: string,
  account: Account,
  /** Called once the service has answered: passing the reply on takes as long as its reader does. */
  answered?: () => void,
): PassThrough {
  const { origin, prefix, acceptance, pool } = account
  return {
    origin,
    prefix,
    acceptance,
    pool,
    tenant: readablePair(header)?.client,
    reader: account,
    authorization: header,
    learn: (_authorization, { status }, { method = '', url = '' }) => {
      answered?.()
      if (statusShowsAcceptance(method, url, status)) acceptance.accepted()
      else if (status === UNAUTHORIZED) acceptance.refused()
    },
    limits: undefined,
  }
}

const UNAUTHORIZED = 401
/** Paths that the service never serves without a credential. Other paths under `/v2/` may be public. */
const NEEDS_CREDENTIAL = /^\/v2\/(quote|shipments?)(\/|$)/

function statusShowsAcceptance(method: string, url: string, status: number): boolean {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  // The only other path that passes through is the token endpoint.
  const needsCredential = NEEDS_CREDENTIAL.test(path) || !BELOW_VERSION_2.test(path)
  return needsCredential && method !== 'OPTIONS' && accepts(method, path, status)
}

/** Each call of an unproven credential uses its own connection to the service. */
const AT_ONCE = 32
const AT_ONCE_OF_SOURCE = 8

/** How long after the last acceptance the service is asked again. */
const PROVEN_MS = 15 * 60_000
const KEPT = 10_000
const KEPT_BYTES = 32 * 1024 * 1024
/** The size of an account with its token and three encodings of the credential. */
const ACCOUNT_BYTES = 2_048
const SPELLINGS = 3
/** The least size that counts for an entry, which limits the number of entries. */
const LEAST_BYTES = Math.ceil(KEPT_BYTES / KEPT)

/**
 * Makes the cache of accepted credentials, by the `Authorization` header that carries them. Credentials that the service has not accepted
 * take no room in it.
 */
export function createAcceptedCredentials<T extends {}>(
  make: (header: string, acceptance: Acceptance) => T,
  /** Called with the service's verdict on a header. */
  decided: (header: string, isAccepted: boolean) => void,
) {
  const kept = new LRUCache<string, T>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (_entry, { length }) => Math.max(LEAST_BYTES, ACCOUNT_BYTES + SPELLINGS * length),
  })
  return {
    kept,
    /** Makes the entry of a header that is not accepted yet. Acceptance stores it, and a refusal removes it. */
    open: (header: string): T => {
      let provenUntil = Number.NEGATIVE_INFINITY
      const acceptance: Acceptance = {
        isProven: () => performance.now() < provenUntil,
        accepted: () => {
          const now = performance.now()
          const isProven = now < provenUntil && kept.peek(header) === entry
          provenUntil = now + PROVEN_MS
          // Nobody waits for the verdict on a proven credential.
          if (isProven) return
          kept.set(header, entry)
          decided(header, true)
        },
        refused: () => {
          provenUntil = Number.NEGATIVE_INFINITY
          if (kept.peek(header) === entry) kept.delete(header)
          decided(header, false)
        },
      }
      const entry = make(header, acceptance)
      return entry
    },
  }
}

/** Proves credentials. Concurrent calls with one credential share one proof, and each waits for it until its own deadline. */
export function createProve(service: Sender, timeoutMs: number): Prove {
  const underWay = new WeakMap<Account, Promise<void>>()
  const ask = async (sending: Sending): Promise<void> => {
    const { account } = sending
    let reply: UpstreamReply
    try {
      reply = await service.send(shipmentRead(NO_SHIPMENT), sending)
    } catch (error) {
      // A token that the service issued is proof enough.
      if (account.acceptance.isProven()) return
      throw error instanceof NoReply && error.silence !== 'unsent' && error.silence !== 'busy' ? notSaid(error) : error
    }
    if (account.acceptance.isProven()) return
    throw reply.status === 401 || reply.status === 403 ? refusal(reply) : undecided(reply)
  }
  return (sending) => {
    const { account } = sending
    if (account.acceptance.isProven()) return undefined
    let asked = underWay.get(account)
    if (!asked) {
      // The read may outlast the first call, so that a call that joins just before the first one gives up has its full time.
      const deadline = performance.now() + 2 * timeoutMs
      asked = ask({ ...sending, deadline }).finally(() => underWay.delete(account))
      underWay.set(account, asked)
    }
    return before(sending.deadline, asked, notSaid)
  }
}

const notSaid = (cause?: unknown) => gatewayError('service-unavailable/proof', {}, { cause, ...RETRY_SOON })

function undecided(reply: UpstreamReply): GatewayError {
  // A rate limit is answered with the service's own message.
  if (reply.status === 429) return refusal(reply)
  const later = timeAsked(reply.headers)
  const details = { serviceStatus: reply.status, ...(later === undefined ? RETRY_SOON : retryAfter(later)) }
  return gatewayError('service-unavailable/proof', {}, details)
}
