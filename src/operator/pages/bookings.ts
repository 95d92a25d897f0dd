import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import { legacyError } from '../../edge/answers.ts'
import type { Answer } from '../../language/answer.ts'
import { gatewayError } from '../../language/errors.ts'
import { isPlainId } from '../../language/text/service-text.ts'
import { toldBy } from '../../outside/store/claim.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import type { AuditEntry, Claim, ClaimState } from '../../outside/store/store.ts'
import { outcomeUnknown, requestOf } from '../../state/bookings/bookings.ts'
import { MOST_COUNTED, publicView } from '../../state/bookings/listing.ts'
import { isReopened } from '../../state/bookings/settlement.ts'
import { durationOf, isoTime, MINUTE_MS, STATES, sentenceOf, stateOf } from '../words.ts'
import { countOf, type OperatorRooms } from './home.ts'
import {
  age,
  type Column,
  code,
  codeOf,
  empty,
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
import { servedPaths } from './reference.ts'

const KINDS = { unknown: 'bad', sending: 'warn', booked: 'good', refused: 'soft', freed: 'soft' } as const

const statePill = (booking: Pick<Claim, 'state' | 'shipment'>): Html => pill(stateOf(booking), KINDS[booking.state])

/** A booking as a page shows it. */
type ShownBooking = ReturnType<typeof viewOf>

function viewOf(claim: Claim) {
  const { id, route = [] } = requestOf(claim)
  const { year = '', make = '', model = '' } = toldBy(claim)
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

/** Answers `/bookings`: one page of bookings, the newest first, or those of a name. */
export async function bookings(incoming: IncomingMessage, rooms: OperatorRooms): Promise<Answer> {
  const query = queryOf(incoming)
  const filter = filterOf(query)
  const lists = await listsOf(query, filter, rooms)
  return wantsHtml(incoming) ? listPage(lists, filter, rooms) : json(lists)
}

/** Reads what a request asks for, as it stands in the form; a day is empty where it is none. */
function filterOf(query: URLSearchParams) {
  const of = (name: string) => (query.get(name) ?? '').trim()
  const day = (name: string) =>
    /^\d{4}-\d\d-\d\d$/.test(of(name)) && !Number.isNaN(Date.parse(of(name))) ? of(name) : ''
  return { q: of('q'), tenant: of('tenant'), from: day('from'), to: day('to') }
}

const ON_A_PAGE = 50

async function listsOf(query: URLSearchParams, { q, tenant, from, to }: Filter, { store }: OperatorRooms) {
  const state = Object.keys(STATES).find((one): one is ClaimState => one === query.get('state'))
  const claims = await store.listClaims({
    state,
    tenant: tenant || undefined,
    since: from === '' ? undefined : Date.parse(from),
    until: to === '' ? undefined : Date.parse(to) + DAY_MS,
    name: q || undefined,
    after: await store.claimByHandle(query.get('after')?.trim() ?? ''),
    newest: true,
    limit: ON_A_PAGE,
  })
  return {
    search: q,
    state,
    /** None beyond `MOST_COUNTED`. */
    counts: await store.countClaims(MOST_COUNTED, tenant || undefined),
    bookings: claims.map(viewOf),
    /** The key after which the next page begins. */
    next: claims.length === ON_A_PAGE ? claims.at(-1)?.handle : undefined,
  }
}

type Filter = ReturnType<typeof filterOf>
type Lists = Awaited<ReturnType<typeof listsOf>>

function listPage(
  { state, counts, bookings: all, next }: Lists,
  filter: Filter,
  rooms: OperatorRooms,
): Promise<Answer> {
  const { show, store, callers } = rooms
  const linkTo = (more: Readonly<Record<string, string>>, ending = '') => {
    const given = Object.entries({ state: state ?? '', ...filter, ...more }).filter(([, value]) => value !== '')
    return `/bookings${ending}?${new URLSearchParams(given)}`
  }
  const tab = (one: string, words: string, number: string) =>
    html`<a href="${linkTo({ state: one })}"${one === (state ?? '') && html` aria-current="true"`}>${words} <span>${number}</span></a>`
  const tabs = Object.entries(STATES).map(([one, words]) => tab(one, words, countOf(counts[one as ClaimState] ?? 0)))
  const isAll = state === undefined && Object.values(filter).every((value) => value === '')
  const caption = filter.q === '' ? 'Newest first; times are UTC' : 'Bookings found, newest first; times are UTC'
  const tenants = callers.tenants().slice(0, 500)
  return show(
    'Bookings',
    html`<h1>Bookings</h1>
<nav class="tabs" aria-label="States">${tabs}${tab('', 'All', '')}</nav>
<form action="/bookings" method="get" class="filter" role="search">
${state && html`<input type="hidden" name="state" value="${state}">`}
<label>Reference, key, VIN, or shipment <input type="search" name="q" value="${filter.q}" maxlength="100"></label>
<label>Tenant <input name="tenant" value="${filter.tenant}" maxlength="255" list="tenants"></label>
<datalist id="tenants">${tenants.map((name) => html`<option value="${name}"></option>`)}</datalist>
<label>From <input type="date" name="from" value="${filter.from}"></label>
<label>To <input type="date" name="to" value="${filter.to}"></label>
<button>Show</button>
</form>
${all.length > 0 ? table(caption, columnsAt(store.now()), all, 'list') : isAll ? noneYet(rooms) : NONE_MATCHES}
<p class="pages">${next && html`<a href="${linkTo({ after: next })}">Older →</a>`} <a href="${linkTo({}, '.json')}">JSON</a></p>`,
  )
}

const NONE_MATCHES = empty(html`No bookings match. <a href="/bookings">Show all bookings</a>`)

function noneYet({ catalog, config }: OperatorRooms): Html {
  const book = catalog.firstOf('book')?.action
  const call = `curl -u ID:SECRET http://localhost:${config.PORT}${book && servedPaths(book, config)[0]} -d '${JSON.stringify(book?.example.request)}'`
  return html`${empty("No bookings yet. Try this call with a caller's credential:")}${code(call)}`
}

const columnsAt = (now: number): readonly Column<ShownBooking>[] => [
  ['Key', ({ key }) => html`<a href="/bookings/${key}"><code>${key}</code></a>`, 'line1'],
  ['State', statePill, 'line1'],
  ['Age', ({ created }) => age(created, now), 'line1'],
  ['Reference', 'reference', named, 'line2'],
  ['VIN', 'vin', codeOf],
  ['Tenant', 'tenant', named, 'line2'],
  ['Shipment', 'shipment', shortId],
  [
    'Changed',
    ({ changed, created }) => Date.parse(changed) - Date.parse(created) >= MINUTE_MS && html`${age(changed, now)} ago`,
  ],
]

/** Answers `/bookings/<key>`: a booking as a case to resolve. */
export async function booking(incoming: IncomingMessage, rooms: OperatorRooms, handle: string): Promise<Answer> {
  const { store, show } = rooms
  const claim = await store.claimByHandle(handle)
  const trail = await store.audit(handle)
  if (!claim && trail.length === 0) throw gatewayError('path-unknown/booking', {})
  if (!wantsHtml(incoming)) {
    const history = trail.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry }))
    return json({ booking: claim && viewOf(claim), history })
  }
  if (claim) return casePage(claim, trail, rooms)
  const past = html`<p>A later booking has this key now. Only the history of this one is left.</p>`
  return show(handle, html`<h1>${named(handle)}</h1>${past}${timeline(trail)}`, { at: 'Bookings' })
}

