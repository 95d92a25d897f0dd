import type { StoreOptions } from './state.ts'
import type { Store } from './store.ts'

/**
 * Opens the store that a URL names. It resolves when the store is ready, or, where the store cannot be reached yet, with
 * one that is not ready and goes on trying; it rejects what trying again cannot mend.
 */
export async function openStore(storeUrl: string, options: StoreOptions = {}): Promise<Store> {
  const url = storeUrl.trim()
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase()
  // Engines are loaded when chosen: nobody waits for, or needs, the driver of another.
  switch (scheme) {
    case 'memory': {
      const { createMemoryStore } = await import('./memory.ts')
      return createMemoryStore()
    }
    case 'postgres':
    case 'postgresql': {
      if (!URL.canParse(url)) throw new Error('STORE_URL is no PostgreSQL address: postgres://user:password@host/name')
      const { openPostgresStore } = await import('./postgres/postgres.ts')
      return openPostgresStore({ ...options, url })
    }
    case 'sqlite':
    case 'file':
    case undefined: {
      const { openSqliteStore } = await import('./sqlite/sqlite.ts')
      return openSqliteStore({ ...options, path: pathOf(url) })
    }
    default:
      throw new Error(`STORE_URL starts with ${scheme}:, but a store is memory:, postgres://… or a path for a file.`)
  }
}

/** The path behind `sqlite:`, `sqlite://`, `file:` or nothing. */
export function pathOf(url: string): string {
  const path = url.replace(/^(sqlite|file):(\/\/)?/i, '')
  if (path === '' || path.endsWith('/')) throw new Error(`STORE_URL names no file: ${url}`)
  return path
}
