import { existsSync } from 'node:fs'
import { ConfigErrors, readConfig } from '../config/config.ts'
import { openStore, pathOf } from '../store/open.ts'
import { NotAStore } from '../store/sqlite/schema.ts'
import type { StoreOptions } from '../store/state.ts'
import { type Store, StoreDown } from '../store/store.ts'

/** Commands on the store need no service; its address is asked for only where calls go to it. */
export const NO_SERVICE = { V2_BASE_URL: 'https://service.example.com' } as const

/** What a command does with the store that it found under this address; it gives the exit code. */
export type StoreWork = (store: Store, storeUrl: string) => Promise<number>

/** Runs a command on a store that gateways have made: an empty one made by mistake would say that all is well. */
export async function withLiveStore(work: StoreWork): Promise<number> {
  const { STORE_URL } = readConfig({ ...NO_SERVICE, ...process.env }, { certificates: false })
  const scheme = schemeOf(STORE_URL)
  const file = scheme === 'memory' || scheme?.startsWith('postgres') ? undefined : pathOf(STORE_URL)
  if (file !== undefined && !existsSync(file)) {
    return failed(`there is no store at ${file}; see that STORE_URL is the gateway's`)
  }
  return withStore(work)
}

/** Opens the store that the environment names for the time of one command; one that is not there is made. */
export async function withStore(work: StoreWork): Promise<number> {
  const { STORE_URL } = readConfig({ ...NO_SERVICE, ...process.env }, { certificates: false })
  if (schemeOf(STORE_URL) === 'memory') {
    return failed('STORE_URL is memory:, which nobody but the gateway itself can look into')
  }
  let reason = ''
  const store = await openNamedStore(STORE_URL, {
    onState: ({ error }) => {
      reason = error?.message ?? ''
    },
  })
  try {
    if (!store.ready())
      return failed(`the store does not answer; see that STORE_URL is right and that it runs: ${reason}`)
    return await work(store, STORE_URL)
  } catch (error) {
    if (error instanceof StoreDown) return failed(error.message)
    throw error
  } finally {
    await store.close()
  }
}

/** Opens a store; one that will never open is a mistake in the configuration. */
export async function openNamedStore(storeUrl: string, options: StoreOptions): Promise<Store> {
  try {
    return await openStore(storeUrl, options)
  } catch (error) {
    if (!(error instanceof NotAStore || error instanceof StoreDown)) throw error
    throw new ConfigErrors([`STORE_URL names a store that cannot be used: ${error.message}`])
  }
}

const schemeOf = (storeUrl: string) => /^[a-z]{2,}(?=:)/i.exec(storeUrl.trim())?.[0].toLowerCase()

function failed(why: string): number {
  process.stderr.write(`transload: ${why}\n`)
  return 1
}
