import { tenantSettings } from '../../edge/callers/tenants.ts'
import type { Config } from '../../language/config/config.ts'
import { readTenants } from '../../language/config/tenants-file.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { GatewayError } from '../../language/errors.ts'
import { type Account, NO_SHIPMENT, openAccount, type Scheme } from '../../outside/service/account.ts'
import { basicOf } from '../../outside/service/credential.ts'
import { NoReply } from '../../outside/service/exchange.ts'
import { createService, sendingOf, shipmentRead, showsAcceptance } from '../../outside/service/service.ts'
import type { Upstream } from '../../outside/service/upstream.ts'
import { CommandFailed } from './failures.ts'
import { mappingsOf } from './open-store.ts'

/** Returns the configured accounts; in client mode, only the one that reads the shipments of events. See `readTenants` for `lacking`. */
export async function ownAccounts(config: Config, lacking?: string[]) {
  const { WEBHOOK_CLIENT_ID, WEBHOOK_CLIENT_SECRET, TENANTS_FILE, UPSTREAM_TIMEOUT_MS: timeoutMs } = config
  const { V2_CLIENT_ID = WEBHOOK_CLIENT_ID, V2_CLIENT_SECRET = WEBHOOK_CLIENT_SECRET } = config
  const common = translationSettings(config)
  const accountOf = (
    tenant: string,
    id: string,
    secret: string,
    settings = common,
    address = config.V2_BASE_URL,
    scheme = config.V2_TOKEN,
  ) => {
    /** As Basic authentication. */
    const basic = basicOf(id, secret)
    const open = (upstream: Upstream, as: Scheme = scheme) =>
      openAccount({ upstream, ...address, basic, pool: tenant, scheme: as, timeoutMs })
    /** A command beside the gateway may lack the secret. */
    const hasSecret = secret !== ''
    return { tenant, settings, address, scheme, basic, hasSecret, open }
  }
  if (TENANTS_FILE !== undefined) {
    const tenants = readTenants(TENANTS_FILE, await mappingsOf(config), process.env, lacking)
    return tenants.map((tenant) => {
      const { client_id, base_url, token } = tenant.v2
      return accountOf(tenant.name, client_id, tenant.secret, tenantSettings(tenant, common), base_url, token)
    })
  }
  if (V2_CLIENT_ID === undefined || V2_CLIENT_SECRET === undefined) return []
  return [accountOf(V2_CLIENT_ID, V2_CLIENT_ID, V2_CLIENT_SECRET)]
}

/** Returns the account of a tenant, or the only one. */
export async function chosenAccount(config: Config, tenant: string | undefined) {
  // In client mode, the account of events only reads.
  const accounts = await ownAccounts({ ...config, WEBHOOK_CLIENT_ID: undefined })
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
export async function attempt(account: Account, upstream: Upstream, config: Config) {
  const request = shipmentRead(NO_SHIPMENT)
  try {
    // Its own client, so that no earlier failure has opened its circuit.
    const reply = await createService(config, upstream).send(request, sendingOf(account, config.UPSTREAM_TIMEOUT_MS))
    const { status } = reply
    const accepted = showsAcceptance(request.method, request.path, reply)
    const isRefused = status === 401 || status === 403
    return { accepted, outcome: accepted ? 'accepted' : `${isRefused ? 'refused' : 'no verdict'} (${status})` }
  } catch (error) {
    // Whichever of the two deadlines for a token came first.
    const isLate = error instanceof GatewayError && error.about === 'login-failed/silent'
    const silence = error instanceof GatewayError ? error.cause : error
    if (silence instanceof NoReply && !isLate) return { accepted: false, outcome: silence.message }
    if (!(error instanceof GatewayError)) throw error
    const why = isLate ? 'no reply in time' : 'the reply has none'
    return { accepted: false, outcome: `no token (${error.serviceStatus ?? why})` }
  }
}
