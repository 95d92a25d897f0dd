import { configurationErrors } from '../../language/config/errors.ts'
import { readTenants, secretFilesOf, type Tenant } from '../../language/config/tenants-file.ts'
import { watchFiles } from '../../language/config/watch-files.ts'
import { basicOf } from '../../outside/service/credential.ts'
import type { TenantBrownouts } from '../../runtime/signals.ts'
import {
  accountAt,
  type Caller,
  type CallerRooms,
  type Credentials,
  commonProfile,
  deprecationFor,
  passThroughOf,
  recipientsOf,
} from './caller.ts'
import { clientCredentials } from './client.ts'
import { tenantCredentials } from './tenants.ts'

/** The callers of a gateway, which may change while it runs. */
export interface Callers extends Credentials {
  /** Returns the brownouts of each tenant in the tenants file. Without a file, returns those of all callers under an empty name. */
  readonly brownouts: () => readonly TenantBrownouts[]
  /** Calls back with the file's tenants now, and again whenever the file changes and on SIGHUP. */
  readonly tell: (onTenants: (tenants: readonly Tenant[]) => void) => void
  readonly close: () => void
}

const LOOK_EVERY_MS = 2_000

/** Opens the configured mode. A tenants file is read again when it changes, and on SIGHUP. */
export function openCallers(rooms: CallerRooms): Callers {
  const { V2_CLIENT_ID: id, V2_CLIENT_SECRET: secret, TENANTS_FILE: path } = rooms.config
  if (path !== undefined) return openTenants(rooms, path)
  const credentials =
    id === undefined || secret === undefined ? clientCredentials(rooms) : fixedCredentials(rooms, id, secret)
  const common = [{ tenant: '', windows: deprecationFor(rooms.config).windows }]
  return { ...credentials, brownouts: () => common, tell: () => {}, close: () => {} }
}

function openTenants(rooms: CallerRooms, path: string): Callers {
  const { log, reloads } = rooms
  const read = () => readTenants(path, rooms.catalog)
  let files = [path, ...secretFilesOf(path)]
  const stopWatching = watchFiles(
    () => files,
    LOOK_EVERY_MS,
    () => readAgain(),
  )
  let tenants = read()
  let tell = (_tenants: readonly Tenant[]) => {}
  const credentials = tenantCredentials(rooms, tenants)
  reloads.taken('tenants')
  const readAgain = () => {
    files = [path, ...secretFilesOf(path)]
    try {
      tenants = read()
      credentials.replace(tenants)
      tell(tenants)
      reloads.taken('tenants')
      log.info({ tenants: tenants.length }, 'the tenants file was reloaded')
    } catch (error) {
      const errors = configurationErrors(error)
      reloads.refused('tenants', errors ?? [String(error)])
      log.error(
        { errors, err: errors ? undefined : error },
        'the new tenants file is refused; the old one stays in use',
      )
    }
  }
  process.on('SIGHUP', readAgain)
  return {
    ...credentials,
    tell: (onTenants) => {
      tell = onTenants
      tell(tenants)
    },
    close: () => {
      stopWatching()
      process.off('SIGHUP', readAgain)
    },
  }
}

/** Sends one credential to the service instead of the caller's: the gateway is the sidecar of one application. */
function fixedCredentials(rooms: CallerRooms, id: string, secret: string): Credentials {
  const basic = basicOf(id, secret)
  const { V2_BASE_URL: address, V2_TOKEN: scheme } = rooms.config
  const account = accountAt(rooms, address, { basic, pool: basic, scheme })
  const caller: Caller = { tenant: id, credential: undefined, account, profile: commonProfile(rooms) }
  const { WEBHOOK_SECRET: secrets, WEBHOOK_SIGNING_SECRET: signingKeys } = rooms.config
  const recipients = recipientsOf(id, secrets, signingKeys)
  return {
    mode: 'fixed',
    tenants: () => [id],
    identify: () => caller,
    verified: async () => caller,
    passThrough: () => passThroughOf(caller),
    ownCaller: (tenant) => (tenant === id ? caller : undefined),
    eventRecipients: () => recipients,
  }
}
