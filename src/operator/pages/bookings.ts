import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import { legacyError } from '../../edge/answers.ts'
import type { Answer } from '../../language/answer.ts'
import { gatewayError } from '../../language/errors.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import type { AuditEntry, Claim, ClaimState } from '../../outside/store/store.ts'
import { type BookingRequest, MOST_COUNTED, outcomeUnknown, publicView } from '../../state/bookings/bookings.ts'
import { durationOf, grouped, STATES, sentenceOf, stateOf } from '../words.ts'
import type { OperatorRooms } from './home.ts'
import {
  age,
  type Column,
  code,
  empty,
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

const KINDS: Readonly<Record<ClaimState, 'good' | 'bad' | 'warn' | 'soft'>> = {
  unknown: 'bad',
  sending: 'warn',
  booked: 'good',
  refused: 'soft',
  freed: 'soft',
}

const statePill = (booking: { readonly state: ClaimState; readonly shipment: string }): Html =>
  pill(stateOf(booking), KINDS[booking.state])

/** A booking as a page shows it. */
type ShownBooking = ReturnType<typeof viewOf>

function viewOf(claim: Claim) {
  const { id, route = [] }: Partial<BookingRequest> = claim.request === '' ? {} : JSON.parse(claim.request)
  const { year = '', make = '', model = '' } = claim.vehicle === '' ? {} : JSON.parse(claim.vehicle)
  const settle = `transload bookings settle ${claim.handle}`
  return {
    ...publicView(claim),
    vehicle: `${year} ${make} ${model}`.trim(),
    route: route.filter((place) => place !== '').join(' → '),
    requestId: id ?? '',
    /** The commands that settle it, if its outcome is not known. */
    ...(claim.state === 'unknown' && {
      settle: { booked: `${settle} --shipment-id ID`, notBooked: `${settle} --not-booked` },
    }),
  }
}

const ON_A_PAGE = 50

/** Answers `/bookings`: one page of bookings, the newest first, or those of a name. */
export async function bookings(incoming: IncomingMessage, rooms: OperatorRooms): Promise<Answer> {
  const { store } = rooms
  const query = new URLSearchParams(incoming.url?.split('?')[1])
  const text = (name: string) => (query.get(name) ?? '').trim()
  const filter = { q: text('q'), tenant: text('tenant'), from: dateOf(text('from')), to: dateOf(text('to')) }
  const state = Object.keys(STATES).find((one): one is ClaimState => one === query.get('state'))
  const tenant = filter.tenant || undefined
  const dates = {
    since: filter.from === '' ? undefined : Date.parse(filter.from),
    until: filter.to === '' ? undefined : Date.parse(filter.to) + DAY_MS,
  }
  const after = await store.claimByHandle(text('after'))
  const claims =
    filter.q === ''
      ? await store.listClaims({ state, tenant, ...dates, after, newest: true, limit: ON_A_PAGE })
      : (await store.claimsNamed(filter.q, ON_A_PAGE)).filter(
          (claim) =>
            (state === undefined || claim.state === state) &&
            (tenant === undefined || claim.tenant === tenant) &&
            claim.createdAt >= (dates.since ?? 0) &&
            claim.createdAt < (dates.until ?? Number.POSITIVE_INFINITY),
        )
  const next = filter.q === '' && claims.length === ON_A_PAGE ? claims.at(-1)?.handle : undefined
  const counts = await store.countClaims(MOST_COUNTED, tenant)
  const lists = { search: filter.q, state, counts, bookings: claims.map(viewOf), next }
  if (!wantsHtml(incoming)) return json(lists)
  return listPage(lists, filter, rooms)
}

/** Returns a day as `2026-03-01`; empty for what is no day. */
const dateOf = (text: string) => (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '')

interface Lists {
  readonly state: ClaimState | undefined
  /** None beyond `MOST_COUNTED`. */
  readonly counts: Readonly<Partial<Record<ClaimState, number>>>
  readonly bookings: readonly ShownBooking[]
  /** The key after which the next page begins. */
  readonly next: string | undefined
}

function listPage(
  { state, counts, bookings: all, next }: Lists,
  filter: Readonly<Record<'q' | 'tenant' | 'from' | 'to', string>>,
  { show, store, callers, config, catalog }: OperatorRooms,
): Promise<Answer> {
  const now = store.now()
  const isFiltered = Object.values(filter).some((value) => value !== '')
  const linkTo = (more: Readonly<Record<string, string>>) => {
    const given = Object.entries({ state: state ?? '', ...filter, ...more }).filter(([, value]) => value !== '')
    return `/bookings?${new URLSearchParams(given)}`
  }
  const tab = (one: ClaimState | '', words: string, number: string) =>
    html`<a href="${linkTo({ state: one })}"${one === (state ?? '') ? html` aria-current="true"` : ''}>${words} <span>${number}</span></a>`
  const numberOf = (one: ClaimState) => {
    const number = counts[one] ?? 0
    return `${grouped(number)}${number >= MOST_COUNTED ? '+' : ''}`
  }
  const book = [...catalog.actions.values()].find(({ action }) => action.verb === 'book')?.action
  const call = `curl -u ID:SECRET http://localhost:${config.PORT}${book?.legacy.paths[0]} -d '${JSON.stringify(book?.example.request)}'`
  const names = callers.tenants()
  return show(
    'Bookings',
    html`<h1>Bookings</h1>
<nav class="tabs" aria-label="States">${(Object.keys(STATES) as ClaimState[]).map((one) => tab(one, STATES[one], numberOf(one)))}${tab('', 'All', '')}</nav>
<form action="/bookings" method="get" class="filter" role="search">
${state === undefined ? '' : html`<input type="hidden" name="state" value="${state}">`}
<label>Reference, key, VIN, or shipment <input type="search" name="q" value="${filter.q}" maxlength="100"></label>
<label>Tenant <input name="tenant" value="${filter.tenant}" maxlength="255" list="tenants"></label>
<datalist id="tenants">${names.slice(0, 500).map((name) => html`<option value="${name}"></option>`)}</datalist>
<label>From <input type="date" name="from" value="${filter.from}"></label>
<label>To <input type="date" name="to" value="${filter.to}"></label>
<button>Show</button>
</form>
${
  all.length === 0 && !isFiltered && state === undefined
    ? html`${empty(html`No bookings yet. Try this call with the credential of a caller:`)}${code(call)}`
    : section(
        all,
        filter.q === '' ? 'The newest first; times are UTC' : 'Bookings found, the newest first; times are UTC',
        columnsAt(now),
        html`No bookings match. <a href="/bookings">Show all bookings</a>`,
        'list',
      )
}
<p class="pages">${next === undefined ? '' : html`<a href="${linkTo({ after: next })}">Older →</a>`} <a href="/bookings.json">JSON</a></p>`,
  )
}

const columnsAt = (now: number): readonly Column<ShownBooking>[] => [
  { title: 'Key', cell: ({ key }) => html`<a href="/bookings/${key}"><code>${key}</code></a>`, line: 1 },
  { title: 'State', cell: statePill, line: 1 },
  { title: 'Age', cell: ({ created }) => age(created, now), line: 1 },
  { title: 'Reference', cell: ({ reference }) => named(reference), line: 2 },
  { title: 'VIN', cell: ({ vin }) => (vin === '' ? '' : html`<code>${shown(vin)}</code>`) },
  { title: 'Tenant', cell: ({ tenant }) => named(tenant), line: 2 },
  { title: 'Shipment', cell: ({ shipment }) => shortId(shipment) },
  {
    title: 'Changed',
    cell: ({ changed, created }) =>
      Date.parse(changed) - Date.parse(created) < 60_000 ? '' : html`${age(changed, now)} ago`,
  },
]

/** Answers `/bookings/<key>`: a booking as a case to resolve. */
export async function booking(incoming: IncomingMessage, handle: string, rooms: OperatorRooms): Promise<Answer> {
  const { store } = rooms
  const claim = await store.claimByHandle(handle)
  const trail = await store.audit(handle)
  if (!claim && trail.length === 0) throw gatewayError('path-unknown/booking', {})
  if (wantsHtml(incoming)) return claim ? casePage(claim, trail, rooms) : pastPage(handle, trail, rooms)
  const history = trail.map(({ at, ...entry }) => ({ at: new Date(at).toISOString(), ...entry }))
  return json({ booking: claim && viewOf(claim), history })
}

function casePage(claim: Claim, trail: readonly AuditEntry[], rooms: OperatorRooms): Promise<Answer> {
  const { store, callers, config, address } = rooms
  const view = viewOf(claim)
  const { reference, state } = view
  const own = callers.ownCaller(claim.tenant)
  const now = store.now()
  const words = STATES[state].toLowerCase()
  const title = `${reference || view.key} · ${words} · ${durationOf(now - claim.createdAt)}`
  const canAsk = own !== undefined
  const { origin, prefix } = own?.account ?? address
  const subject = view.shipment || reference
  const lookUp = `curl -u "$SERVICE_ID:$SERVICE_SECRET" '${origin}${prefix}/v2/shipments/${encodeURIComponent(subject).replaceAll("'", '%27')}'`
  const reopens = trail.at(-1)?.why.startsWith('settled: ') || trail.at(-1)?.why.startsWith('healed: ')
  const told = legacyError(outcomeUnknown(view.key), 'booking', '', own?.profile.support ?? config.SUPPORT_CONTACT)
  const { Message: message }: { Message?: string } = JSON.parse(String(told.body))
  return rooms.show(
    title,
    html`<h1>${named(reference || view.key)} <span class="soft">· ${words} · ${durationOf(now - claim.createdAt)}</span></h1>
<div class="case"><section>
${facts([
  ['State', statePill(view)],
  ['Key', html`<code>${view.key}</code>`],
  ['Tenant', html`<a href="/bookings?${new URLSearchParams({ tenant: view.tenant })}">${named(view.tenant)}</a>`],
  ['Reference', named(reference)],
  ['VIN', view.vin === '' ? '' : html`<code>${shown(view.vin)}</code>`],
  ['Vehicle', named(view.vehicle)],
  ['Route', named(view.route)],
  ['Shipment', view.shipment === '' ? '' : html`<code>${shown(view.shipment)}</code>`],
  ['Made', html`${moment(view.created)} UTC`],
  ['X-Request-Id', view.requestId === '' ? '' : html`<code>${shown(view.requestId)}</code>`],
])}
<h2>What happened</h2>
${timeline(trail)}
${state === 'unknown' ? html`<h2>What the caller was told</h2><p class="notice">${shown(message ?? '')}</p><p class="soft">Each further attempt gets the same answer, and nothing is sent.</p>` : ''}
</section><section>
${
  view.settle
    ? html`<h2>Resolve it</h2>
<h3>1. Look for the shipment at the service</h3>
${subject === '' ? html`<p>The booking has no reference. Look for the VIN or the route.</p>` : code(lookUp)}
<p class="soft">The shipment's <code>external_id</code> is the reference${canAsk ? '' : "; use the caller's credential"}.</p>
<h3>2. If it is there, say so</h3>
${code(view.settle.booked)}
<p>The caller's next attempt gets the answer of this shipment. Nothing is sent.</p>
<h3>3. If it is not there, free the key</h3>
${code(view.settle.notBooked)}
<p>The caller's next attempt is sent to the service. If the service did make a shipment, that is a second one. ${canAsk ? 'The command asks the service first.' : html`The gateway has no credential to ask the service with: add <code>--unchecked</code>.`}</p>
<h3>If you do nothing</h3>
<p>${canAsk ? 'The gateway keeps looking. A service event, or a search every ten minutes, settles the booking once the shipment shows.' : 'The booking stays unknown: the gateway has no credential of its own to look with.'}</p>`
    : reopens
      ? html`<h2>If this is wrong</h2><p>Take the settlement back: the booking is unknown again.</p>${code(`transload bookings reopen ${view.key}`)}`
      : state === 'booked' || state === 'sending'
        ? html`<h2>${state === 'booked' ? 'The shipment' : 'In progress'}</h2><p>${state === 'booked' ? 'See it at the service:' : 'The gateway is waiting for the service to answer.'}</p>${state === 'booked' ? code(lookUp) : ''}`
        : html`<h2>Nothing to do</h2><p>The key is free: the caller's next attempt is sent to the service.</p>`
}
</section></div>`,
    { at: 'Bookings' },
  )
}

const pastPage = (handle: string, trail: readonly AuditEntry[], { show }: OperatorRooms) =>
  show(
    handle,
    html`<h1>${named(handle)}</h1><p>Its key belongs to a later booking; only the history is left.</p>${timeline(trail)}`,
    { at: 'Bookings' },
  )

/** Tells the history of a booking in sentences, the oldest first. */
function timeline(trail: readonly AuditEntry[]): Html {
  const SECONDS = 19
  const DATE = 11
  const rows = trail.map((entry, at) => {
    const time = new Date(entry.at).toISOString()
    const isSameDay =
      trail[at - 1] && new Date(trail[at - 1]?.at ?? 0).toISOString().slice(0, DATE) === time.slice(0, DATE)
    const text = time
      .slice(0, SECONDS)
      .replace('T', ' ')
      .slice(isSameDay ? DATE : 0)
    return html`<li><time datetime="${time}">${text}</time><span title="By ${shown(entry.instance)}">${shown(sentenceOf(entry))}</span></li>`
  })
  return html`<ol class="timeline">${rows}</ol>`
}
