import { tenantSettings } from '../callers/tenants.ts'
import type { Config } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants } from '../config/tenants-file.ts'
import { translationSettings } from '../config/translation-settings.ts'
import type { Settings } from '../mapping/settings.ts'
import { type Account, openAccount, type Scheme } from '../service/account.ts'
import { basicOf } from '../service/basic.ts'
import type { Upstream } from '../service/upstream.ts'

/** A credential of the gateway's own at the service. */
export interface OwnAccount {
  readonly tenant: string
  /** The scheme that the operator chose for it. */
  readonly scheme: Scheme
  /** The credential as Basic authentication. */
  readonly basic: string
  readonly address: Config['V2_BASE_URL']
  readonly open: (upstream: Upstream, scheme: Scheme) => Account
  /** The settings of its translations. */
  readonly settings: Settings
  /** More `ActionName`s: name → action. */
  readonly synonyms: Readonly<Record<string, string>>
}

/** Returns the configured accounts; none in client mode, where callers bring their own. */
export async function ownAccounts(config: Config): Promise<readonly OwnAccount[]> {
  const { V2_CLIENT_ID: id, V2_CLIENT_SECRET: secret, TENANTS_FILE: file } = config
  const common = { settings: translationSettings(config), synonyms: {} }
  const account = (
    tenant: string,
    basic: string,
    address: Config['V2_BASE_URL'] = config.V2_BASE_URL,
    own: Scheme = config.V2_TOKEN,
    profile: Pick<OwnAccount, 'settings' | 'synonyms'> = common,
  ): OwnAccount => ({
    tenant,
    ...profile,
    scheme: own,
    basic,
    address,
    open: (upstream, scheme) =>
      openAccount({ upstream, ...address, basic, pool: tenant, scheme, timeoutMs: config.UPSTREAM_TIMEOUT_MS }),
  })
  if (file !== undefined) {
    const { actions } = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
    return readTenants(file, actions).map((tenant) => {
      const { name, v2, secret: fetched, actions: synonyms } = tenant
      const profile = { settings: tenantSettings(tenant, common.settings), synonyms }
      return account(name, basicOf(v2.client_id, fetched), v2.base_url, v2.token, profile)
    })
  }
  return id === undefined || secret === undefined ? [] : [account(id, basicOf(id, secret))]
}
