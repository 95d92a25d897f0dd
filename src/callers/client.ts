import type { IncomingMessage } from 'node:http'
import { type BasicPair, basicOf, basicPair, hasControlCharacter } from '../service/basic.ts'
import { credentialRefused } from '../service/failures.ts'
import { createAcceptedCredentials } from './accepted.ts'
import {
  accountAt,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  missingCredential,
  type OwnCaller,
} from './caller.ts'
import { recipientsOf } from './events.ts'
import { createPassThrough } from './pass-through.ts'
import { createUnprovenCalls, enteredLimits } from './unproven-calls.ts'

/** Sends the caller's own credential to the service, which verifies it (docs/architecture.md). */
export function clientCredentials(deps: CredentialsDeps): Credentials {
  const { config } = deps
  const profile = commonProfile(deps)
  const callers = createAcceptedCredentials<Caller>()
  const unproven = createUnprovenCalls<Caller>(deps)
  const decided = (header: string, isAccepted: boolean) =>
    unproven.decide(header, isAccepted ? undefined : credentialRefused())

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

  async function arrive(incoming: IncomingMessage, header: string, known: Caller | undefined): Promise<Caller> {
    const pair = basicPair(header)
    if (!pair || hasControlCharacter(pair.id)) throw missingCredential(incoming)
    const { shared, leave } = await unproven.enter(incoming, header, () => known ?? open(header, pair))
    return { ...shared, profile: { ...profile, limits: enteredLimits(leave) } }
  }

  const { WEBHOOK_CLIENT_ID: ownId, WEBHOOK_SECRET: secrets, WEBHOOK_SIGNING_SECRET: signingKeys } = config
  const own = ownCallerOf(deps)
  const recipients = recipientsOf(ownId ?? NO_CLIENT, { secrets, signingKeys })

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
