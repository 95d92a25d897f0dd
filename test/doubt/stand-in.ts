import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { openService, type Service } from '../../src/sandbox/service.ts'
import type { UpstreamReply, UpstreamRequest } from '../../src/service/exchange.ts'
import { CLIENT } from '../gateway.ts'
import { answerAs } from '../stand-in/answer.ts'
import { PLAIN, type SandboxSettings } from '../stand-in/stand-in.ts'

/** The stand-in of the service as a function. */
export interface StandIn {
  readonly state: Service
  readonly serve: (request: UpstreamRequest) => UpstreamReply
}

/** Opens a stand-in without a listener. */
export function openStandIn(settings: Partial<SandboxSettings> = {}): StandIn {
  const all = { ...PLAIN, credentials: { [CLIENT.id]: CLIENT.secret }, tokenExpiresIn: null, ...settings }
  const state = openService(all, () => {})
  return {
    state,
    serve: ({ method, path, headers, body }) => {
      const reply = answerAs(state, all, { method, target: path, headers, body: body ?? '' })
      return { status: reply.status, headers: { ...reply.headers }, body: Buffer.from(JSON.stringify(reply.body)) }
    },
  }
}

const config = readConfig({ V2_BASE_URL: 'http://service.invalid' })

/** The built-in declarations. */
export const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
