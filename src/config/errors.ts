import { MappingErrors } from '../mapping/catalog.ts'

/** A configuration that cannot be used: all its errors, one line each. */
export class ConfigErrors extends Error {
  override readonly name = 'ConfigErrors'
  readonly errors: readonly string[]

  constructor(errors: readonly string[]) {
    super(`the configuration has ${errors.length === 1 ? 'an error' : `${errors.length} errors`}`)
    this.errors = errors
  }
}

/** Returns the lines of an error that an operator has to correct before a start; undefined for any other error. */
export function configurationErrors(error: unknown): readonly string[] | undefined {
  if (error instanceof ConfigErrors) return error.errors
  if (error instanceof MappingErrors) return error.mistakes
  return undefined
}
