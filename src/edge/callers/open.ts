import { ConfigErrors } from '../../language/config/errors.ts'
import { readTenants, secretFilesOf, type Tenant } from '../../language/config/tenants-file.ts'
import { watchFiles } from '../../language/config/watch-files.ts'
import type { Deprecation } from '../../language/deprecation.ts'
import { basicOf } from '../../outside/service/credential.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Reloads } from '../../runtime/reloads.ts'
import {
  accountAt,
  type Caller,
  type Credentials,
  type CredentialsDeps,
  commonDeprecation,
  commonProfile,
  passThroughOf,
  recipientsOf,
  refuseTokens,
} from './caller.ts'
import { clientCredentials } from './client.ts'
import { tenantCredentials } from './tenants.ts'

interface OpenCredentialsDeps extends CredentialsDeps {
  /** The actions that synonyms of a tenant may name. */
  readonly actions: ReadonlySet<string>
  readonly log: Logger
  readonly reloads: Reloads
  /** Called with the tenants of the file, whenever they are read. */
  readonly onTenants?: (tenants: readonly Tenant[]) => void
}

/** Credentials that may be renewed while the gateway runs. */
interface OpenCredentials extends Credentials {
  /** Returns the deprecation of each tenant of the tenants file; without one, that of all callers, under an empty name. */
  readonly deprecations: () => readonly (readonly [tenant: string, deprecation: Deprecation])[]
  readonly close: () => void
}

const LOOK_EVERY_MS = 2_000

/** Opens the mode of the configuration. A tenants file is read again when it changes, and on SIGHUP. */
export function openCredentials(deps: OpenCredentialsDeps): OpenCredentials {
  const { V2_CLIENT_ID: id, V2_CLIENT_SECRET: secret, TENANTS_FILE: path } = deps.config
  if (path !== undefined) return openTenants(deps, path)
  const credentials =
    id === undefined || secret === undefined ? clientCredentials(deps) : fixedCredentials(deps, id, secret)
  const common = [['', commonDeprecation(deps.config)]] as const
  return { ...credentials, deprecations: () => common, close: () => {} }
}

function openTenants(deps: OpenCredentialsDeps, path: string): OpenCredentials {
  const read = () => readTenants(path, deps.actions)
  let files = [path, ...secretFilesOf(path)]
  const stopWatching = watchFiles(
    () => files,
    LOOK_EVERY_MS,
    () => readAgain(),
  )
  const first = read()
  const credentials = tenantCredentials(deps, first)
  deps.onTenants?.(first)
  deps.reloads.taken('tenants')
  const readAgain = () => {
    files = [path, ...secretFilesOf(path)]
    try {
      const tenants = read()
      credentials.replace(tenants)
      deps.onTenants?.(tenants)
      deps.reloads.taken('tenants')
      deps.log.info({ tenants: tenants.length }, 'the tenants file was read again')
    } catch (error) {
      const errors = error instanceof ConfigErrors ? error.errors : undefined
      deps.reloads.refused('tenants', errors ?? [String(error)])
      deps.log.error(
        { errors, err: errors ? undefined : error },
        'the new tenants file is refused; the old one stays in use',
      )
    }
  }
  process.on('SIGHUP', readAgain)
  return {
    ...credentials,
    close: () => {
      stopWatching()
      process.off('SIGHUP', readAgain)
    },
  }
}

/** Sends one credential to the service instead of the caller's: the gateway is the sidecar of one application. */
function fixedCredentials(deps: CredentialsDeps, id: string, secret: string): Credentials {
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
