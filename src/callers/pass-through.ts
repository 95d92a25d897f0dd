import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Acceptance } from '../service/acceptance.ts'
import type { Account } from '../service/account.ts'
import { basicPair } from '../service/basic.ts'
import { accepts } from '../service/service.ts'
import { createAcceptedCredentials } from './accepted.ts'
import { accountAt, asksForToken, type Credentials, type CredentialsDeps, type PassThrough } from './caller.ts'
import { type Limits, unlimited } from './limits.ts'
import { createUnprovenCalls, enteredLimits } from './unproven-calls.ts'

/** The connections and the credential for calls with one `Authorization` header. */
interface PassedCredential {
  readonly tenant: string | undefined
  readonly account: Account
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
    const make = (acceptance: Acceptance): PassedCredential => ({
      tenant: basicPair(header)?.id,
      account: accountAt(deps, config.V2_BASE_URL, { basic: header, pool: header, scheme: 'basic', acceptance }),
    })
    return passed.open(header, make, decided).value
  }

  return async (incoming, streams) => {
    const header = incoming.headers.authorization
    if (header === undefined) return { ...config.V2_BASE_URL, ...NO_CREDENTIAL }
    const known = passed.find(header)
    if (known?.acceptance.isProven()) return passThroughWith(incoming, header, known.value, unlimited)
    const { shared, leave } = await unproven.enter(incoming, header, () => known?.value ?? open(header))
    if (!streams) return passThroughWith(incoming, header, shared, enteredLimits(leave), leave)
    // The sender of an incomplete body could hold the turn for as long as it wants.
    const deadline = performance.now() + config.UPSTREAM_TIMEOUT_MS
    try {
      await prove({ account: shared.account, deadline, requestId: randomUUID() })
    } finally {
      leave()
    }
    return passThroughWith(incoming, header, shared, unlimited)
  }
}

/** Calls without a credential share their connections. */
const NO_CREDENTIAL = { pool: '', authorization: undefined, limits: unlimited } as const

function passThroughWith(
  { method = '', url = '' }: IncomingMessage,
  header: string,
  { tenant, account }: PassedCredential,
  limits: Limits,
  answered: () => void = () => undefined,
): PassThrough {
  const { origin, prefix, acceptance } = account
  return {
    origin,
    prefix,
    acceptance,
    pool: account.pool(),
    tenant,
    authorization: async () => header,
    learn: (_authorization, { status }) => {
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
  const [path = ''] = url.split('?', 1)
  return (NEEDS_CREDENTIAL.test(path) || asksForToken(path)) && method !== 'OPTIONS' && accepts(method, path, status)
}
