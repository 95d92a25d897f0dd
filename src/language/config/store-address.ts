/** `STORE_URL` cannot be used. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
  /** The message without the name of the variable. */
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

/** Returns the engine of the store at a URL; undefined for a scheme that none has. A URL without a scheme is a path. */
export function engineOf(url: string) {
  const [, scheme = 'file'] = /^([a-z][a-z0-9+.-]+):/i.exec(url.trim()) ?? []
  return ENGINES.get(scheme.toLowerCase())
}

/** Returns the path of a URL with `sqlite:`, `sqlite://`, `file:` or no scheme. */
export function pathOf(url: string): string {
  const path = url.trim().replace(/^(sqlite|file):(\/\/)?/i, '')
  if (path === '' || path.endsWith('/')) throw new Error(`STORE_URL names no file: ${url}`)
  return path
}

/** Returns the message of an error. A host with several addresses fails with one error for each, and an empty message around them. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