function casePage(claim: Claim, trail: readonly AuditEntry[], rooms: OperatorRooms): Promise<Answer> {
  const { store, callers, config, service, show } = rooms
  const view = viewOf(claim)
  const { key, reference, state, settle } = view
  const own = callers.ownCaller(claim.tenant)
  const address = own?.account ?? rooms.address
  const subject = view.shipment || reference
  const lookUp = `curl -u "$SERVICE_ID:$SERVICE_SECRET" '${address.origin}${address.prefix}${service.shipmentPath(subject, address).replaceAll("'", '%27')}'`
  const what = html`${factsOf(view)}
<h2>What happened</h2>
${timeline(trail)}
${settle && toldPart(key, own?.profile.support ?? config.SUPPORT_CONTACT)}`
  const isSettled = /^(settled|healed): /.test(trail.at(-1)?.why ?? '')
  const todo = settle
    ? resolution(settle, subject === '' ? undefined : lookUp, own !== undefined, reference, isReopened(trail))
    : isSettled
      ? html`<h2>If this is wrong</h2><p>Undo the settlement. The booking becomes unknown again.</p>${code(`transload bookings reopen ${key}`)}`
      : (OVER[state] ?? html`<h2>The shipment</h2><p>See it at the service:</p>${code(lookUp)}`)
  const names = [reference || key, stateOf(view).toLowerCase(), durationOf(store.now() - claim.createdAt)] as const
  return showCase(show, 'Bookings', names, what, todo)
}

