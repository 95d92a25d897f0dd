import type { Config } from '../config/config.ts'
import { createShares, type Shares } from './shares.ts'

/** Makes the shares of the configuration. */
export function openShares(config: Config): Shares {
  return createShares({
    maxConnections: config.MAX_CONNECTIONS,
    sourceConnections: config.SOURCE_CONNECTIONS,
    maxInFlight: config.MAX_IN_FLIGHT,
    sourceInFlight: config.SOURCE_IN_FLIGHT,
    bodiesLimitBytes: config.BODIES_LIMIT_BYTES,
  })
}
