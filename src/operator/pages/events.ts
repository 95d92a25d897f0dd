import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import { gatewayError } from '../../language/errors.ts'
import type { OpenEvents, StoredEvent } from '../../outside/store/events.ts'
import { percent, plural } from '../reports/report.ts'
import type { OperatorRooms } from './home.ts'
import {
  age,
  type Column,
  code,
  count,
  durationOf,
  facts,
  type Html,
  json,
  moment,
  named,
  pill,
  section,
  shortId,
  shown,
  wantsHtml,
} from './layout.ts'

const MOST_EVENTS = 50
const isoTime = (ms: number) => new Date(ms).toISOString()

/** An endpoint, and what it has not been told. */
interface Endpoint {
  readonly tenant: string
  readonly url: string | undefined
  readonly tries: number
  readonly delivered: number
  readonly last: { readonly outcome: string; readonly at: number } | undefined
  readonly stopped: boolean
  readonly pausedUntil: number
  readonly waiting: number
  readonly parked: number
  /** When the next try is due. */
  readonly next: number | undefined
}

/** Answers `/events`: the endpoints, and the events that they have not taken. */
export async function events(incoming: IncomingMessage, rooms: OperatorRooms): Promise<Answer> {
  const { store } = rooms
  const only = new URLSearchParams(incoming.url?.split('?')[1]).get('tenant') || undefined
  const open = (await store.openEvents()).filter(({ tenant }) => only === undefined || tenant === only)
  const [parked, due] = [await firstOf(open, 'parked', store), await firstOf(open, 'due', store)]
  const endpoints = await endpointsOf(only, open, [...parked, ...due], rooms)
  if (!wantsHtml(incoming)) return json({ open, endpoints, parked, due })
  const now = store.now()
  const list = (some: readonly StoredEvent[], caption: string) =>
    section(some, caption, columnsAt(now), 'None.', 'list')
  return rooms.show(
    'Events',
    html`<h1>Events</h1>
<p class="soft">What the service tells, and how it reaches the tenants' callbacks.${only === undefined ? '' : html` Of ${named(only)} only; <a href="/events">show all</a>.`} Times are UTC. <a href="/events.json">JSON</a></p>
<h2>Endpoints</h2>
${section(endpoints, 'Tries are those since this gateway started', endpointColumns(now), html`No tenant has a callback, and no event waits. A tenant of the tenants file with <code>callback_url</code> gets the service's events.`)}
${parked.length === 0 ? '' : html`<h2>Parked</h2>${list(parked, `The oldest ${MOST_EVENTS} at most; they are not tried again`)}<p>Once the cause is fixed, send them again:</p>${code(`transload webhooks replay --state parked${only === undefined ? '' : ` --tenant ${/^[\w.-]+$/.test(only) ? only : 'NAME'}`}`)}`}
${due.length === 0 ? '' : html`<h2>Waiting</h2>${list(due, `The oldest ${MOST_EVENTS} at most; they are delivered by themselves`)}`}`,
  )
}

/** Returns the oldest events in a state, tenant by tenant: each list has an index. */
async function firstOf(open: readonly OpenEvents[], state: OpenEvents['state'], store: OperatorRooms['store']) {
  const found: StoredEvent[] = []
  for (const one of open.filter((some) => some.state === state)) {
    if (found.length >= MOST_EVENTS) break
    found.push(...(await store.listEvents({ tenant: one.tenant, state, limit: MOST_EVENTS - found.length })))
  }
  return found
}

async function endpointsOf(
  only: string | undefined,
  open: readonly OpenEvents[],
  listed: readonly StoredEvent[],
  { store, events: delivery }: OperatorRooms,
): Promise<readonly Endpoint[]> {
  const callbacks = new Map(delivery.callbacks().map((one) => [one.tenant, one]))
  const states = new Map((await store.endpoints()).map((one) => [one.tenant, one]))
  const names = new Set([...open.map(({ tenant }) => tenant), ...states.keys(), ...callbacks.keys()])
  const countOf = (tenant: string, state: OpenEvents['state']) =>
    open.find((one) => one.tenant === tenant && one.state === state)?.count ?? 0
  return [...names]
    .filter((tenant) => only === undefined || tenant === only)
    .map((tenant) => {
      const callback = callbacks.get(tenant)
      const own = listed.filter((event) => event.tenant === tenant)
      const lastTried = own
        .filter(({ outcome }) => outcome !== '')
        .sort((one, other) => other.changedAt - one.changedAt)[0]
      const due = own.filter(({ state }) => state === 'due').map(({ retryAt }) => retryAt)
      return {
        tenant,
        url: callback?.url,
        tries: callback?.tries ?? 0,
        delivered: callback?.delivered ?? 0,
        last: callback?.last ?? (lastTried && { outcome: lastTried.outcome, at: lastTried.changedAt }),
        stopped: states.get(tenant)?.stopped ?? false,
        pausedUntil: states.get(tenant)?.pausedUntil ?? 0,
        waiting: countOf(tenant, 'due'),
        parked: countOf(tenant, 'parked'),
        next: due.length === 0 ? undefined : Math.min(...due),
      }
    })
    .sort((one, other) => Number(other.stopped) - Number(one.stopped) || other.parked - one.parked)
}

const nextTry = (at: number, now: number) => (at <= now ? 'now' : `in ${durationOf(at - now)}`)

const endpointColumns = (now: number): readonly Column<Endpoint>[] => [
  {
    title: 'Tenant',
    cell: ({ tenant }) => html`<a href="/events?${new URLSearchParams({ tenant })}">${named(tenant)}</a>`,
  },
  {
    title: 'Address',
    cell: ({ url }) => (url === undefined ? html`<span class="bad">no callback_url</span>` : named(url)),
  },
  {
    title: 'State',
    cell: ({ stopped, pausedUntil, parked, url, last }) =>
      stopped
        ? pill('stopped', 'bad')
        : pausedUntil > now
          ? pill(`pauses ${durationOf(pausedUntil - now)}`, 'warn')
          : parked > 0 || url === undefined || (last !== undefined && !/^answered 2/.test(last.outcome))
            ? pill('failing', 'bad')
            : pill('working', 'good'),
  },
  count('Success', ({ tries, delivered }) => (tries === 0 ? '–' : percent(delivered / tries))),
  count('Waiting', ({ waiting }) => waiting),
  count('Parked', ({ parked }) => parked),
  { title: 'Next try', cell: ({ next, stopped }) => (next === undefined || stopped ? '' : nextTry(next, now)) },
  {
    title: 'Last answer',
    cell: ({ last, stopped, tenant }) =>
      last === undefined
        ? ''
        : html`${inWords(last.outcome)} <small>${age(isoTime(last.at), now)} ago</small>${stopped ? html` <small>Then: <code>transload webhooks resume ${shown(tenant)}</code></small>` : ''}`,
  },
]

/** Says what became of a try, and what to do about it. */
export function inWords(outcome: string): Html | string {
  const [, address] = /is the address (\S+), which callback_networks does not allow$/.exec(outcome) ?? []
  if (address !== undefined) return html`${shown(address)} is private. Add it to <code>callback_networks</code>.`
  const [, status] = /^answered (\d{3})$/.exec(outcome) ?? []
  if (status === '410') return '410: the endpoint does not want events any more.'
  if (status) return `${status}${status.startsWith('2') ? ': delivered.' : ': the endpoint refused it.'}`
  return outcome === '' ? 'Not tried yet.' : named(`${outcome.slice(0, 1).toUpperCase()}${outcome.slice(1)}.`)
}

const columnsAt = (now: number): readonly Column<StoredEvent>[] => [
  { title: 'Event', cell: ({ id, event }) => html`<a href="/events/${id}">${named(event)}</a>`, line: 1 },
  { title: 'Age', cell: ({ receivedAt }) => age(isoTime(receivedAt), now), line: 1 },
  { title: 'Tenant', cell: ({ tenant }) => named(tenant), line: 2 },
  { title: 'Shipment', cell: ({ shipment }) => shortId(shipment) },
  count('Failed tries', ({ failures }) => failures),
  { title: 'Last answer', cell: ({ outcome }) => inWords(outcome), line: 2 },
]

const STATES = { recorded: 'soft', due: 'warn', delivered: 'good', parked: 'bad', skipped: 'soft' } as const

/** Answers `/events/<id>`: an event, its payload, and its tries. */
export async function event(incoming: IncomingMessage, id: string, { store, show }: OperatorRooms): Promise<Answer> {
  const found = await store.findEvent(id)
  if (!found) throw gatewayError('path-unknown/stored-event', {})
  const { state, tenant, shipment, failures, outcome, body, payload } = found
  const now = store.now()
  if (!wantsHtml(incoming))
    return json({ ...found, received: isoTime(found.receivedAt), changed: isoTime(found.changedAt) })
  const words = state === 'due' ? 'waiting' : state
  return show(
    `${found.event} · ${words}`,
    html`<h1>${named(found.event)} <span class="soft">· ${words} · ${durationOf(now - found.receivedAt)}</span></h1>
<div class="case"><section>
${facts([
  ['State', pill(words, STATES[state])],
  ['Tenant', html`<a href="/events?${new URLSearchParams({ tenant })}">${named(tenant)}</a>`],
  ['Shipment', html`<a href="/bookings?${new URLSearchParams({ q: shipment })}">${named(shipment)}</a>`],
  ['Event id', html`<code>${shown(id)}</code>`],
  ['Received', html`${moment(isoTime(found.receivedAt))} UTC`],
  ['Failed tries', plural(failures, 'try').replace('trys', 'tries')],
  ['Last answer', inWords(outcome)],
  ['Last change', html`${age(isoTime(found.changedAt), now)} ago`],
  ['Next try', state === 'due' ? nextTry(found.retryAt, now) : ''],
])}
${state === 'parked' || state === 'due' ? html`<h2>What you can do</h2><p>Send it again, now:</p>${code(`transload webhooks replay ${id}`)}<p>Or skip it, so that the next event of the shipment goes out:</p>${code(`transload webhooks skip ${id}`)}` : ''}
</section><section>
<h2>Received from the service</h2>${code(pretty(payload))}
${body === undefined ? html`<p class="soft">It has not been translated for the callback yet.</p>` : html`<h2>Sent to the callback</h2>${code(body.format === 'json' ? pretty(body.text) : body.text)}`}
</section></div>`,
    { at: 'Events' },
  )
}

/** Returns JSON on several lines; anything else as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
