/** Thrown if `STORE_URL` cannot be used. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
  /** The message without the variable's name. */
  readonly mistake: string

  constructor(mistake: string) {
    super(`STORE_URL ${mistake}.`)
    this.mistake = mistake
  }
}

const ENGINES: ReadonlyMap<string, 'memory' | 'postgres' | 'file'> = new Map([
  ['memory', 'memory'],
  ['postgres', 'postgres'],
  ['postgresql', 'postgres'],
  ['sqlite', 'file'],
  ['file', 'file'],
])

/** Returns the engine for a store's URL; undefined for a scheme that no engine has. A URL without a scheme is a path. */
export function engineOf(url: string) {
  const [, scheme = 'file'] = /^([a-z][a-z0-9+.-]+):/i.exec(url.trim()) ?? []
  return ENGINES.get(scheme.toLowerCase())
}

/** Returns the path of a URL with `sqlite:`, `sqlite://`, `file:` or no scheme. */
export function pathOf(url: string): string {
  const path = url.trim().replace(/^(sqlite|file):(\/\/)?/i, '')
  if (path === '' || path.endsWith('/')) throw new Error(`STORE_URL does not name a file: ${url}`)
  return path
}

/** Returns an error's message. A host with several addresses fails with one error for each, inside an error with an empty message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
