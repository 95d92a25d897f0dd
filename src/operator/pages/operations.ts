import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import { type Config, effectiveVariables } from '../../language/config/config.ts'
import { programVersion } from '../../language/config/version.ts'
import { faultOf, gatewayError } from '../../language/errors.ts'
import type { EndpointState, Events, OpenEvents, StoredEvent } from '../../outside/store/events.ts'
import type { Claim, ClaimState, Claims, Store } from '../../outside/store/store.ts'
import type { Metrics, MetricValues } from '../../runtime/metrics.ts'
import type { Reloads } from '../../runtime/reloads.ts'
import { publicView, searchBookings } from '../../state/bookings/bookings.ts'
import {
  type Column,
  count,
  grouped,
  type Html,
  json,
  moment,
  named,
  type Shell,
  section,
  wantsHtml,
} from './layout.ts'

/** The dependencies of the pages about the running gateway. */
export interface OperationsDeps {
  readonly config: Config
  readonly show: Shell
  readonly metrics: Pick<Metrics, 'values'>
  readonly reloads: Pick<Reloads, 'refusals'>
  readonly store: Pick<Claims, 'listClaims' | 'claimByHandle' | 'audit'> &
    Pick<Events, 'openEvents' | 'listEvents' | 'endpoints'> &
    Pick<Store, 'now' | 'ready' | 'engine'>
}

type Fault = ReturnType<typeof faultOf>

/** Figures of all calls up to a time. */
interface Sample {
  readonly at: number
  readonly calls: number
  readonly faults: Readonly<Record<Fault, number>>
  /** The calls that took at most so many seconds, in order. */
  readonly within: readonly (readonly [seconds: number, calls: number])[]
}

const LAST_MINUTES_MS = 300_000
const SAMPLE_EVERY_MS = 15_000
const MS = 1_000

/** The pages about one running gateway. */
export interface Operations {
  readonly home: (incoming: IncomingMessage) => Promise<Answer>
  readonly bookings: (incoming: IncomingMessage) => Promise<Answer>
  readonly booking: (incoming: IncomingMessage, handle: string) => Promise<Answer>
  readonly events: (incoming: IncomingMessage) => Promise<Answer>
  readonly settings: (incoming: IncomingMessage) => Promise<Answer>
}

/** Opens the pages about one gateway. Nothing is sampled until somebody looks. */
export function openOperations({ config, metrics, reloads, store, show }: OperationsDeps): Operations {
  const startedAt = Date.now() - process.uptime() * MS
  const began: Sample = {
    at: startedAt,
    calls: 0,
    faults: { caller: 0, gateway: 0, service: 0, nobody: 0 },
    within: [],
  }
  let samples = [began]
  let lookedAt = 0
  let timer: NodeJS.Timeout | undefined

  /** Keeps the samples of the last minutes, and one that is older. */
  async function sample(): Promise<MetricValues> {
    const values = await metrics.values()
    const taken = sampleOf(values, Date.now())
    const since = samples.findLastIndex(({ at }) => at <= taken.at - LAST_MINUTES_MS)
    samples = [...samples.slice(Math.max(0, since)), taken]
    return values
  }

  /** Samples as long as somebody has looked in the last minutes. */
  function watch() {
    lookedAt = Date.now()
    timer ??= setInterval(() => {
      if (Date.now() - lookedAt < 2 * LAST_MINUTES_MS) return void sample().catch(() => {})
      clearInterval(timer)
      timer = undefined
    }, SAMPLE_EVERY_MS).unref()
  }

  async function state(): Promise<HomeState> {
    watch()
    const values = await sample()
    const [from = began] = samples
    const to = samples.at(-1) ?? from
    const valuesOf = (name: string) => values.find((metric) => metric.name === name)?.values ?? []
    const [oldest] = await store.listClaims({ state: 'unknown', limit: 1 })
    const open = await store.openEvents()
    return {
      version: programVersion(),
      mode: modeOf(config),
      since: new Date(startedAt).toISOString(),
      service: config.V2_BASE_URL.origin,
      store: { engine: store.engine, ready: store.ready() },
      refusedReloads: reloads.refusals(),
      circuits: valuesOf('transload_circuit_open').map(({ labels, value }) => ({
        service: String(labels['service']),
        open: value === 1,
      })),
      tokens: Object.fromEntries(
        valuesOf('transload_tokens_total').map(({ labels, value }) => [String(labels['outcome']), value]),
      ),
      calls: { ...figuresOf(from, to), underWay: valuesOf('transload_calls_under_way')[0]?.value ?? 0 },
      unknownBookings: {
        count: valuesOf('transload_bookings').find(({ labels }) => labels['state'] === 'unknown')?.value ?? 0,
        oldest: oldest && new Date(oldest.createdAt).toISOString(),
      },
      events: { waiting: eventsIn(open, 'due'), parked: eventsIn(open, 'parked') },
    }
  }

  return {
    async home(incoming) {
      const now = await state()
      return wantsHtml(incoming) ? homePage(show, now) : json(now)
    },
    async bookings(incoming) {
      const query = new URLSearchParams(incoming.url?.split('?')[1])
      const lists = await listBookings(store, query)
      return wantsHtml(incoming) ? bookingsPage(show, lists, store.now()) : json(lists)
    },
    async booking(incoming, handle) {
      const claim = await store.claimByHandle(handle)
      const trail = await store.audit(handle)
      if (!claim && trail.length === 0) throw gatewayError('path-unknown/booking', {})
      const history = trail.map(({ at, ...entry }) => ({ at: new Date(at).toISOString(), ...entry }))
      const booking = claim && withCommands(claim)
      if (!wantsHtml(incoming)) return json({ booking, history })
      return bookingPage(show, handle, booking, history)
    },
    async events(incoming) {
      const parked = await store.listEvents({ state: 'parked', limit: MOST_EVENTS })
      const due = await store.listEvents({ state: 'due', limit: MOST_EVENTS })
      const lists = { open: await store.openEvents(), endpoints: await store.endpoints(), parked, due }
      return wantsHtml(incoming) ? eventsPage(show, lists) : json(lists)
    },
    async settings(incoming) {
      const settings = effectiveVariables(config)
      return wantsHtml(incoming) ? settingsPage(show, settings) : json({ settings })
    },
  }
}

