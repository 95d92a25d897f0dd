import { type Config, ConfigErrors, readConfig, readEachAlone } from '../config/config.ts'
import { isConfigurationErrors } from '../config/errors.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants } from '../config/tenants-file.ts'
import type { Catalog } from '../mapping/catalog.ts'

/** What an operator has set up. */
export interface Setup {
  readonly config: Config
  readonly catalog: Catalog
}

/** Without the mappings nobody knows which actions there are. */
const ANY_ACTION = { has: () => true }

/** Reads the environment and all the files that it names; throws `ConfigErrors` with the mistakes of all of them. */
export async function readSetup(): Promise<Setup> {
  const mistakes: string[] = []
  const attempt = async <T>(read: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await read()
    } catch (error) {
      if (!isConfigurationErrors(error)) throw error
      mistakes.push(...error.mistakes)
      return undefined
    }
  }
  const config = await attempt(() => readConfig())
  const { MAPPINGS_DIR, LOOKUPS_FILE, TENANTS_FILE } = config ?? readEachAlone()
  const catalog = await attempt(() => loadMappings(MAPPINGS_DIR, LOOKUPS_FILE))
  if (TENANTS_FILE !== undefined) await attempt(() => readTenants(TENANTS_FILE, catalog?.actions ?? ANY_ACTION))
  if (!config || !catalog || mistakes.length > 0) throw new ConfigErrors(mistakes)
  return { config, catalog }
}
