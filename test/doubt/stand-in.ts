import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { answer } from '../../src/sandbox/service.ts'
import { emptyState, type SandboxSettings, type SandboxState } from '../../src/sandbox/state.ts'
import type { UpstreamReply, UpstreamRequest } from '../../src/service/exchange.ts'
import { CLIENT } from '../gateway.ts'

const SETTINGS: SandboxSettings = {
  credentials: { [CLIENT.id]: CLIENT.secret },
  auth: 'both',
  tokenExpiresIn: null,
  shipmentPath: 'both',
  quoteMethod: 'both',
  etag: false,
  repeatedCancel: 409,
  approvalBooks: true,
  findsByReference: false,
  nativeError: undefined,
  nativeNoise: false,
  movingPrices: 0,
  webhookUrl: undefined,
  webhookRetry: { attempts: 1, delayMs: 1 },
  clock: () => new Date(),
}

/** The stand-in of the service as a function. */
export interface StandIn {
  readonly state: SandboxState
  readonly serve: (request: UpstreamRequest) => UpstreamReply
}

/** Opens a stand-in without a listener. */
export function openStandIn(settings: Partial<SandboxSettings> = {}): StandIn {
  const state = emptyState({ ...SETTINGS, ...settings }, () => {})
  return {
    state,
    serve: ({ method, path, headers, body }) => {
      const reply = answer(state, { method, target: path, headers, body: body ?? '' })
      return { status: reply.status, headers: { ...reply.headers }, body: Buffer.from(JSON.stringify(reply.body)) }
    },
  }
}

const config = readConfig({ V2_BASE_URL: 'http://service.invalid' })

/** The built-in declarations. */
export const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