const modeOf = ({ TENANTS_FILE: tenants, V2_CLIENT_ID: id }: Config) =>
  tenants !== undefined ? 'tenants' : id !== undefined ? 'fixed' : 'client'

const eventsIn = (open: readonly OpenEvents[], state: OpenEvents['state']) => {
  const some = open.filter((one) => one.state === state)
  const oldest = Math.min(...some.map((one) => one.oldest))
  return {
    count: some.reduce((sum, one) => sum + one.count, 0),
    oldest: Number.isFinite(oldest) ? new Date(oldest).toISOString() : undefined,
  }
}

function sampleOf(values: MetricValues, at: number): Sample {
  const faults = { caller: 0, gateway: 0, service: 0, nobody: 0 }
  const within = new Map<number, number>()
  for (const { name, values: series } of values) {
    if (name === 'transload_calls_total')
      for (const { labels, value } of series) faults[faultOf(String(labels['error'] ?? ''))] += value
    if (name === 'transload_call_seconds')
      for (const { labels, value } of series) {
        const bound = Number(String(labels['le'] ?? '').replace('+Inf', 'Infinity'))
        if (labels['le'] !== undefined) within.set(bound, (within.get(bound) ?? 0) + value)
      }
  }
  const calls = Object.values(faults).reduce((sum, value) => sum + value, 0)
  return { at, calls, faults, within: [...within].sort(([one], [other]) => one - other) }
}

/** Returns what happened between two samples. */
function figuresOf(from: Sample, to: Sample) {
  const before = new Map(from.within)
  const within = to.within.map(([seconds, calls]) => [seconds, calls - (before.get(seconds) ?? 0)] as const)
  const calls = to.calls - from.calls
  const seconds = Math.max(1, (to.at - from.at) / MS)
  /** The bound below which so large a part of the calls ended, in milliseconds. */
  const quantile = (part: number) => {
    const bound = within.find(([, count]) => calls > 0 && count >= calls * part)?.[0]
    return bound === undefined ? null : bound * MS
  }
  return {
    seconds: Math.round(seconds),
    count: calls,
    perSecond: Math.round((calls / seconds) * 100) / 100,
    errors: {
      callers: to.faults.caller - from.faults.caller,
      gateway: to.faults.gateway - from.faults.gateway,
      service: to.faults.service - from.faults.service,
    },
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }
}

interface HomeState {
  readonly version: string
  readonly mode: string
  readonly since: string
  readonly service: string
  readonly store: { readonly engine: string; readonly ready: boolean }
  readonly refusedReloads: ReturnType<Reloads['refusals']>
  readonly circuits: readonly { readonly service: string; readonly open: boolean }[]
  readonly tokens: Readonly<Record<string, number>>
  readonly calls: ReturnType<typeof figuresOf> & { readonly underWay: number }
  readonly unknownBookings: { readonly count: number; readonly oldest: string | undefined }
  readonly events: Readonly<
    Record<'waiting' | 'parked', { readonly count: number; readonly oldest: string | undefined }>
  >
}

