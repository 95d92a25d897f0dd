import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { actions as builtIn, callbacks as builtInCallbacks, tables } from '../../mappings/index.ts'
import { createToolbox } from '../../mappings/toolbox.ts'
import { oneLine } from '../errors.ts'
import type { Action } from '../mapping/action.ts'
import type { Callback } from '../mapping/callback.ts'
import { type Catalog, compileCatalog, MappingErrors } from '../mapping/catalog.ts'
import { isAction, isCallback, shapeMistakes } from '../mapping/declaration-schema.ts'
import { compileLookup } from '../mapping/lookup.ts'
import { codeOf } from './json-file.ts'
import type { Lookups } from './lookups.ts'

/** The declarations of the operator's modules. */
interface OwnDeclarations {
  readonly actions: readonly Action[]
  readonly callbacks: readonly Callback[]
}

const NO_DECLARATIONS: OwnDeclarations = { actions: [], callbacks: [] }

/** Loads the built-in mappings and the operator's, checks them and compiles them; throws `MappingErrors`. */
export async function loadMappings(directory?: string, lookups: Partial<Lookups> = {}): Promise<Catalog> {
  const own = directory === undefined ? NO_DECLARATIONS : await ownDeclarations(directory)
  return compileCatalog(replaced(builtIn, own.actions), {
    callbacks: replaced(builtInCallbacks, own.callbacks),
    tables: new Map(
      Object.entries(tables).map(([name, table]) => [name, compileTable(name, table, lookups.vehicle_types ?? {})]),
    ),
    synonyms: lookups.actions ?? {},
  })
}

/** Returns the built-in declarations that have no namesake, and the operator's own. */
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
    throw new MappingErrors([`table ${name}: ${error instanceof Error ? error.message : error}`])
  }
}

/** Loads the operator's modules. The default export is a declaration, a list of them, or a function of the toolbox. */
async function ownDeclarations(directory: string): Promise<OwnDeclarations> {
  const toolbox = createToolbox()
  const found: { actions: Action[]; callbacks: Callback[] } = { actions: [], callbacks: [] }
  const errors: string[] = []
  for (const file of filesIn(directory)) {
    const path = resolve(directory, file)
    try {
      const loaded: { default?: unknown } = await import(pathToFileURL(path).href)
      const made: unknown = typeof loaded.default === 'function' ? loaded.default(toolbox) : loaded.default
      for (const declared of [made].flat()) {
        if (isAction(declared)) found.actions.push(declared)
        else if (isCallback(declared)) found.callbacks.push(declared)
        else errors.push(...shapeMistakes(declared).map((error) => `${path}: ${error}`))
      }
    } catch (error) {
      const reason = oneLine(error instanceof Error ? error.message : String(error))
      errors.push(`${path}${placeInModule(error, path)}: cannot be loaded: ${reason}`)
    }
  }
  if (errors.length > 0) throw new MappingErrors(errors)
  return found
}

/** Returns the line and the column of an error in a module, such as `:3:15`; nothing if the error does not tell. */
function placeInModule(error: unknown, path: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const [, place = ''] = stack.split(pathToFileURL(path).href)
  // A syntax error names the file without the protocol where types are stripped.
  const [, bare = ''] = stack.split(path)
  return /^(?::\d+)+/.exec(place || bare)?.[0] ?? ''
}

function filesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((file) => /\.(ts|js|mjs)$/.test(file) && !file.endsWith('.d.ts'))
      .sort()
  } catch (error) {
    throw new MappingErrors([`MAPPINGS_DIR names ${directory}, which cannot be read as a folder (${codeOf(error)})`])
  }
}
