import { pathOf } from '../../language/config/store-address.ts'
import type { StoreOptions } from './state.ts'
import type { Store } from './store.ts'

/**
 * Opens a store. Resolves when the store is ready, or with one that is not ready yet and keeps trying; rejects if a retry
 * cannot help.
 */
export type OpenStore = (options: StoreOptions) => Promise<Store>

/** Opens the store at a URL. */
export async function openStore(storeUrl: string, options: StoreOptions = {}): Promise<Store> {
  const open = await loadEngine(storeUrl)
  return open(options)
}

/** Loads the engine of the store at a URL, and its driver; no other is loaded. */
export async function loadEngine(storeUrl: string): Promise<OpenStore> {
  const url = storeUrl.trim()
  const scheme = schemeOf(url)
  switch (scheme) {
    case 'memory': {
      const { createMemoryStore } = await import('./sqlite/sqlite.ts')
      return async (options) => createMemoryStore(options)
    }
    case 'postgres':
    case 'postgresql': {
      const { openPostgresStore } = await import('./postgres/postgres.ts')
      return (options) => openPostgresStore({ ...options, url })
    }
    case 'sqlite':
    case 'file':
    case undefined: {
      const { openSqliteStore } = await import('./sqlite/sqlite.ts')
      const path = pathOf(url)
      return (options) => openSqliteStore({ ...options, path })
    }
    default:
      throw new Error(`STORE_URL starts with ${scheme}:; use memory:, postgres://… or the path of a file.`)
  }
}

/** The schemes of stores; an address without one is a path. */
const SCHEMES: ReadonlySet<string | undefined> = new Set([
  'memory',
  'postgres',
  'postgresql',
  'sqlite',
  'file',
  undefined,
])

const schemeOf = (url: string) => /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase()

/** Reports whether an address may be that of a store. */
export const isStoreAddress = (url: string): boolean => SCHEMES.has(schemeOf(url.trim()))
