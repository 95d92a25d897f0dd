import { existsSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { createMemoryStore } from '../store/memory.ts'
import { loadEngine, pathOf } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { createXref, type Xref } from '../xref/xref.ts'
import { openConfiguredStore } from './open-store.ts'

/** Runs work with the gateway's cross-reference, if there is one; nothing is written into it. */
export async function withReadOnlyXref<T>(config: Config, work: (xref: Xref) => Promise<T>): Promise<T> {
  const store = await storeOf(config)
  try {
    const readOnly = { ...store, put: async () => {} }
    return await work(createXref(readOnly, config.QUOTE_MEMORY))
  } finally {
    await store.close()
  }
}

async function storeOf({ STORE_URL: url }: Config): Promise<Store> {
  const isMemory = /^\s*memory:/i.test(url)
  const isServer = /^\s*postgres(ql)?:/i.test(url)
  // A new empty store would be left behind.
  if (isMemory || (!isServer && !existsSync(pathOf(url)))) return createMemoryStore()
  return openConfiguredStore(await loadEngine(url), { mustExist: true })
}
