import { randomUUID } from 'node:crypto'
import { readConfig } from '../config/config.ts'
import { ConfigErrors } from '../config/errors.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants } from '../config/tenants-file.ts'
import { translationSettings } from '../config/translation-settings.ts'
import { type Endpoint, endpointOf, shownUrl } from '../delivery/endpoint.ts'
import { createPost, type Reply } from '../delivery/post.ts'
import { NO_NAMES, renderEvent } from '../delivery/render.ts'
import { createResolve } from '../delivery/resolve.ts'
import type { CallbackBody } from '../store/events.ts'
import { CommandFailed } from './failures.ts'
import { print, printJson } from './output.ts'
import { withoutService } from './store.ts'

/** Sends a signed sample event to the callback of a tenant, and shows the reply; stores nothing. */
export async function testCallback(tenant: string, json: boolean): Promise<number> {
  const { endpoint, body } = await sampleFor(tenant)
  const id = `msg_${randomUUID().replaceAll('-', '')}`
  const reply = await createPost({ resolve: createResolve() })(endpoint, { id, body, at: Date.now() })
  const isDelivered = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300
  const result = { tenant, url: shownUrl(endpoint.url), id, signed: endpoint.keys.length > 0, delivered: isDelivered }
  if (json) printJson({ ...result, outcome: outcomeOf(reply) })
  else print(`${result.url}: ${outcomeOf(reply)}${result.signed ? '' : ' (not signed: there are no callback_secrets)'}`)
  if (!isDelivered && !json) throw new CommandFailed('the sample event was not delivered')
  return isDelivered ? 0 : 1
}

async function sampleFor(tenant: string): Promise<{ readonly endpoint: Endpoint; readonly body: CallbackBody }> {
  const config = readConfig(withoutService(), { certificates: false })
  if (config.TENANTS_FILE === undefined)
    throw new ConfigErrors(['TENANTS_FILE is not set; only tenants have callbacks'])
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const declared = readTenants(config.TENANTS_FILE, catalog.actions).find(({ name }) => name === tenant)
  if (!declared) throw new CommandFailed(`the tenants file has no tenant ${tenant}`)
  const endpoint = endpointOf(declared, translationSettings(config))
  if (!endpoint) throw new CommandFailed(`${tenant} has no callback_url`)
  const [callback] = catalog.callbacks
  const body = callback && renderEvent(callback.callback.example, NO_NAMES, endpoint, catalog)
  if (!body) throw new CommandFailed('the mappings declare no callback')
  return { endpoint, body }
}

const outcomeOf = (reply: Reply): string => (reply.kind === 'answered' ? `answered ${reply.status}` : reply.reason)
