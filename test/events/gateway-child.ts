import { openGateway } from '../../src/gateway.ts'
import { loadConfig } from '../../src/operator/commands/load.ts'
import { createPages } from '../../src/operator/pages/all-pages.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { createLog } from '../../src/runtime/log.ts'

/*
 * A gateway that often looks for deliveries of a killed one and for unknown bookings.
 */

const { config, catalog } = await loadConfig()
const log = createLog('info', { write: (line) => void process.stdout.write(line) })
const store = await openStore(config.STORE_URL)
const callbacks = { pollEveryMs: 100 }
const { url } = await openGateway(config, { catalog, store, log, pages: createPages, callbacks, sweepEveryMs: 1_000 })
log.info({ url }, 'listening')
