import type { IncomingMessage } from 'node:http'
import { type BasicPair, basicOf, basicPair } from '../service/basic.ts'
import { credentialRefused } from '../service/failures.ts'
import { createAcceptedCredentials } from './accepted.ts'
import {
  accountAt,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  missingCredential,
} from './caller.ts'
import { createPassThrough } from './pass-through.ts'
import { createUnprovenCalls, enteredLimits } from './unproven-calls.ts'

/** Sends the caller's own credential to the service, which verifies it (docs/decisions/0016). */
export function clientCredentials(deps: CredentialsDeps): Credentials {
  const { config } = deps
  const profile = commonProfile(deps)
  const callers = createAcceptedCredentials<Caller>()
  const unproven = createUnprovenCalls<Caller>(deps)
  const decided = (header: string, isAccepted: boolean) =>
    unproven.decide(header, isAccepted ? undefined : credentialRefused())

  function open(header: string, { id, secret }: BasicPair): Caller {
    const make = (acceptance: Caller['account']['acceptance']): Caller => ({
      tenant: id,
      credential: basicOf(id, secret),
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

  async function arrive(incoming: IncomingMessage, header: string, known: Caller | undefined): Promise<Caller> {
    const pair = basicPair(header)
    if (!pair) throw missingCredential(incoming)
    const { shared, leave } = await unproven.enter(incoming, header, () => known ?? open(header, pair))
    return { ...shared, profile: { ...profile, limits: enteredLimits(leave) } }
  }

  return {
    mode: 'client',
    tenants: () => [],
    identify: (incoming) => {
      const { authorization } = incoming.headers
      if (!authorization) throw missingCredential(incoming)
      const known = callers.find(authorization)
      return known?.acceptance.isProven() ? known.value : arrive(incoming, authorization, known?.value)
    },
    verified: async () => undefined,
    passThrough: createPassThrough(deps),
  }
}
