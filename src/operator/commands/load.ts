import { loadMappings } from '../../../mappings/load.ts'
import { readConfig, readValidVariables } from '../../language/config/config.ts'
import { ConfigErrors, configurationErrors } from '../../language/config/errors.ts'
import { readTenants } from '../../language/config/tenants-file.ts'

/** The configuration with the mappings that it names, and the tenants if it names a file of them. */
export type LoadedConfig = Awaited<ReturnType<typeof loadConfig>>

/** Replaces mappings that failed to load, because their actions are unknown. */
const ANY_ACTION = { synonymMistakes: () => [] }

/** Reads the environment and every file that it names; throws `ConfigErrors` with all errors; see `readTenants` for `lacking`. */
export async function loadConfig(lacking?: string[]) {
  const errors: string[] = []
  const attempt = async <T>(read: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await read()
    } catch (error) {
      const lines = configurationErrors(error)
      if (lines === undefined) throw error
      errors.push(...lines)
      return undefined
    }
  }
  const config = await attempt(() => readConfig())
  const { MAPPINGS_DIR, LOOKUPS_FILE, TENANTS_FILE } =
    config ?? readValidVariables(['MAPPINGS_DIR', 'LOOKUPS_FILE', 'TENANTS_FILE'])
  const catalog = await attempt(() => loadMappings(MAPPINGS_DIR, LOOKUPS_FILE))
  const readThem = () =>
    TENANTS_FILE === undefined ? undefined : readTenants(TENANTS_FILE, catalog ?? ANY_ACTION, process.env, lacking)
  const tenants = await attempt(readThem)
  if (!config || !catalog || errors.length > 0) throw new ConfigErrors(errors)
  return { config, catalog, tenants }
}