const SECONDS_PER_MINUTE = 60
const within = (ms: number | null) =>
  ms === null ? '–' : Number.isFinite(ms) ? `≤ ${ms < MS ? `${ms} ms` : `${ms / MS} s`}` : '> 15 s'

/** Says what a value is about, and what to do if it needs anything. */
interface Card {
  readonly title: string
  readonly figure: string
  readonly note: Html | string
  readonly isBad?: boolean
}

const cards = (all: readonly Card[]): Html =>
  html`<ul class="cards">${all.map(({ title, figure, note, isBad }) => html`<li>${title}<span class="figure${isBad ? ' bad' : ''}">${figure}</span><span class="soft">${note}</span></li>`)}</ul>`

function homePage(
  show: Shell,
  { version, mode, since, service, store, circuits, tokens, calls, ...rest }: HomeState,
): Promise<Answer> {
  const { unknownBookings: unknown, events, refusedReloads } = rest
  const open = circuits.filter((one) => one.open)
  const minutes = Math.max(1, Math.round(calls.seconds / SECONDS_PER_MINUTE))
  const { callers, gateway, service: services } = calls.errors
  const share = (errors: number) => (calls.count === 0 ? 'no calls' : `${grouped(errors)} of ${grouped(calls.count)}`)
  const oldest = (time: string | undefined) => (time === undefined ? '' : html`The oldest is of ${moment(time)}. `)
  return show(
    'Home',
    html`<h1>${store.ready && open.length + refusedReloads.length === 0 ? 'The gateway is well.' : 'The gateway needs a look.'}</h1>
<p class="soft">Transload ${version}, ${mode} mode, since ${moment(since)} UTC. It calls ${named(service)}. Also as <a href="/home.json">JSON</a>.</p>
<h2>The last ${minutes === 1 ? 'minute' : `${grouped(minutes)} minutes`}</h2>
${cards([
  { title: 'Calls a second', figure: String(calls.perSecond), note: `${grouped(calls.underWay)} under way` },
  { title: 'Half of them took', figure: within(calls.p50Ms), note: `99 of 100: ${within(calls.p99Ms)}` },
  {
    title: 'Errors of the gateway',
    figure: grouped(gateway),
    note: gateway > 0 ? `${share(gateway)}; the log says why` : share(gateway),
    isBad: gateway > 0,
  },
  { title: 'Errors of the service', figure: grouped(services), note: share(services), isBad: services > 0 },
  {
    title: 'Mistakes of callers',
    figure: grouped(callers),
    note: html`${share(callers)}; <a href="/migration">by caller</a>`,
  },
])}
<h2>What needs somebody</h2>
${cards([
  {
    title: 'Bookings whose outcome is not known',
    figure: grouped(unknown.count),
    note:
      unknown.count === 0
        ? 'None.'
        : html`${oldest(unknown.oldest)}<a href="/bookings?state=unknown">Look for each shipment, and settle it</a>`,
    isBad: unknown.count > 0,
  },
  {
    title: 'Events that are parked',
    figure: grouped(events.parked.count),
    note:
      events.parked.count === 0
        ? 'None.'
        : html`${oldest(events.parked.oldest)}<a href="/events">See why, then replay them</a>`,
    isBad: events.parked.count > 0,
  },
  {
    title: 'Events that wait',
    figure: grouped(events.waiting.count),
    note: html`${oldest(events.waiting.oldest)}They are delivered by themselves.`,
  },
  ...refusedReloads.map(({ file, reasons }) => ({
    title: file === 'tenants' ? 'Tenants file' : 'Certificate',
    figure: 'refused',
    note: `The old one stays in use: ${reasons.join('; ')}`,
    isBad: true,
  })),
  {
    title: 'Store',
    figure: store.ready ? 'ready' : 'not ready',
    note: store.ready ? store.engine : 'Bookings are refused until it is; the log says why.',
    isBad: !store.ready,
  },
  {
    title: 'Circuit',
    figure: open.length === 0 ? 'closed' : 'open',
    note:
      open.length === 0
        ? 'The service answers.'
        : html`${open.map((one) => named(one.service))} keeps failing: calls are refused, and one in a while is tried.`,
    isBad: open.length > 0,
  },
  {
    title: 'Tokens',
    figure: grouped(tokens['given'] ?? 0),
    note: `given since the start; ${grouped(tokens['refused'] ?? 0)} refused, ${grouped(tokens['failed'] ?? 0)} failed`,
    isBad: (tokens['failed'] ?? 0) > 0,
  },
])}`,
  )
}

