import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { Answer } from '../../language/answer.ts'
import { effectiveVariables } from '../../language/config/config.ts'
import { programVersion } from '../../language/config/version.ts'
import { faultOf } from '../../language/errors.ts'
import type { OpenEvents } from '../../outside/store/events.ts'
import type { GatewayRooms } from '../../routes.ts'
import { doubtView } from '../../state/bookings/leases.ts'
import { MOST_COUNTED } from '../../state/bookings/listing.ts'
import { recentOverview } from '../reports/report.ts'
import { durationOf, ending, errorTitle, firstNames, grouped, isoTime, MINUTE_MS, plural, total } from '../words.ts'
import {
  age,
  type Column,
  chart,
  empty,
  environmentOf,
  facts,
  type Html,
  json,
  moment,
  named,
  nameLink,
  pill,
  type Shell,
  shown,
  table,
  wantsHtml,
} from './layout.ts'
import { type Minute, summed, type Watch } from './watch.ts'

/** The rooms that the pages of operators read. */
export interface OperatorRooms extends GatewayRooms {
  readonly show: Shell
  readonly watch: Watch
}

const REFRESH_SECONDS = 30

/** Answers `/`: what needs attention, and how the last hour went. */
export async function home(incoming: IncomingMessage, rooms: OperatorRooms): Promise<Answer> {
  const minutes = await rooms.watch.minutes()
  const state = await stateOf(rooms, minutes)
  return wantsHtml(incoming) ? homePage(state, minutes, rooms) : json(state)
}

type HomeState = Awaited<ReturnType<typeof stateOf>>

async function stateOf({ config, callers, metrics, reloads, store, uses }: OperatorRooms, minutes: readonly Minute[]) {
  // A store that is down is what the page is for.
  const stored = await storedState(store, callers.tenants(), uses.flush).catch(() => NOTHING_STORED)
  const [underWay] = await metrics.valuesOf('transload_calls_under_way')
  const { faults, ...hour } = summed(minutes)
  return {
    version: programVersion(),
    mode: callers.mode,
    environment: environmentOf(config.V2_BASE_URL.origin),
    since: isoTime(Date.now() - process.uptime() * 1_000),
    service: config.V2_BASE_URL.origin,
    store: { engine: store.engine, ready: store.ready() && stored !== NOTHING_STORED },
    refusedReloads: reloads.refusals(),
    circuits: (await metrics.valuesOf('transload_circuit_open')).map(({ labels, value }) => ({
      service: String(labels['service']),
      open: value === 1,
    })),
    lastHour: {
      ...hour,
      errors: { callers: faults.caller, gateway: faults.gateway, service: faults.service },
      underWay: underWay?.value ?? 0,
    },
    ...stored,
    asOf: isoTime(store.now()),
  }
}

async function storedState(store: OperatorRooms['store'], named: readonly string[], flush: () => Promise<void>) {
  const { tenants } = await recentOverview(store, named, flush)
  const [oldest] = await store.listClaims({ state: 'unknown', limit: 1 })
  const open = await store.openEvents()
  const doubt = await store.doubt()
  return {
    doubt: doubt && doubtView(doubt),
    unknownBookings: {
      count: (await store.countClaims(MOST_COUNTED)).unknown ?? 0,
      oldest: oldest && isoTime(oldest.createdAt),
    },
    events: { waiting: eventsIn(open, 'due'), parked: eventsIn(open, 'parked') },
    /** As their verdicts say. */
    failingTenants: tenants.flatMap(({ tenant, verdict }) => (verdict.state === 'failing' ? [tenant] : [])),
    stoppedCallbacks: (await store.endpoints()).filter(({ stopped }) => stopped).map(({ tenant }) => tenant),
  }
}

function eventsIn(open: readonly OpenEvents[], state: OpenEvents['state']) {
  const some = open.filter((one) => one.state === state)
  return {
    count: total(some, 'count'),
    oldest: some.length === 0 ? undefined : isoTime(Math.min(...some.map(({ oldest }) => oldest))),
  }
}

const NONE = eventsIn([], 'due')
const NOTHING_STORED: Awaited<ReturnType<typeof storedState>> = {
  doubt: undefined,
  unknownBookings: NONE,
  events: { waiting: NONE, parked: NONE },
  failingTenants: [],
  stoppedCallbacks: [],
}

/** Something that an operator should do. The figure of what is one thing is `!`; what is none is not listed. */
type Item = readonly [
  figure: number | '!',
  what: string,
  detail: Html | string,
  link?: readonly [address: string, words: string],
]

const MOST_NAMED = 5

/** Names the part of the runbook that says what to do. */
const whatToDo = (alert: string) => html`What to do: <code>${alert}</code> in docs/runbook.md.`
const RUNBOOK = whatToDo('TransloadCallsFail')

