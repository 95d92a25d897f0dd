import { TenantsMistakes } from './callers/tenants-file.ts'
import { ConfigMistakes } from './config.ts'
import { MappingMistakes } from './mapping/catalog.ts'

/** What an operator has to mend before it can start, a line each. */
export type Mistakes = ConfigMistakes | MappingMistakes | TenantsMistakes

/** Whether an error is the operator's to mend. */
export function isMistakes(error: unknown): error is Mistakes {
  return error instanceof ConfigMistakes || error instanceof MappingMistakes || error instanceof TenantsMistakes
}