/** A booking as a page shows it. */
type ShownBooking = ReturnType<typeof publicView> & {
  /** The commands that settle it, if its outcome is not known. */
  readonly settle?: { readonly booked: string; readonly notBooked: string }
}

function withCommands(claim: Claim): ShownBooking {
  if (claim.state !== 'unknown') return publicView(claim)
  const settle = `transload bookings settle ${claim.handle}`
  return { ...publicView(claim), settle: { booked: `${settle} --shipment-id ID`, notBooked: `${settle} --not-booked` } }
}

const STATES: readonly ClaimState[] = ['unknown', 'sending', 'booked', 'refused', 'freed']
const BOOKINGS_ON_A_PAGE = 50

/** One page of bookings: the newest first, or what a search has found. */
interface BookingLists {
  readonly search: string
  readonly state: ClaimState | undefined
  readonly bookings: readonly ShownBooking[]
  /** The key after which the next page begins. */
  readonly next: string | undefined
}

async function listBookings(store: OperationsDeps['store'], query: URLSearchParams): Promise<BookingLists> {
  const search = (query.get('q') ?? '').trim()
  const state = STATES.find((one) => one === query.get('state'))
  const found: Claim[] = []
  if (search !== '') {
    for await (const claim of searchBookings(store, { state, newest: true }, search)) {
      if (found.push(claim) === BOOKINGS_ON_A_PAGE) break
    }
  } else {
    const after = await store.claimByHandle(query.get('after') ?? '')
    found.push(...(await store.listClaims({ state, after, newest: true, limit: BOOKINGS_ON_A_PAGE })))
  }
  const next = search === '' && found.length === BOOKINGS_ON_A_PAGE ? found.at(-1)?.handle : undefined
  return { search, state, bookings: found.map(withCommands), next }
}

function bookingsPage(show: Shell, { search, state, bookings, next }: BookingLists, now: number): Promise<Answer> {
  const option = (value: string, title: string, chosen: boolean) =>
    html`<option value="${value}"${chosen ? html` selected` : ''}>${title}</option>`
  return show(
    'Bookings',
    html`<h1>Bookings</h1>
<p class="soft">Times are UTC. Also as <a href="/bookings.json">JSON</a>.</p>
<form action="/bookings" method="get" class="filter" role="search">
<label>Reference, key, VIN or shipment <input type="search" name="q" value="${search}" maxlength="100"></label>
<label>State <select name="state">${option('', 'all', state === undefined)}${STATES.map((one) => option(one, one, one === state))}</select></label>
<button>Show</button>
</form>
${section(bookings, search === '' ? 'Bookings, the newest first' : 'Bookings that were found', columnsAt(now), 'No booking is like this.')}
${next === undefined ? '' : html`<p class="pages"><a href="/bookings?${new URLSearchParams({ state: state ?? '', after: next })}">Older →</a></p>`}
${bookings.some(({ settle }) => settle) ? html`<p>An unknown booking may have been made. Look for the shipment at the service; its <code>external_id</code> is the reference. The page of the booking has the commands that settle it.</p>` : ''}`,
  )
}

const HOUR_MS = 3_600_000
const DAY_HOURS = 24

/** Writes how long ago a time was, in hours or days. */
function ageOf(time: string, now: number): string {
  const hours = Math.floor((now - Date.parse(time)) / HOUR_MS)
  return hours < 1
    ? 'less than an hour'
    : hours < 2 * DAY_HOURS
      ? `${hours} h`
      : `${Math.floor(hours / DAY_HOURS)} days`
}

const stateOf = (state: string): Html => html`<span class="state${state === 'unknown' ? ' bad' : ''}">${state}</span>`

const columnsAt = (now: number): readonly Column<ShownBooking>[] => [
  { title: 'Key', cell: ({ key }) => html`<a href="/bookings/${key}"><code>${key}</code></a>` },
  { title: 'State', cell: ({ state }) => stateOf(state) },
  { title: 'Age', cell: ({ created }) => ageOf(created, now) },
  { title: 'Tenant', cell: ({ tenant }) => named(tenant) },
  { title: 'Reference', cell: ({ reference }) => named(reference) },
  { title: 'VIN', cell: ({ vin }) => named(vin) },
  { title: 'Shipment', cell: ({ shipment }) => named(shipment) },
  { title: 'Changed', cell: ({ changed }) => moment(changed) },
]

interface HistoryEntry {
  readonly at: string
  readonly from: string
  readonly to: string
  readonly instance: string
  readonly why: string
}

