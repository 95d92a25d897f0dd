import { readTenants } from '../callers/tenants-file.ts'
import { readConfig } from '../config.ts'
import { loadMappings } from '../mappings.ts'

/** Checks what `serve` would check before it starts. */
export async function check(): Promise<number> {
  const config = readConfig()
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  if (config.TENANTS_FILE !== undefined) readTenants(config.TENANTS_FILE, new Set(catalog.actions.keys()))
  process.stdout.write(
    `The configuration is good: ${catalog.actions.size} actions at ${catalog.endpoints.size} legacy paths.\n`,
  )
  return 0
}
