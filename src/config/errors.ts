import { MappingErrors } from '../mapping/catalog.ts'
import { ConfigErrors } from './config.ts'
import { TenantsFileErrors } from './tenants-file.ts'

/** What an operator has to mend before it can start, a line each. */
export type ConfigurationErrors = ConfigErrors | MappingErrors | TenantsFileErrors

/** Whether an error is the operator's to mend. */
export function isConfigurationErrors(error: unknown): error is ConfigurationErrors {
  return error instanceof ConfigErrors || error instanceof MappingErrors || error instanceof TenantsFileErrors
}
