import { randomUUID } from 'node:crypto'
import { ConfigErrors } from '../../language/config/errors.ts'
import { readTenants } from '../../language/config/tenants-file.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { NO_NAMES } from '../../language/mapping/callback.ts'
import { pages } from '../../outside/store/copy.ts'
import type { EventFilter, EventState, StoredEvent } from '../../outside/store/events.ts'
import type { Store } from '../../outside/store/store.ts'
import { callbackOf, createPost, createResolve, shownUrl } from '../../state/events/callback.ts'
import { renderEvent } from '../../state/events/delivery.ts'
import { isoTime, plural } from '../words.ts'
import { CommandFailed, EXIT_FAILED, UsageError } from './failures.ts'
import { mappingsOf, storeConfig, timeOf, withExistingStore } from './open-store.ts'
import {
  createProgress,
  type JsonOption,
  type Options,
  printError,
  printJson,
  printPages,
  printResult,
} from './output.ts'

/** How many events are listed, or replayed, in one step. */
const PAGE = 500

type RangeOptions = Options<'json', 'tenant' | 'since' | 'until'> & { readonly state?: EventState }

const filterOf = ({ state, tenant, since, until }: RangeOptions): EventFilter => ({
  tenant,
  state,
  since: timeOf('--since', since, 'any'),
  until: timeOf('--until', until, 'any'),
})

/** Lists events and their deliveries. */
export function list({ json = false, ...range }: RangeOptions): Promise<number> {
  const filter = filterOf(range)
  return withExistingStore(async (store) => {
    const listed = await printPages(pagesOf(store, filter), { json }, eventView, COLUMNS)
    if (json) return 0
    printError(plural(listed, 'event'))
    for (const { tenant, stopped, pausedUntil } of await store.endpoints()) {
      const why = stopped ? 'has stopped its deliveries' : `is paused until ${isoTime(pausedUntil)}`
      printError(`The callback of ${tenant} ${why}.`)
    }
    return 0
  })
}

const pagesOf = (store: Store, filter: EventFilter) =>
  pages<StoredEvent>((last) => store.listEvents({ ...filter, after: last?.no, limit: PAGE }), PAGE)

/** Returns the fields of an event that operators see in a list. */
function eventView(stored: StoredEvent) {
  const { id, state, tenant, shipment, event, date, failures, outcome, receivedAt, changedAt, retryAt } = stored
  return {
    id,
    state,
    received: isoTime(receivedAt),
    tenant,
    shipment,
    event,
    date,
    failures,
    outcome,
    changed: isoTime(changedAt),
    ...(state === 'due' && { next: isoTime(retryAt) }),
  }
}

const COLUMNS = ['id', 'state', 'received', 'tenant', 'shipment', 'event', 'failures', 'outcome'] as const

/** Shows an event with what was received and delivered. */
export function show(id: string, { json }: JsonOption): Promise<number> {
  return withExistingStore(async (store) => {
    const event = await eventAt(store, id)
    printJson({ ...eventView(event), payload: event.payload, body: event.body?.text }, json ? undefined : 2)
    return 0
  })
}

/** Delivers an event again, or all that fit the options. */
export function replay(id: string | undefined, range: RangeOptions): Promise<number> {
  const { json: _, ...chosen } = range
  if ((id === undefined) === (Object.keys(chosen).length === 0)) {
    throw new UsageError('replay needs either an ID or at least one of --state, --tenant, --since, --until')
  }
  const filter = filterOf(range)
  return withExistingStore(async (store) => {
    const ids: string[] = []
    if (id === undefined) for await (const page of pagesOf(store, filter)) ids.push(...page.map((event) => event.id))
    else ids.push((await eventAt(store, id)).id)
    const progress = createProgress('replayed', 'events')
    let replayed = 0
    for (let from = 0; from < ids.length; from += PAGE) {
      replayed += await store.replayEvents(ids.slice(from, from + PAGE))
      progress(replayed, from / ids.length)
    }
    return printResult(
      range,
      { replayed },
      id === undefined ? `${plural(replayed, 'event')} ${replayed === 1 ? 'is' : 'are'} due.` : `${id} is due.`,
    )
  })
}

/** Gives an event up. */
export function skip(id: string, options: JsonOption): Promise<number> {
  return withExistingStore(async (store) => {
    const { state } = await eventAt(store, id)
    const skipped = await store.skipEvents([id])
    if (skipped === 0) throw new CommandFailed(`${id} is ${state}; only due and parked events can be skipped`)
    return printResult(options, { skipped }, `${id} is skipped.`)
  })
}

/** Goes on with the deliveries to a tenant. */
export function resume(tenant: string, options: JsonOption): Promise<number> {
  return withExistingStore(async (store) => {
    const resumed = await store.resumeEndpoint(tenant)
    if (!resumed) throw new CommandFailed(`the callback of ${tenant} is neither stopped nor paused`)
    return printResult(options, { resumed }, `Deliveries to ${tenant} resume.`)
  })
}

async function eventAt(store: Store, id: string): Promise<StoredEvent> {
  const event = await store.findEvent(id)
  if (!event) throw new CommandFailed(`there is no event ${id}`)
  return event
}

/** Sends a signed sample event to the callback of a tenant, and shows the reply; stores nothing. */
export async function test(tenant: string, { json = false }: JsonOption): Promise<number> {
  const { endpoint, body } = await sampleFor(tenant)
  const id = `msg_${randomUUID().replaceAll('-', '')}`
  const reply = await createPost({ resolve: createResolve() })(endpoint, { id, body, at: Date.now() })
  const [url, signed] = [shownUrl(endpoint.url), endpoint.keys.length > 0]
  const delivered = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300
  const outcome = reply.kind === 'answered' ? `answered ${reply.status}` : reply.reason
  const line = `${url}: ${outcome}${signed ? '' : ' (not signed: there are no callback_secrets)'}`
  printResult({ json }, { tenant, url, id, signed, delivered, outcome }, line)
  if (!delivered && !json) throw new CommandFailed('the sample event was not delivered')
  return delivered ? 0 : EXIT_FAILED
}

async function sampleFor(tenant: string) {
  const config = storeConfig()
  if (config.TENANTS_FILE === undefined)
    throw new ConfigErrors(['TENANTS_FILE is not set; only tenants have callbacks'])
  const catalog = await mappingsOf(config)
  const declared = readTenants(config.TENANTS_FILE, catalog).find(({ name }) => name === tenant)
  if (!declared) throw new CommandFailed(`the tenants file has no tenant ${tenant}`)
  const endpoint = callbackOf(declared, translationSettings(config))
  if (!endpoint) throw new CommandFailed(`${tenant} has no callback_url`)
  const [callback] = catalog.callbacks
  const body = callback && renderEvent(callback.callback.example, NO_NAMES, endpoint, catalog)
  if (!body) throw new CommandFailed('the mappings declare no callback')
  return { endpoint, body }
}
