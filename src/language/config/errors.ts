/** All errors of an invalid configuration or mapping, one line each. */
export class ConfigErrors extends Error {
  override readonly name = 'ConfigErrors'
  readonly errors: readonly string[]

  constructor(errors: readonly string[]) {
    const count = errors.length === 1 ? 'an error' : `${errors.length} errors`
    super(`the configuration has ${count}:\n${errors.join('\n')}`)
    this.errors = errors
  }
}

/** Returns the lines of a configuration error; undefined for any other error. */
export const configurationErrors = (error: unknown): readonly string[] | undefined =>
  error instanceof ConfigErrors ? error.errors : undefined
