import { tenantSettings } from '../../edge/callers/tenants.ts'
import type { Config } from '../../language/config/config.ts'
import { readTenants } from '../../language/config/tenants-file.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { GatewayError } from '../../language/errors.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { type Account, NO_SHIPMENT, openAccount, type Scheme } from '../../outside/service/account.ts'
import { basicOf } from '../../outside/service/credential.ts'
import { exchange, NoReply } from '../../outside/service/exchange.ts'
import type { Upstream } from '../../outside/service/upstream.ts'
import { CommandFailed } from './failures.ts'
import { mappingsOf } from './open-store.ts'

/** A credential of the gateway's own at the service; the operator chose its scheme. */
type OwnAccount = ReturnType<typeof ownAccount>

function ownAccount(
  own: {
    readonly tenant: string
    readonly scheme: Scheme
    readonly address: Config['V2_BASE_URL']
    readonly settings: Settings
  },
  id: string,
  secret: string,
  timeoutMs: number,
) {
  const { tenant, address } = own
  const basic = basicOf(id, secret)
  return {
    ...own,
    /** As Basic authentication. */
    basic,
    /** False where a command beside the gateway lacks its secret. */
    hasSecret: secret !== '',
    open: (upstream: Upstream, scheme = own.scheme) =>
      openAccount({ upstream, ...address, basic, pool: tenant, scheme, timeoutMs }),
  }
}

/** Returns the configured accounts; none in client mode, where callers bring their own. See `readTenants` for `lacking`. */
export async function ownAccounts(config: Config, lacking?: string[]): Promise<readonly OwnAccount[]> {
  const { V2_CLIENT_ID: id, V2_CLIENT_SECRET: secret, TENANTS_FILE: file, UPSTREAM_TIMEOUT_MS: timeoutMs } = config
  const { V2_BASE_URL: address, V2_TOKEN: scheme } = config
  const common = translationSettings(config)
  if (file !== undefined) {
    return readTenants(file, await mappingsOf(config), process.env, lacking).map((tenant) => {
      const { client_id, base_url = address, token = scheme } = tenant.v2
      const settings = tenantSettings(tenant, common)
      const own = { tenant: tenant.name, address: base_url, scheme: token, settings }
      return ownAccount(own, client_id, tenant.secret, timeoutMs)
    })
  }
  if (id === undefined || secret === undefined) return []
  return [ownAccount({ tenant: id, address, scheme, settings: common }, id, secret, timeoutMs)]
}

/** Returns the account of a tenant, or the only one. */
export async function chosenAccount(config: Config, tenant: string | undefined): Promise<OwnAccount> {
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

/** Tries a credential at the service with a read that finds nothing. */
export async function attempt(account: Account, upstream: Upstream, timeoutMs: number) {
  const deadline = performance.now() + timeoutMs
  try {
    const { status } = await account.authorized(deadline, (authorization) =>
      exchange(upstream.line(account), {
        method: 'GET',
        path: `${account.prefix}/v2/shipments/${NO_SHIPMENT}`,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', authorization },
        deadline,
      }),
    )
    const accepted = status !== 401 && status !== 403 && status < 500
    return { accepted, outcome: accepted ? 'accepted' : `refused (${status})` }
  } catch (error) {
    if (error instanceof GatewayError) return { accepted: false, outcome: `no token (${error.status})` }
    if (error instanceof NoReply) return { accepted: false, outcome: error.message }
    throw error
  }
}