const factsOf = (view: ShownBooking) =>
  facts([
    ['State', statePill(view)],
    ['Key', codeOf(view.key)],
    ['Tenant', nameLink('/bookings', { tenant: view.tenant }, view.tenant)],
    ['Reference', named(view.reference)],
    ['VIN', codeOf(view.vin)],
    ['Vehicle', named(view.vehicle)],
    ['Route', named(view.route)],
    ['Shipment', codeOf(view.shipment)],
    ['Created', html`${moment(view.created)} UTC`],
    ['X-Request-Id', codeOf(view.requestId)],
  ])

/** Repeats what the caller of an unknown booking was told. */
function toldPart(key: string, support: string | undefined): Html {
  const { body } = legacyError(outcomeUnknown(key), 'booking', '', support)
  const { Message: message = '' }: { Message?: string } = JSON.parse(String(body))
  return html`<h2>What the caller was told</h2><p class="notice">${shown(message)}</p><p class="soft">Every further attempt gets the same answer, and nothing is sent.</p>`
}

const FREE = html`<h2>Nothing to do</h2><p>The key is free: the caller's next attempt is sent to the service.</p>`
const OVER: Readonly<Partial<Record<ClaimState, Html>>> = {
  sending: html`<h2>In progress</h2><p>The gateway is waiting for the service to answer.</p>`,
  refused: FREE,
  freed: FREE,
}

/** Says how to resolve an unknown booking, and what each choice causes. */
function resolution(
  { booked, notBooked }: NonNullable<ShownBooking['settle']>,
  lookUp: string | undefined,
  canAsk: boolean,
  reference: string,
  isTakenBack: boolean,
) {
  const byReference = lookUp && html`the reference (<code>external_id</code>), `
  const credential = canAsk ? '' : " Use the caller's credential."
  const question =
    lookUp &&
    html`${code(lookUp)}<p class="soft">A 404 proves nothing: the service may find shipments only by its own ids.${credential}</p>`
  const unasked = canAsk
    ? `The service cannot be asked for ${reference === '' ? 'a booking without a reference' : 'this reference'}`
    : 'The gateway has no credential of its own for asking the service'
  const check =
    canAsk && isPlainId(reference)
      ? 'The command asks the service for the reference first.'
      : html`${unasked}, so add <code>--unchecked</code>.`
  const search = isPlainId(reference) ? ', or a search every ten minutes,' : ''
  const stays = !canAsk
    ? 'the gateway has no credential of its own for looking it up'
    : reference === ''
      ? 'a shipment without a reference cannot be recognized'
      : isTakenBack && 'it was reopened'
  const later = stays
    ? `The booking stays unknown, because ${stays}.`
    : `The gateway keeps looking. A service event${search} settles the booking once the shipment appears.`
  return html`<h2>Resolve it</h2>
<h3>1. Look for the shipment at the service</h3>
<p>Search the service's own list of shipments for ${byReference}the VIN, or the route.</p>
${question}
<h3>2. If it is there, say so</h3>
${code(canAsk ? booked : `${booked} --unchecked`)}
<p>The caller's next attempt is answered with this shipment. Nothing is sent.</p>
<h3>3. If it is not there, free the key</h3>
${code(notBooked)}
<p>The caller's next attempt is sent to the service. If the service did make a shipment, this makes a second one. ${check}</p>
<h3>If you do nothing</h3>
<p>${later}</p>`
}

const DATE = 'yyyy-mm-dd '.length
const SECONDS = 'yyyy-mm-dd hh:mm:ss'.length

/** Tells the history of a booking in sentences, the oldest first; a day stands at its first entry. */
function timeline(trail: readonly AuditEntry[]): Html {
  let day = ''
  const rows = trail.map((entry) => {
    const at = isoTime(entry.at)
    const text = at.replace('T', ' ').slice(0, SECONDS)
    const isSameDay = text.slice(0, DATE) === day
    day = text.slice(0, DATE)
    return html`<li><time datetime="${at}">${isSameDay ? text.slice(DATE) : text}</time><span title="By ${shown(entry.instance)}">${shown(sentenceOf(entry))}</span></li>`
  })
  return html`<ol class="timeline">${rows}</ol>`
}
