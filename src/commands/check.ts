import { commonDeprecation } from '../callers/caller.ts'
import { tenantDeprecation } from '../callers/tenants.ts'
import type { Config } from '../config/config.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import { type BrownoutWindow, windowsToCome } from '../deprecation/brownouts.ts'
import { print } from './output.ts'

/** Checks everything that `serve` checks before it starts, and prints the brownouts to come. */
export async function check(): Promise<number> {
  const loaded = await loadConfig()
  const { actions, endpoints } = loaded.catalog
  print(`The configuration is valid: ${actions.size} actions at ${endpoints.size} legacy paths.`)
  if (recordsEventsOnly(loaded.config)) {
    print(
      'Events are recorded only: set WEBHOOK_CLIENT_ID and WEBHOOK_CLIENT_SECRET to let the gateway read their shipments.',
    )
  }
  print(...brownoutLines(loaded, Date.now()))
  return 0
}

/** Returns the brownouts to come, in the time zone of the operator (`TZ`). */
function brownoutLines({ config, tenants }: LoadedConfig, now: number): readonly string[] {
  const all: readonly (readonly [string, readonly BrownoutWindow[], boolean])[] =
    tenants === undefined
      ? [deprecationOf('all callers', commonDeprecation(config))]
      : tenants.map((tenant) => deprecationOf(tenant.name, tenantDeprecation(tenant, config)))
  const lines = all
    .flatMap(([name, windows, books]) => windowsToCome(windows, now).map((window) => ({ name, window, books })))
    .sort((one, other) => one.window.start - other.window.start)
    .map(({ name, window, books }) => `  ${periodOf(window)}  ${name}${books ? ', bookings too' : ''}`)
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return lines.length === 0 ? [] : [`Brownouts to come, in the time of ${timeZone}:`, ...lines]
}

const deprecationOf = (name: string, { windows, coversBookings }: ReturnType<typeof commonDeprecation>) =>
  [name, windows, coversBookings] as const

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
