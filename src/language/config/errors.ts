import { MappingErrors } from '../mapping/catalog.ts'

/** An invalid configuration: all its errors, one line each. */
export class ConfigErrors extends Error {
  override readonly name = 'ConfigErrors'
  readonly errors: readonly string[]

  constructor(errors: readonly string[]) {
    super(`the configuration has ${errors.length === 1 ? 'an error' : `${errors.length} errors`}`)
    this.errors = errors
  }
}

/** Returns the lines of a configuration error; undefined for any other error. */
export function configurationErrors(error: unknown): readonly string[] | undefined {
  if (error instanceof ConfigErrors) return error.errors
  if (error instanceof MappingErrors) return error.mistakes
  return undefined
}
