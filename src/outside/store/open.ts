import { engineOf, pathOf } from '../../language/config/store-address.ts'
import type { StoreOptions } from './state.ts'
import type { Store } from './store.ts'

/** Opens a store. Resolves with a store that is ready, or that is not ready yet and keeps trying; rejects if a retry cannot help. */
export type OpenStore = (options: StoreOptions) => Promise<Store>

/** Opens the store at a URL. */
export async function openStore(storeUrl: string, options: StoreOptions = {}): Promise<Store> {
  const open = await loadEngine(storeUrl)
  return open(options)
}

/** Loads the engine for a store's URL and its driver, and no other. */
export async function loadEngine(storeUrl: string): Promise<OpenStore> {
  const url = storeUrl.trim()
  switch (engineOf(url)) {
    case 'memory': {
      const { createMemoryStore } = await import('./sqlite/sqlite.ts')
      return async (options) => createMemoryStore(options)
    }
    case 'postgres': {
      const { openPostgresStore } = await import('./postgres/postgres.ts')
      return (options) => openPostgresStore({ ...options, url })
    }
    case 'file': {
      const { openSqliteStore } = await import('./sqlite/sqlite.ts')
      const path = pathOf(url)
      return (options) => openSqliteStore({ ...options, path })
    }
    default:
      throw new Error(`STORE_URL starts with ${url.split(':', 1)}:; use memory:, postgres://… or the path of a file.`)
  }
}