/** Lists what needs attention, the worst first. */
function itemsOf(state: HomeState, now: number): readonly Item[] {
  const { doubt, unknownBookings: unknown, failingTenants: failing, lastHour } = state
  const { parked } = state.events
  const { service, gateway } = lastHour.errors
  const since = (oldest: string | undefined) => (oldest ? html`The oldest is ${age(oldest, now)} old.` : '')
  const of = html`of ${plural(lastHour.calls, 'call')}. ${RUNBOOK}`
  const items: readonly Item[] = [
    [
      state.store.ready ? 0 : '!',
      'The store is not ready',
      html`Calls get 503, and no booking is sent. ${whatToDo('TransloadStoreDown')}`,
    ],
    ...state.circuits.map(
      ({ service, open }): Item => [
        open ? '!' : 0,
        'The service keeps failing',
        html`Calls to ${named(service)} are refused, except for one every few seconds, as a test. ${whatToDo('TransloadCircuitOpen')}`,
      ],
    ),
    [
      doubt ? '!' : 0,
      'Bookings are in doubt',
      html`The store may lack bookings since ${doubt && moment(doubt.since)} UTC. Those that it does not know become unknown, and are not sent, until <code>transload store trust</code>.`,
    ],
    [
      unknown.count,
      `booking${ending(unknown.count)} with an unknown outcome`,
      since(unknown.oldest),
      ['/bookings?state=unknown', 'Resolve'],
    ],
    [parked.count, `parked event${ending(parked.count)}`, since(parked.oldest), ['/events', 'See why']],
    ...state.stoppedCallbacks.map(
      (tenant): Item => [
        '!',
        `The callback of ${shown(tenant)} is stopped`,
        'It answered 410. Its events are waiting.',
        [`/events?${new URLSearchParams({ tenant })}`, 'See why'],
      ],
    ),
    ...state.refusedReloads.map(
      ({ file, reasons }): Item => [
        '!',
        `The new ${file === 'tenants' ? 'tenants file' : 'certificate'} was refused; the old one stays in use`,
        shown(reasons.join('; ')),
      ],
    ),
    [service, `call${ending(service)} failed at the service in the last hour`, of, ['#errors', 'See errors']],
    [
      gateway,
      `call${ending(gateway)} failed in the gateway in the last hour`,
      html`The log says why. ${RUNBOOK}`,
      ['#errors', 'See errors'],
    ],
    [
      failing.length,
      `${failing.length === 1 ? 'tenant is' : 'tenants are'} failing`,
      named(firstNames(failing, MOST_NAMED)),
      ['/migration?state=failing#tenants', 'See why'],
    ],
  ]
  return items.filter(([figure]) => figure !== 0)
}

/** Writes a count that ends at `MOST_COUNTED`. */
export const countOf = (count: number) => `${grouped(count)}${count >= MOST_COUNTED ? '+' : ''}`

/** Says in a sentence if all is well. Bookings and events are one sentence. */
function headlineOf({ unknownBookings, events }: HomeState, [first]: readonly Item[]): string {
  if (!first) return 'Everything is working.'
  const [figure, what] = first
  const [bookings, parked] = [unknownBookings.count, events.parked.count]
  if (figure === '!') return `${what}.`
  if (bookings + parked === 0) return `${countOf(figure)} ${what}.`
  const parts = [
    bookings > 0 && `${countOf(bookings)} booking${ending(bookings)}`,
    parked > 0 && plural(parked, 'event'),
  ].filter((part) => part !== false)
  return `${parts.join(' and ')} ${bookings + parked === 1 ? 'needs' : 'need'} attention.`
}

const MOST_ERRORS = 8
/** Slower answers are beyond the chart. */
const MOST_MS = 15_000

const secondsOf = (ms: number | null) =>
  ms === null ? '–' : Number.isFinite(ms) ? `${ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`}` : 'over 15 s'

function homePage(
  state: HomeState,
  minutes: readonly Minute[],
  { config, show, store }: OperatorRooms,
): Promise<Answer> {
  const items = itemsOf(state, store.now())
  const { lastHour: hour } = state
  const workbench = config.WORKBENCH === 'on' && " Try one in the workbench, at the gateway's own address."
  const errors = table(
    'Errors of the last hour, by code and tenant',
    ERRORS,
    hour.topErrors.slice(0, MOST_ERRORS),
    'list',
  )
  return show(
    'Home',
    html`<h1>${headlineOf(state, items)}</h1>
