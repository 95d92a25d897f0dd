/** Opens a gateway whose tenants file has been deleted since it was checked, and closes its store. Nothing keeps the process alive. */

import { loadMappings } from '../../mappings/load.ts'
import { openGateway } from '../../src/gateway.ts'
import { readConfig } from '../../src/language/config/config.ts'
import { createPages } from '../../src/operator/pages/all-pages.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { createLog } from '../../src/runtime/log.ts'

const store = await openStore('memory:')
const config = readConfig({
  ...process.env,
  V2_BASE_URL: 'https://service.example.com',
  TENANTS_FILE: '/nowhere/tenants.json',
})
try {
  await openGateway(config, { catalog: await loadMappings(), store, log: createLog('silent'), pages: createPages })
} catch (error) {
  process.stdout.write(`${error}\n`)
}
await store.close()
