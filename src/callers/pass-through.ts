import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Acceptance } from '../service/acceptance.ts'
import type { Account } from '../service/account.ts'
import { basicPair, hasControlCharacter } from '../service/basic.ts'
import { accepts } from '../service/service.ts'
import { createAcceptedCredentials } from './accepted.ts'
import { accountAt, asksForToken, type Credentials, type CredentialsDeps, type PassThrough } from './caller.ts'
import { type Limits, unlimited } from './limits.ts'
import { createUnprovenCalls, enteredLimits } from './unproven-calls.ts'

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
  const unproven = createUnprovenCalls<PassedCredential>(deps)
  const decided = (header: string, isAccepted: boolean) => {
    // A refusal is passed on unchanged, so each call needs its own.
    if (isAccepted) unproven.decide(header, undefined)
  }
  const open = (header: string) => {
    const make = (acceptance: Acceptance): PassedCredential => {
      const options = { basic: header, pool: header, scheme: 'basic', acceptance } as const
      const account = accountAt(deps, config.V2_BASE_URL, options)
      return { account, accepted: passThroughWith(header, account, unlimited) }
    }
    return passed.open(header, make, decided).value
  }

  return (incoming, streams) => {
    const header = incoming.headers.authorization
    if (header === undefined) return { ...config.V2_BASE_URL, ...NO_CREDENTIAL }
    const known = passed.find(header)
    return known?.acceptance.isProven() ? known.value.accepted : unprovenCall(incoming, header, streams)
  }

  async function unprovenCall(incoming: IncomingMessage, header: string, streams: boolean): Promise<PassThrough> {
    const make = () => passed.find(header)?.value ?? open(header)
    const { shared, leave } = await unproven.enter(incoming, header, make)
    if (!streams) return passThroughWith(header, shared.account, enteredLimits(leave), leave)
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
  limits: Limits,
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
    limits,
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
