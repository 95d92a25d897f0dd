import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import { gatewayError } from '../../language/errors.ts'
import type { OpenEvents, StoredEvent } from '../../outside/store/events.ts'
import { percent } from '../reports/verdict.ts'
import { capitalized, durationOf, grouped, isoTime, largestFirst } from '../words.ts'
import type { OperatorRooms } from './home.ts'
import {
  age,
  type Column,
  code,
  codeOf,
  facts,
  type Html,
  json,
  moment,
  named,
  nameLink,
  pill,
  queryOf,
  shortId,
  showCase,
  shown,
  table,
  wantsHtml,
} from './layout.ts'

const MOST_EVENTS = 50

/** Answers `/events`: the endpoints, and the events that they have not taken. */
export async function events(incoming: IncomingMessage, rooms: OperatorRooms): Promise<Answer> {
  const { store, show } = rooms
  const only = queryOf(incoming).get('tenant') || undefined
  const isAsked = ({ tenant }: { readonly tenant: string }) => only === undefined || tenant === only
  const open = (await store.openEvents()).filter(isAsked)
  const [parked, due] = [await firstOf(open, 'parked', store), await firstOf(open, 'due', store)]
  const endpoints = (await endpointsOf(open, [...parked, ...due], rooms)).filter(isAsked)
  if (!wantsHtml(incoming)) return json({ open, endpoints, parked, due })
  const now = store.now()
  const list = (title: string, some: readonly StoredEvent[], more: string) =>
    some.length > 0 &&
    html`<h2>${title}</h2>${table(`At most the ${MOST_EVENTS} oldest; ${more}`, columnsAt(now), some, 'list')}`
  const filtered = only && html` Showing only ${named(only)}; <a href="/events">show all</a>.`
  const noEndpoint = html`${only ? 'This tenant has no callback' : 'No tenant has a callback'}, and no events are waiting. To deliver the service's events to a tenant, set its <code>callback_url</code> in the tenants file.`
  const replay = `transload webhooks replay --state parked${only ? ` --tenant ${/^[\w.-]+$/.test(only) ? only : 'NAME'}` : ''}`
  return show(
    'Events',
    html`<h1>Events</h1>
<p class="soft">Events from the service, and their delivery to the tenants' callbacks.${filtered} Times are UTC. <a href="/events.json${only ? `?${new URLSearchParams({ tenant: only })}` : ''}">JSON</a></p>
<h2>Endpoints</h2>
${table('The success rate counts attempts since this gateway started', endpointColumns(now), endpoints, 'cards', noEndpoint)}
${list('Parked', parked, 'they are not retried')}
${parked.length > 0 && html`<p>Once the cause is fixed, send them again:</p>${code(replay)}`}
${list('Waiting', due, 'they are delivered automatically, unless the endpoint is stopped')}`,
  )
}

/** Returns the oldest events in a state, tenant by tenant: each list has an index. */
async function firstOf(open: readonly OpenEvents[], wanted: OpenEvents['state'], store: OperatorRooms['store']) {
  const found: StoredEvent[] = []
  for (const { tenant, state } of open) {
    const limit = MOST_EVENTS - found.length
    if (state === wanted && limit > 0) found.push(...(await store.listEvents({ tenant, state, limit })))
  }
  return found
}

/** An endpoint, and what it has not been told. */
type EndpointRow = Awaited<ReturnType<typeof endpointsOf>>[number]

async function endpointsOf(
  open: readonly OpenEvents[],
  listed: readonly StoredEvent[],
  { store, events: delivery }: OperatorRooms,
) {
  const callbacks = new Map(delivery.callbacks().map((one) => [one.tenant, one]))
  const states = new Map((await store.endpoints()).map((one) => [one.tenant, one]))
  const countOf = (tenant: string, state: OpenEvents['state']) =>
    open.find((one) => one.tenant === tenant && one.state === state)?.count ?? 0
  return [...new Set([...open.map(({ tenant }) => tenant), ...states.keys(), ...callbacks.keys()])]
    .map((tenant) => {
      const { url, tries = 0, delivered = 0, last } = callbacks.get(tenant) ?? {}
      const { stopped = false, pausedUntil = 0 } = states.get(tenant) ?? {}
      const own = listed.filter((event) => event.tenant === tenant)
      const [tried] = own.filter(({ outcome }) => outcome !== '').sort(largestFirst('changedAt'))
      const [next] = own
        .flatMap(({ state, retryAt }) => (state === 'due' ? [retryAt] : []))
        .sort((one, other) => one - other)
      return {
        tenant,
        url,
        tries,
        delivered,
        last: last ?? (tried && { outcome: tried.outcome, at: tried.changedAt }),
        stopped,
        pausedUntil,
        waiting: countOf(tenant, 'due'),
        parked: countOf(tenant, 'parked'),
        /** When the next try is due. */
        next,
      }
    })
    .sort((one, other) => Number(other.stopped) - Number(one.stopped) || other.parked - one.parked)
}