function bookingPage(
  show: Shell,
  handle: string,
  booking: ShownBooking | undefined,
  history: readonly HistoryEntry[],
): Promise<Answer> {
  const facts: readonly (readonly [string, Html | string])[] = booking
    ? [
        ['State', stateOf(booking.state)],
        ['Tenant', named(booking.tenant)],
        ['Reference', named(booking.reference)],
        ['VIN', named(booking.vin)],
        ['Shipment', named(booking.shipment)],
        ['Made', moment(booking.created)],
      ]
    : [['State', 'Its key belongs to a later booking; only the history remains.']]
  return show(
    handle,
    html`<h1><code>${named(handle)}</code></h1>
${section(facts, 'The booking', [
  { title: 'What', cell: ([name]) => name },
  { title: 'Value', cell: ([, value]) => value },
])}
${booking?.settle ? html`<h2>Settle it</h2><p>Look for the shipment at the service; its <code>external_id</code> is the reference. If it is there:</p><pre>${booking.settle.booked}</pre><p>If it is not:</p><pre>${booking.settle.notBooked}</pre>` : ''}
<h2>History</h2>
${section(history, 'What happened, the oldest first', [
  { title: 'At', cell: ({ at }) => moment(at) },
  { title: 'From', cell: ({ from }) => from },
  { title: 'To', cell: ({ to }) => to },
  { title: 'Why', cell: ({ why }) => named(why) },
  { title: 'By', cell: ({ instance }) => named(instance) },
])}`,
  )
}

const MOST_EVENTS = 50

interface EventLists {
  readonly open: readonly OpenEvents[]
  readonly endpoints: readonly EndpointState[]
  readonly parked: readonly StoredEvent[]
  readonly due: readonly StoredEvent[]
}

const isoTime = (ms: number) => new Date(ms).toISOString()

const EVENTS: readonly Column<StoredEvent>[] = [
  { title: 'Event', cell: ({ event }) => named(event) },
  { title: 'Tenant', cell: ({ tenant }) => named(tenant) },
  { title: 'Shipment', cell: ({ shipment }) => named(shipment) },
  { title: 'Received', cell: ({ receivedAt }) => moment(isoTime(receivedAt)) },
  count('Tries', ({ failures }) => failures),
  { title: 'Last outcome', cell: ({ outcome }) => named(outcome) },
  { title: 'Id', cell: ({ id }) => html`<code>${named(id)}</code>` },
]

function eventsPage(show: Shell, { open, endpoints, parked, due }: EventLists): Promise<Answer> {
  return show(
    'Events',
    html`<h1>Events of the service</h1>
<p class="soft">Times are UTC. Also as <a href="/events.json">JSON</a>.</p>
<h2>By tenant</h2>
${section(
  open,
  'Events that are not delivered',
  [
    { title: 'Tenant', cell: ({ tenant }) => named(tenant) },
    { title: 'State', cell: ({ state }) => (state === 'due' ? 'waiting' : state) },
    count('Events', (one) => grouped(one.count)),
    { title: 'The oldest', cell: ({ oldest }) => moment(isoTime(oldest)) },
  ],
  'All are delivered.',
)}
${section(
  endpoints,
  'Callbacks that are stopped or pause',
  [
    { title: 'Tenant', cell: ({ tenant }) => named(tenant) },
    {
      title: 'State',
      cell: ({ stopped, pausedUntil }) => (stopped ? 'stopped' : html`pauses until ${moment(isoTime(pausedUntil))}`),
    },
  ],
  'No callback is stopped.',
)}
<h2>Parked</h2>
${section(parked, `Events that are not tried any more, the oldest ${MOST_EVENTS}`, EVENTS)}
${parked.length === 0 ? '' : html`<p>Once the cause is mended: <code>transload webhooks replay --state parked</code></p>`}
<h2>Waiting</h2>
${section(due, `Events that are delivered next, the oldest ${MOST_EVENTS}`, EVENTS)}`,
  )
}

function settingsPage(show: Shell, settings: ReturnType<typeof effectiveVariables>): Promise<Answer> {
  return show(
    'Settings',
    html`<h1>Settings</h1>
<p class="soft">As they apply to this process; secrets are hidden. Also as <a href="/settings.json">JSON</a>.</p>
${section(
  settings.toSorted((one, other) => Number(other.from === 'environment') - Number(one.from === 'environment')),
  'Settings, those of the environment first',
  [
    { title: 'Name', cell: ({ name }) => html`<code>${name}</code>` },
    {
      title: 'Value',
      cell: (one) => (one.from === 'nowhere' ? html`<span class="soft">not set</span>` : named(one.value ?? '')),
    },
    { title: 'From', cell: ({ from }) => (from === 'nowhere' ? '' : from) },
  ],
)}`,
  )
}
