import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigErrors } from '../src/language/config/errors.ts'
import { errorCodeOf } from '../src/language/config/json-file.ts'
import type { Action } from '../src/language/mapping/action.ts'
import type { Callback } from '../src/language/mapping/callback.ts'
import { isDeclaration, shapeMistakes } from '../src/language/mapping/declaration-schema.ts'
import { oneLine } from '../src/language/text/service-text.ts'
import { createToolbox } from './toolbox.ts'

/** The declarations of the operator's modules. */
export interface OwnDeclarations {
  readonly actions: readonly Action[]
  readonly callbacks: readonly Callback[]
}

/**
 * Loads the operator's modules. The default export is a declaration, a list of declarations, or a function that makes them from the
 * toolbox.
 */
export async function ownDeclarations(directory: string): Promise<OwnDeclarations> {
  const toolbox = createToolbox()
  const found: { actions: Action[]; callbacks: Callback[] } = { actions: [], callbacks: [] }
  const errors: string[] = []
  for (const file of filesIn(directory)) {
    const path = resolve(directory, file)
    try {
      const loaded: { default?: unknown } = await import(pathToFileURL(path).href)
      const made: unknown = typeof loaded.default === 'function' ? loaded.default(toolbox) : loaded.default
      for (const declared of [made].flat()) {
        if (!isDeclaration(declared)) errors.push(...shapeMistakes(declared).map((error) => `${path}: ${error}`))
        else if ('kind' in declared) found.callbacks.push(declared)
        else found.actions.push(declared)
      }
    } catch (error) {
      const reason = oneLine(error instanceof Error ? error.message : String(error))
      errors.push(`${path}${placeInModule(error, path)}: cannot be loaded: ${reason}`)
    }
  }
  if (errors.length > 0) throw new ConfigErrors(errors)
  return found
}

/** Returns the line and the column of an error in a module, such as `:3:15`; empty if the error does not name them. */
function placeInModule(error: unknown, path: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const [, place = ''] = stack.split(pathToFileURL(path).href)
  // Where types are stripped, a syntax error names the file without the protocol.
  const [, bare = ''] = stack.split(path)
  return /^(?::\d+)+/.exec(place || bare)?.[0] ?? ''
}

function filesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((file) => /\.(ts|js|mjs)$/.test(file) && !file.endsWith('.d.ts'))
      .sort()
  } catch (error) {
    throw new ConfigErrors([
      `MAPPINGS_DIR names ${directory}, which cannot be read as a folder (${errorCodeOf(error)})`,
    ])
  }
}
