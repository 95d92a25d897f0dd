import { startThread } from '../../outside/store/sqlite/thread.ts'

const OTHER_ENGINES = /^\s*(?:memory|postgres)/i

/**
 * Starts the thread of the embedded store before anything else is loaded, if this process is going to open that store. Node takes
 * as long for it as the gateway for its configuration. The variables are not checked yet: a wrong guess leaves a thread idle.
 */
export function startStoreThread(): void {
  const { STORE_URL = '' } = process.env
  if (!OTHER_ENGINES.test(STORE_URL)) startThread()
}
