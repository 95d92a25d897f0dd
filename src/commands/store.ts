import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { readConfig } from '../config/config.ts'
import { ConfigErrors } from '../config/errors.ts'
import { loadEngine, type OpenStore, pathOf } from '../store/open.ts'
import { NotAStore } from '../store/sqlite/schema.ts'
import type { StoreOptions } from '../store/state.ts'
import { type Store, StoreDown } from '../store/store.ts'
import { CommandFailed } from './failures.ts'

/** A placeholder for the service's address in commands that do not call the service. */
const NO_SERVICE = 'https://service.example.com'

/** Returns the environment for a command that does not call the service, whose address is otherwise required. */
export function withoutService(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { ...env, V2_BASE_URL: env['V2_BASE_URL']?.trim() || NO_SERVICE }
}

/** The work of a command on the open store; returns the exit code. */
export type StoreWork = (store: Store, storeUrl: string) => Promise<number>

/** Runs a command on an existing store. A missing store is an error: a new empty one would hide a wrong path. */
export async function withExistingStore(work: StoreWork): Promise<number> {
  const { STORE_URL } = storeConfig()
  const scheme = schemeOf(STORE_URL)
  const file = scheme === 'memory' || scheme?.startsWith('postgres') ? undefined : pathOf(STORE_URL)
  if (file !== undefined && !existsSync(file)) {
    throw new CommandFailed(`there is no store at ${file}; set STORE_URL as the gateway has it`)
  }
  return withStore(work)
}

/** Opens the configured store for one command, and creates it if it is missing. */
export async function withStore(work: StoreWork): Promise<number> {
  const { STORE_URL } = storeConfig()
  if (schemeOf(STORE_URL) === 'memory') {
    throw new CommandFailed('STORE_URL is memory:, which only the gateway itself can read')
  }
  let reason = ''
  const store = await openConfiguredStore(await loadEngine(STORE_URL), {
    onState: ({ error }) => {
      reason = error?.message ?? ''
    },
  })
  try {
    if (!store.ready()) {
      throw new CommandFailed(`the store does not answer; check STORE_URL: ${reason}`)
    }
    return await work(store, STORE_URL)
  } finally {
    await store.close()
  }
}

/** Reads the configuration for a command on the store. */
export const storeConfig = () => readConfig(withoutService(), { certificates: false })

/** Returns the path of the embedded store; fails with the advice where the store is on PostgreSQL. */
export function embeddedStorePath(onPostgres: string): string {
  const { STORE_URL } = storeConfig()
  const scheme = schemeOf(STORE_URL)
  if (scheme === 'memory') throw new CommandFailed('STORE_URL is memory:, which only the gateway itself can read')
  if (isPostgres(STORE_URL)) throw new CommandFailed(onPostgres)
  return resolve(pathOf(STORE_URL))
}

/** Tells if a store is on PostgreSQL. */
export const isPostgres = (storeUrl: string): boolean => schemeOf(storeUrl)?.startsWith('postgres') ?? false

/** Opens a store; a store that can never be opened is a configuration error. */
export async function openConfiguredStore(open: OpenStore, options: StoreOptions): Promise<Store> {
  try {
    return await open(options)
  } catch (error) {
    if (!(error instanceof NotAStore || error instanceof StoreDown)) throw error
    throw new ConfigErrors([`STORE_URL names a store that cannot be used: ${error.message}`])
  }
}

const schemeOf = (storeUrl: string) => /^[a-z]{2,}(?=:)/i.exec(storeUrl.trim())?.[0].toLowerCase()