<p class="soft">As of ${moment(state.asOf)} UTC; this page refreshes itself. <a href="/home.json">JSON</a></p>
${items.length > 0 && html`<ul class="rows">${items.map(rowOf)}</ul>`}
${stripOf(state)}
<h2>The last hour</h2>
${hour.calls === 0 ? empty(html`No calls in the last hour.${workbench}`) : lastHour(hour, minutes, store.now())}
${hour.topErrors.length > 0 && html`<h2 id="errors">Top errors</h2>${errors}`}`,
    { refreshSeconds: REFRESH_SECONDS },
  )
}

const rowOf = ([figure, what, detail, [address, words] = ['', '']]: Item) =>
  html`<li><b class="bad">${figure === '!' ? figure : countOf(figure)}</b><span>${what}<small>${detail}</small></span>${address && html`<a class="button plain" href="${address}">${words}</a>`}</li>`

function stripOf({ circuits, refusedReloads, ...state }: HomeState): Html {
  const service = circuits.some(({ open }) => open)
    ? pill('failing', 'bad')
    : circuits.length > 0
      ? pill('reachable', 'good')
      : pill('not called yet')
  const store = state.store.ready ? pill('ready', 'good') : pill('not ready', 'bad')
  const refused = refusedReloads.length
  return facts(
    [
      ['Service', html`${service} ${named(new URL(state.service).host)}`],
      ['Store', html`${store} ${state.store.engine}`],
      ['Version', html`${state.version} ${soft(`up ${durationOf(Date.now() - Date.parse(state.since))}`)}`],
      ['Environment', html`${state.environment} ${soft(`${state.mode} mode`)}`],
      ['Reloads', refused === 0 ? 'none refused' : html`<span class="bad">${refused} refused</span>`],
      ['Events waiting', state.store.ready ? grouped(state.events.waiting.count) : 'not known'],
    ],
    'strip',
  )
}

const soft = (words: string) => html`<span class="soft">${words}</span>`

/** Shows the figures and the charts of an hour. */
function lastHour(hour: HomeState['lastHour'], minutes: readonly Minute[], now: number): Html {
  const labels = minutes.map((_, i) => isoTime(now - (minutes.length - 1 - i) * MINUTE_MS).slice(11, 16))
  const sums = minutes.map((minute) => summed([minute]))
  const calls = chart(
    labels,
    [
      ['calls', 'answered', sums.map(({ faults }) => faults.nobody)],
      ['version1', 'caller errors', sums.map(({ faults }) => faults.caller)],
      ['bad', 'failed', sums.map(({ faults }) => faults.gateway + faults.service)],
    ],
    'Calls by minute: answered, caller errors, failures',
  )
  const slowest = sums.map(({ p99Ms }) => Math.min(p99Ms ?? 0, MOST_MS))
  const durations = chart(
    labels,
    [['version2', 'p99 by minute', slowest]],
    'The 99th percentile of durations, by minute',
    ' ms',
  )
  return html`<p>${plural(hour.calls, 'call')}, ${grouped(hour.underWay)} in progress. Median ${secondsOf(hour.p50Ms)} · p99 ${secondsOf(hour.p99Ms)} · ${plural(hour.errors.callers, 'caller error')}</p>
<div class="pair"><section>${calls}</section>
<section>${durations}</section></div>`
}

const FAULTS = { caller: 'the caller', gateway: 'the gateway', service: 'the service', nobody: 'nobody' }

const ERRORS: readonly Column<HomeState['lastHour']['topErrors'][number]>[] = [
  ['Calls', 'count', grouped, 'number line1'],
  ['Error', ({ error }) => html`<code>${error}</code>`, 'line1'],
  ['Meaning', 'error', errorTitle, 'line2'],
  ['At fault', ({ error }) => FAULTS[faultOf(error)], 'line1'],
  ['Tenant', ({ tenant }) => (tenant === '' ? '' : nameLink('/migration', { tenant }, tenant)), 'line2'],
]

/** Answers `/settings`: every setting as it applies to this process. */
export async function settings(incoming: IncomingMessage, { config, show }: OperatorRooms): Promise<Answer> {
  const all = effectiveVariables(config)
  if (!wantsHtml(incoming)) return json({ settings: all })
  const columns: readonly Column<(typeof all)[number]>[] = [
    ['Name', ({ name }) => html`<code>${name}</code>`, 'line1'],
    [
      'Value',
      ({ from, value = '' }) => (from === 'nowhere' ? soft('not set') : html`<code>${shown(value)}</code>`),
      'line2',
    ],
  ]
  const { own = [], others = [] } = Object.groupBy(all, ({ from }) => (from === 'environment' ? 'own' : 'others'))
  return show(
    'Settings',
    html`<h1>Settings</h1>
<p class="soft">The settings that this process uses, without secrets. <a href="/settings.json">JSON</a></p>
${table('Set for this process', columns, own, 'list', 'None. All settings have their defaults.')}
<details><summary>${grouped(others.length)} settings with their defaults</summary>${table('Defaults', columns, others, 'list')}</details>`,
  )
}