const nextTry = (at: number, now: number) => (at <= now ? 'now' : `in ${durationOf(at - now)}`)
const ago = (at: number, now: number) => html`${age(isoTime(at), now)} ago`
const eventsOf = (tenant: string) => nameLink('/events', { tenant }, tenant)

function stateOf({ stopped, pausedUntil, parked, url, last }: EndpointRow, now: number): Html {
  if (stopped) return pill('stopped', 'bad')
  if (pausedUntil > now) return pill(`paused for ${durationOf(pausedUntil - now)}`, 'warn')
  if (last === undefined && parked === 0 && url !== undefined) return pill('not called yet')
  const isFailing = parked > 0 || url === undefined || !/^answered 2/.test(last?.outcome ?? '')
  return isFailing ? pill('failing', 'bad') : pill('working', 'good')
}

const endpointColumns = (now: number): readonly Column<EndpointRow>[] => [
  ['Tenant', 'tenant', eventsOf],
  ['Address', ({ url }) => (url === undefined ? html`<span class="bad">no callback_url</span>` : named(url))],
  ['State', (endpoint) => stateOf(endpoint, now)],
  ['Success', ({ tries, delivered }) => (tries === 0 ? '–' : percent(delivered / tries)), 'number'],
  ['Waiting', 'waiting'],
  ['Parked', 'parked'],
  ['Next attempt', ({ next, stopped }) => next !== undefined && !stopped && nextTry(next, now)],
  ['Last answer', (endpoint) => lastAnswer(endpoint, now)],
]

function lastAnswer({ last, stopped, tenant }: EndpointRow, now: number) {
  const then = stopped && html` <small>To resume: <code>transload webhooks resume ${shown(tenant)}</code></small>`
  return last && html`${inWords(last.outcome)} <small>${ago(last.at, now)}</small>${then}`
}

/** Says what became of a try, and what to do about it. */
function inWords(outcome: string): Html | string {
  const [, address] = /^(\S+) is private; add it to callback_networks$/.exec(outcome) ?? []
  if (address !== undefined) return html`${shown(address)} is private. Add it to <code>callback_networks</code>.`
  const [, status] = /^answered (\d{3})$/.exec(outcome) ?? []
  if (status === '410') return '410: the endpoint no longer wants events.'
  if (status) return `${status}${status.startsWith('2') ? ': delivered.' : ': the endpoint refused it.'}`
  return outcome === '' ? 'Not tried yet.' : named(`${capitalized(outcome)}.`)
}

const columnsAt = (now: number): readonly Column<StoredEvent>[] => [
  ['Event', ({ id, event }) => html`<a href="/events/${id}">${named(event)}</a>`, 'line1'],
  ['Age', ({ receivedAt }) => age(isoTime(receivedAt), now), 'line1'],
  ['Tenant', 'tenant', named, 'line2'],
  ['Shipment', 'shipment', shortId],
  ['Failed attempts', 'failures'],
  ['Last answer', 'outcome', inWords, 'line2'],
]

const STATES = { recorded: 'soft', due: 'warn', delivered: 'good', parked: 'bad', skipped: 'soft' } as const

/** Answers `/events/<id>`: an event, its payload, and its tries. */
export async function event(incoming: IncomingMessage, { store, show }: OperatorRooms, id: string): Promise<Answer> {
  const found = await store.findEvent(id)
  if (!found) throw gatewayError('path-unknown/stored-event', {})
  const { state, tenant, shipment, outcome, body, receivedAt, changedAt } = found
  if (!wantsHtml(incoming)) return json({ ...found, received: isoTime(receivedAt), changed: isoTime(changedAt) })
  const now = store.now()
  const words = state === 'due' ? 'waiting' : state
  const isStopped = (await store.endpoints()).some((one) => one.tenant === tenant && one.stopped)
  const actions = html`<h2>What you can do</h2><p>Send it again, now:</p>${code(`transload webhooks replay ${id}`)}<p>Or skip it, so that the shipment's next event is delivered:</p>${code(`transload webhooks skip ${id}`)}`
  const what = html`${facts([
    ['State', pill(words, STATES[state])],
    ['Tenant', eventsOf(tenant)],
    ['Shipment', nameLink('/bookings', { q: shipment }, shipment)],
    ['Event id', codeOf(id)],
    ['Received', html`${moment(isoTime(receivedAt))} UTC`],
    ['Failed attempts', grouped(found.failures)],
    ['Last answer', inWords(outcome)],
    ['Last change', ago(changedAt, now)],
    ['Next attempt', state === 'due' && (isStopped ? 'none: the endpoint is stopped' : nextTry(found.retryAt, now))],
  ])}
${(state === 'parked' || state === 'due') && actions}`
  const sent = body
    ? html`<h2>${state === 'delivered' ? 'Sent to' : 'Body for'} the callback</h2>${code(body.format === 'json' ? pretty(body.text) : body.text)}`
    : html`<p class="soft">It has not been translated for the callback yet.</p>`
  const received = html`<h2>Received from the service</h2>${code(pretty(found.payload))}${sent}`
  return showCase(show, 'Events', [found.event, words, durationOf(now - receivedAt)], what, received)
}

/** Returns JSON on several lines; anything else as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
