import { readConfig } from '../config.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'

/** Commands on the store need no service; its address is asked for only where calls go to it. */
export const NO_SERVICE = { V2_BASE_URL: 'https://service.example.com' } as const

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
