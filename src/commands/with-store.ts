import { existsSync } from 'node:fs'
import { readConfig } from '../config.ts'
import { openStore, pathOf } from '../store/open.ts'
import type { Store } from '../store/store.ts'

/** Commands on the store need no service; its address is asked for only where calls go to it. */
export const NO_SERVICE = { V2_BASE_URL: 'https://service.example.com' } as const

/** Runs a command on a store that gateways have made: an empty one made by mistake would say that all is well. */
export async function withLiveStore(work: (store: Store) => Promise<number>): Promise<number> {
  const { STORE_URL } = readConfig({ ...NO_SERVICE, ...process.env })
  const scheme = /^[a-z]{2,}(?=:)/i.exec(STORE_URL)?.[0].toLowerCase()
  if (scheme === 'memory') {
    process.stderr.write('transload: STORE_URL is memory:, which nobody but the gateway itself can look into\n')
    return 1
  }
  const file = scheme?.startsWith('postgres') ? undefined : pathOf(STORE_URL)
  if (file !== undefined && !existsSync(file)) {
    process.stderr.write(`transload: there is no store at ${file}; see that STORE_URL is the gateway's\n`)
    return 1
  }
  return withStore(work)
}

/** Opens the store that the environment names for the time of one command. */
export async function withStore(work: (store: Store) => Promise<number>): Promise<number> {
  const { STORE_URL } = readConfig({ ...NO_SERVICE, ...process.env })
  const store = await openStore(STORE_URL)
  try {
    if (!store.ready()) {
      process.stderr.write('transload: the store does not answer; see that STORE_URL is right and that it runs\n')
      return 1
    }
    return await work(store)
  } finally {
    await store.close()
  }
}
