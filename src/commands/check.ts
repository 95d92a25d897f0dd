import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { print } from './output.ts'

/** Checks everything that `serve` checks before it starts. */
export async function check(): Promise<number> {
  const { config, catalog } = await loadConfig()
  print(`The configuration is valid: ${catalog.actions.size} actions at ${catalog.endpoints.size} legacy paths.`)
  if (recordsEventsOnly(config)) {
    print(
      'Events are recorded only: set WEBHOOK_CLIENT_ID and WEBHOOK_CLIENT_SECRET to let the gateway read their shipments.',
    )
  }
  return 0
}

/** In client mode, the gateway has no credential but one for events. */
function recordsEventsOnly(config: Config): boolean {
  const { WEBHOOK_SECRET: secrets, WEBHOOK_CLIENT_ID: own, V2_CLIENT_ID: fixed, TENANTS_FILE: tenants } = config
  return secrets !== undefined && [own, fixed, tenants].every((set) => set === undefined)
}
