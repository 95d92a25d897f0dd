import { randomUUID } from 'node:crypto'
import type { Allowed } from '../certify/run.ts'
import type { Config } from '../config/config.ts'
import { serviceAddress } from '../config/values.ts'
import { basicOf, basicPair } from '../service/basic.ts'
import { type OwnAccount, ownAccounts } from './auth.ts'
import { CommandFailed } from './failures.ts'

/** The options that say where and with which credential the service is tried. */
export interface Asked {
  readonly stage?: string | undefined
  readonly bookings?: boolean | undefined
  readonly tenant?: string | undefined
}

/** Returns the account to try the service with; throws where the operator has to choose. */
export async function certifiedAccount(config: Config, { tenant }: Asked): Promise<OwnAccount> {
  const accounts = await ownAccounts(config)
  const names = accounts.map((account) => account.tenant).join(', ')
  const [first, ...others] = tenant === undefined ? accounts : accounts.filter((account) => account.tenant === tenant)
  if (accounts.length === 0) {
    throw new CommandFailed(
      'there is no credential to try with; set V2_CLIENT_ID and V2_CLIENT_SECRET, or TENANTS_FILE',
    )
  }
  if (!first) throw new CommandFailed(`there is no tenant ${tenant}; the tenants are ${names}`)
  if (others.length > 0) throw new CommandFailed(`choose a tenant with --tenant: ${names}`)
  return first
}

/** Returns what the operator allows at an address; throws if the stage that they named is another address. */
export function allowedBy({ stage, bookings = false }: Asked, service: string): Allowed {
  if (stage === undefined) {
    if (!bookings) return { bookings, isStage: false }
    throw new CommandFailed(
      `--bookings needs --stage: name the address of the service, ${service}, if it is the stage and not production`,
    )
  }
  const named = serviceAddress.safeParse(stage)
  if (!named.success) throw new CommandFailed(`--stage ${stage} is no address of a service`)
  const { origin, prefix } = named.data
  if (origin + prefix !== service) {
    throw new CommandFailed(
      `--stage names ${origin + prefix}, but the gateway calls ${service}; set V2_BASE_URL, or base_url of the tenant, to the stage`,
    )
  }
  return { bookings, isStage: true }
}

/** Returns a credential of the same Client ID with a random secret. */
export function wrongCredentialOf({ basic }: OwnAccount): string {
  return basicOf(basicPair(basic)?.id ?? 'transload-test', randomUUID())
}
