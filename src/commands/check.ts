import { unwritableReason } from '../bookings/record.ts'
import { commonDeprecation } from '../callers/caller.ts'
import { tenantDeprecation } from '../callers/tenants.ts'
import { type Config, configNames, type EffectiveVariable, effectiveVariables } from '../config/config.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import type { Tenant } from '../config/tenants-file.ts'
import { type BrownoutWindow, windowsToCome } from '../migration/deprecation.ts'
import { nearest } from '../text/nearest.ts'
import { print, printError, printJson } from './output.ts'

/**
 * Checks everything that `serve` checks before it starts, and prints the brownouts to come and
 * the configuration in effect, without secrets.
 */
export async function check({ json = false }: { readonly json?: boolean }): Promise<number> {
  const loaded = await loadConfig()
  const { config, catalog, tenants = [] } = loaded
  const variables = effectiveVariables(process.env)
  const unwritable = unwritableReason(config.EMERGENCY_LOG_FILE)
  const warnings = [
    ...slipsIn(process.env, new Set(tenants.flatMap(variablesOf))),
    ...(unwritable === undefined ? [] : [`EMERGENCY_LOG_FILE cannot be written: ${unwritable}`]),
  ]
  const counts = { actions: catalog.actions.size, paths: catalog.endpoints.size, tenants: tenants.length }
  if (json) {
    printJson({ ...counts, brownouts: brownoutsToCome(loaded, Date.now()).map(brownoutView), variables, warnings }, 2)
  } else {
    print(
      `The configuration is valid: ${counts.actions} actions at ${counts.paths} legacy paths.`,
      ...(recordsEventsOnly(config) ? [EVENTS_ONLY] : []),
      ...brownoutLines(loaded, Date.now()),
      '',
      ...linesOf(variables),
    )
    printError(...warnings.map((warning) => `warning: ${warning}`))
  }
  return 0
}

const EVENTS_ONLY =
  'Events are recorded only: set WEBHOOK_CLIENT_ID and WEBHOOK_CLIENT_SECRET to let the gateway read their shipments.'

interface Brownout {
  /** Undefined if it is that of all callers. */
  readonly tenant: string | undefined
  readonly window: BrownoutWindow
  readonly coversBookings: boolean
}

/** Returns the brownouts to come, the next one first. */
function brownoutsToCome({ config, tenants }: LoadedConfig, now: number): readonly Brownout[] {
  const deprecations =
    tenants === undefined
      ? [{ tenant: undefined, ...commonDeprecation(config) }]
      : tenants.map((tenant) => ({ tenant: tenant.name, ...tenantDeprecation(tenant, config) }))
  return deprecations
    .flatMap(({ tenant, windows, coversBookings }) =>
      windowsToCome(windows, now).map((window) => ({ tenant, window, coversBookings })),
    )
    .sort((one, other) => one.window.start - other.window.start)
}

const brownoutView = ({ tenant, window, coversBookings }: Brownout) => ({
  ...(tenant !== undefined && { tenant }),
  start: new Date(window.start).toISOString(),
  end: new Date(window.end).toISOString(),
  bookings: coversBookings,
})

/** Returns the brownouts to come as lines, in the time zone of the operator (`TZ`). */
function brownoutLines(loaded: LoadedConfig, now: number): readonly string[] {
  const lines = brownoutsToCome(loaded, now).map(
    ({ tenant = 'all callers', window, coversBookings }) =>
      `  ${periodOf(window)}  ${tenant}${coversBookings ? ', bookings too' : ''}`,
  )
  // Undefined where TZ names a zone that does not exist; then times are those of UTC.
  const { timeZone = 'UTC' } = Intl.DateTimeFormat().resolvedOptions()
  return lines.length === 0 ? [] : [`Brownouts to come, in the time of ${timeZone}:`, ...lines]
}

function periodOf({ start, end }: BrownoutWindow): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  })
  return `${format.format(start)} to ${format.format(end)}`
}

/** In client mode, the gateway has no credential but one for events. */
function recordsEventsOnly(config: Config): boolean {
  const { WEBHOOK_SECRET: secrets, WEBHOOK_CLIENT_ID: own, V2_CLIENT_ID: fixed, TENANTS_FILE: tenants } = config
  return secrets !== undefined && [own, fixed, tenants].every((set) => set === undefined)
}

/** Returns the variables that hold a tenant's secrets. */
function variablesOf({ v2, webhook_secret, webhook_signing_secret, callback_secrets }: Tenant): readonly string[] {
  const references = [v2.client_secret, webhook_secret, webhook_signing_secret, ...(callback_secrets ?? [])]
  return references.flatMap((reference) => (reference && 'env' in reference ? [reference.env] : []))
}

function linesOf(variables: readonly EffectiveVariable[]): readonly string[] {
  const width = Math.max(...variables.map(({ name }) => name.length))
  return variables.map(({ name, value, from }) =>
    from === 'nowhere'
      ? `${name.padEnd(width)}  not set`
      : `${name.padEnd(width)}  ${from.padEnd('environment'.length)}  ${value}`,
  )
}

/** Variables with these beginnings are hardly meant for another program. */
const OWN_PREFIX = /^(V2|UPSTREAM|LEGACY)_/i
/** Shorter names, such as `HOST`, are near to those of other programs. */
const SHORTEST_LIKENESS = 6

/** Returns a warning for each variable that looks like a slip; `used` are names that the tenants file mentions. */
export function slipsIn(env: NodeJS.ProcessEnv, used: ReadonlySet<string>): readonly string[] {
  return Object.keys(env)
    .filter((name) => !configNames.includes(name) && !used.has(name))
    .flatMap((name) => {
      const meant = meantBy(name)
      if (meant === undefined && !OWN_PREFIX.test(name)) return []
      return [`${name} is not a variable of the gateway${meant === undefined ? '' : `; did you mean ${meant}?`}`]
    })
}

function meantBy(name: string): string | undefined {
  if (name.length < SHORTEST_LIKENESS || !name.includes('_')) return undefined
  // Other programs know names such as `SSL_CERT_FILE`.
  if (!OWN_PREFIX.test(name)) return nearest(name, configNames, 1)
  const near = nearest(name, configNames)
  if (near !== undefined) return near
  // `V2_TIMEOUT` has the word of `UPSTREAM_TIMEOUT_MS`.
  const words = name.toUpperCase().replace(OWN_PREFIX, '')
  const [found, ...more] = configNames.filter((known) => `_${known}_`.includes(`_${words}_`))
  return more.length === 0 ? found : undefined
}
