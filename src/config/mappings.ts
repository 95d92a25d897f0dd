import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import * as codecs from '../../mappings/codecs.ts'
import { actions as builtIn, callbacks as builtInCallbacks, tables } from '../../mappings/index.ts'
import { oneLine } from '../errors.ts'
import type { Action } from '../mapping/action.ts'
import type { Callback } from '../mapping/callback.ts'
import { type Catalog, compileCatalog, MappingErrors } from '../mapping/catalog.ts'
import { codec } from '../mapping/codec.ts'
import { isAction, isCallback, shapeMistakes } from '../mapping/declaration-schema.ts'
import * as vocabulary from '../mapping/declare.ts'
import { compileLookup } from '../mapping/lookup.ts'
import { renamedConstructors } from '../mapping/renamed.ts'
import { codeOf } from './json-file.ts'
import type { Lookups } from './lookups.ts'

/** The dependencies of an operator's module, which lies outside the package and cannot import them. */
export interface Toolbox {
  readonly vocabulary: typeof vocabulary
  readonly codecs: typeof codecs
  readonly codec: typeof codec
  /** For the version-2 side of a codec. */
  readonly z: typeof z
  /** The built-in actions by name, to derive from. */
  readonly actions: Readonly<Record<string, Action>>
  /** The built-in callbacks by name, to derive from. */
  readonly callbacks: Readonly<Record<string, Callback>>
}

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
  const actions = Object.fromEntries(builtIn.map((action) => [action.name, action]))
  const callbacks = Object.fromEntries(builtInCallbacks.map((callback) => [callback.name, callback]))
  const toolbox: Toolbox = {
    vocabulary: { ...renamedConstructors, ...vocabulary },
    codecs,
    codec,
    z,
    actions,
    callbacks,
  }
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
      errors.push(`${path}: cannot be loaded: ${oneLine(error instanceof Error ? error.message : String(error))}`)
    }
  }
  if (errors.length > 0) throw new MappingErrors(errors)
  return found
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
