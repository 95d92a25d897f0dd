import { basicOf } from '../service/basic.ts'
import {
  accountAt,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonProfile,
  passThroughOf,
  refuseTokens,
} from './caller.ts'
import { recipientsOf } from './events.ts'

/** Sends one credential to the service instead of the caller's: the gateway is the sidecar of one application. */
export function fixedCredentials(deps: CredentialsDeps, id: string, secret: string): Credentials {
  const basic = basicOf(id, secret)
  const { V2_BASE_URL: address, V2_TOKEN: scheme } = deps.config
  const account = accountAt(deps, address, { basic, pool: basic, scheme })
  const caller: Caller = { tenant: id, credential: undefined, account, profile: commonProfile(deps) }
  const { WEBHOOK_SECRET: secrets, WEBHOOK_SIGNING_SECRET: signingKeys } = deps.config
  const recipients = recipientsOf(id, { secrets, signingKeys })
  return {
    mode: 'fixed',
    tenants: () => [id],
    identify: () => caller,
    verified: async () => caller,
    passThrough: async (incoming) => {
      refuseTokens(incoming)
      return passThroughOf(caller)
    },
    ownCaller: (tenant) => (tenant === id ? caller : undefined),
    eventRecipients: () => recipients,
  }
}
