import { ConfigErrors } from '../src/language/config/errors.ts'
import type { Lookups } from '../src/language/config/lookups.ts'
import { type Catalog, catalogMistakes, compileCatalog } from '../src/language/mapping/catalog.ts'
import { compileLookup } from '../src/language/mapping/lookup.ts'
import { actions as builtIn, callbacks as builtInCallbacks, tables } from './index.ts'
import type { OwnDeclarations } from './own.ts'

const NO_DECLARATIONS: OwnDeclarations = { actions: [], callbacks: [] }

/** Loads, checks and compiles the built-in mappings and the operator's; throws `ConfigErrors`. */
export async function loadMappings(directory?: string, lookups: Partial<Lookups> = {}): Promise<Catalog> {
  // Most gateways have no modules.
  const own = directory === undefined ? NO_DECLARATIONS : await (await import('./own.ts')).ownDeclarations(directory)
  const actions = replaced(builtIn, own.actions)
  const options = {
    callbacks: replaced(builtInCallbacks, own.callbacks),
    tables: new Map(
      Object.entries(tables).map(([name, table]) => [name, compileTable(name, table, lookups.vehicle_types ?? {})]),
    ),
    synonyms: lookups.actions ?? {},
  }
  const mistakes = catalogMistakes(actions, options)
  if (mistakes.length > 0) throw new ConfigErrors(mistakes)
  return compileCatalog(actions, options)
}

/** Returns the operator's declarations, and the built-in ones that they do not replace. */
function replaced<T extends { readonly name: string }>(builtInOnes: readonly T[], own: readonly T[]): readonly T[] {
  const names = new Set(own.map(({ name }) => name))
  return [...builtInOnes.filter(({ name }) => !names.has(name)), ...own]
}

function compileTable(
  name: string,
  builtInTable: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
) {
  try {
    return compileLookup(builtInTable, own)
  } catch (error) {
    throw new ConfigErrors([`table ${name}: ${error instanceof Error ? error.message : error}`])
  }
}
