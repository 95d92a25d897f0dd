import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { openGateway } from '../../src/gateway.ts'
import { createLog } from '../../src/observe/log.ts'
import { openStore } from '../../src/store/open.ts'
import type { Claim, Store } from '../../src/store/store.ts'

/** The gateway without claims, which must fail: every call wins, and nothing is recorded. */
const config = readConfig()
const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
const log = createLog('warn')
const store = await openStore(config.STORE_URL)
const claims = new Map<string, Claim>()
const unclaiming: Store = {
  ...store,
  claim: async (wanted) => {
    const nothing = { shipment: '', reply: '', expires: 0, createdAt: 0, changedAt: 0 }
    const claim: Claim = { ...wanted, ...nothing, state: 'sending', version: 1 }
    claims.set(wanted.key, claim)
    return { won: true, claim }
  },
  change: async ({ key }) => claims.get(key),
}
const gateway = await openGateway(config, { catalog, store: unclaiming, log })
process.stdout.write(`${JSON.stringify({ msg: 'listening', url: gateway.url })}\n`)
process.on('SIGTERM', () => process.exit(0))
