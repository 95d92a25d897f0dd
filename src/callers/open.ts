import { unwatchFile, watchFile } from 'node:fs'
import { ConfigErrors } from '../config/errors.ts'
import { readTenants, type Tenant } from '../config/tenants-file.ts'
import type { Deprecation } from '../deprecation/deprecation.ts'
import type { Logger } from '../observe/log.ts'
import { type Credentials, type CredentialsDeps, commonDeprecation } from './caller.ts'
import { clientCredentials } from './client.ts'
import { fixedCredentials } from './fixed.ts'
import { tenantCredentials } from './tenants.ts'

export interface OpenCredentialsDeps extends CredentialsDeps {
  /** The actions that synonyms of a tenant may name. */
  readonly actions: ReadonlySet<string>
  readonly log: Logger
  /** Called with the tenants of the file, whenever they are read. */
  readonly onTenants?: (tenants: readonly Tenant[]) => void
}

/** Credentials that may be renewed while the gateway runs. */
export interface OpenCredentials extends Credentials {
  /** Returns the deprecation of each tenant of the tenants file; without one, that of all callers, under an empty name. */
  readonly deprecations: () => readonly (readonly [tenant: string, deprecation: Deprecation])[]
  readonly close: () => void
}

/** Polled, because a file on a mounted volume changes without an event. */
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
  const first = read()
  const credentials = tenantCredentials(deps, first)
  deps.onTenants?.(first)
  const readAgain = () => {
    try {
      const tenants = read()
      credentials.replace(tenants)
      deps.onTenants?.(tenants)
      deps.log.info({ tenants: tenants.length }, 'the tenants file was read again')
    } catch (error) {
      const errors = error instanceof ConfigErrors ? error.errors : undefined
      deps.log.error(
        { errors, err: errors ? undefined : error },
        'the new tenants file is refused; the old one stays in use',
      )
    }
  }
  watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, readAgain)
  process.on('SIGHUP', readAgain)
  return {
    ...credentials,
    close: () => {
      unwatchFile(path, readAgain)
      process.off('SIGHUP', readAgain)
    },
  }
}
