import type { IncomingMessage } from 'node:http'
import { html } from 'hono/html'
import type { PageRooms } from '../../gateway.ts'
import type { Answer } from '../../language/answer.ts'
import { type Config, effectiveVariables } from '../../language/config/config.ts'
import { programVersion } from '../../language/config/version.ts'
import { type ErrorCode, errorTable, faultOf } from '../../language/errors.ts'
import type { OpenEvents } from '../../outside/store/events.ts'
import { MOST_COUNTED } from '../../state/bookings/bookings.ts'
import { durationOf, grouped, plural } from '../words.ts'

import {
  age,
  chart,
  count,
  environmentOf,
  facts,
  type Html,
  json,
  moment,
  named,
  pill,
  type Shell,
  section,
  shown,
  table,
  wantsHtml,
} from './layout.ts'
import { MINUTE_MS, MINUTES, type Minute, summed, type Watch } from './watch.ts'

/** The rooms that the pages of operators read. */
export interface OperatorRooms extends PageRooms {
  readonly show: Shell
  readonly watch: Watch
}

const REFRESH_SECONDS = 30

/** Answers `/`: what needs attention, and how the last hour went. */
export async function home(incoming: IncomingMessage, rooms: OperatorRooms): Promise<Answer> {
  const { minutes, ...state } = await stateOf(rooms)
  return wantsHtml(incoming) ? homePage(state, minutes, rooms) : json(state)
}

type HomeState = Omit<Awaited<ReturnType<typeof stateOf>>, 'minutes'>

async function stateOf({ config, metrics, reloads, store, watch }: OperatorRooms) {
  const minutes = await watch.minutes()
  // A store that is down is what the page is for.
  const stored = await storedState(store).catch(() => NOTHING_STORED)
  const [underWay] = await metrics.valuesOf('transload_calls_under_way')
  return {
    version: programVersion(),
    mode: modeOf(config),
    environment: environmentOf(new URL(config.V2_BASE_URL.origin)),
    since: new Date(Date.now() - process.uptime() * 1_000).toISOString(),
    service: config.V2_BASE_URL.origin,
    store: { engine: store.engine, ready: store.ready() && stored !== NOTHING_STORED },
    refusedReloads: reloads.refusals(),
    circuits: (await metrics.valuesOf('transload_circuit_open')).map(({ labels, value }) => ({
      service: String(labels['service']),
      open: value === 1,
    })),
    tokens: Object.fromEntries(
      (await metrics.valuesOf('transload_tokens_total')).map(({ labels, value }) => [String(labels['outcome']), value]),
    ),
    lastHour: { ...summed(minutes), underWay: underWay?.value ?? 0 },
    ...stored,
    asOf: new Date(store.now()).toISOString(),
    minutes,
  }
}

async function storedState(store: OperatorRooms['store']) {
  const [oldest] = await store.listClaims({ state: 'unknown', limit: 1 })
  const open = await store.openEvents()
  return {
    unknownBookings: {
      count: (await store.countClaims(MOST_COUNTED)).unknown ?? 0,
      oldest: oldest && new Date(oldest.createdAt).toISOString(),
    },
    events: { waiting: eventsIn(open, 'due'), parked: eventsIn(open, 'parked') },
    stoppedCallbacks: (await store.endpoints()).filter(({ stopped }) => stopped).map(({ tenant }) => tenant),
  }
}

const NONE = { count: 0, oldest: undefined }
const NOTHING_STORED: Awaited<ReturnType<typeof storedState>> = {
  unknownBookings: NONE,
  events: { waiting: NONE, parked: NONE },
  stoppedCallbacks: [],
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

/** Something that an operator should do. */
interface Item {
  /** How many; `!` for what is one thing. */
  readonly figure: string
  readonly what: string
  readonly detail: Html | string
  readonly action?: readonly [address: string, words: string]
}

/** Lists what needs attention, the worst first. */
function itemsOf(state: HomeState, now: number): readonly Item[] {
  const { store, unknownBookings: unknown, events, refusedReloads, stoppedCallbacks, lastHour, tokens } = state
  const { gateway, service } = lastHour.errors
  const failed = tokens['failed'] ?? 0
  const some = (count: number, one: string, several: string, more: Pick<Item, 'detail' | 'action'>): Item[] =>
    count === 0 ? [] : [{ figure: countOf(count), what: count === 1 ? one : several, ...more }]
  const since = (oldest: string | undefined) =>
    oldest === undefined ? '' : html`The oldest is ${age(oldest, now)} old.`
  const errors = ['#errors', 'See errors'] as const
  return [
    ...(store.ready
      ? []
      : [
          {
            figure: '!',
            what: 'The store is not ready',
            detail: 'Bookings are refused until it is. The log says why.',
          },
        ]),
    ...state.circuits
      .filter((one) => one.open)
      .map((one) => ({
        figure: '!',
        what: 'The service keeps failing',
        detail: html`Calls to ${named(one.service)} are refused; one in a while is tried.`,
      })),
    ...some(unknown.count, 'booking with an unknown outcome', 'bookings with an unknown outcome', {
      detail: since(unknown.oldest),
      action: [ITEM_OF_BOOKINGS, 'Resolve'],
    }),
    ...some(events.parked.count, 'parked event', 'parked events', {
      detail: since(events.parked.oldest),
      action: [ITEM_OF_EVENTS, 'See why'],
    }),
    ...stoppedCallbacks.map((tenant) => ({
      figure: '!',
      what: `The callback of ${shown(tenant)} is stopped`,
      detail: 'It answered 410. Its events wait.',
      action: [`/events?${new URLSearchParams({ tenant })}`, 'See'] as const,
    })),
    ...refusedReloads.map(({ file, reasons }) => ({
      figure: '!',
      what: `The new ${file === 'tenants' ? 'tenants file' : 'certificate'} is refused; the old one stays in use`,
      detail: shown(reasons.join('; ')),
    })),
    ...some(service, 'call failed at the service in the last hour', 'calls failed at the service in the last hour', {
      detail: `of ${plural(lastHour.calls, 'call')}`,
      action: errors,
    }),
    ...some(gateway, 'call failed in the gateway in the last hour', 'calls failed in the gateway in the last hour', {
      detail: 'The log says why.',
      action: errors,
    }),
    ...some(failed, 'token request failed since the start', 'token requests failed since the start', {
      detail: `${grouped(tokens['refused'] ?? 0)} more were refused.`,
    }),
  ]
}

/** Writes a count that ends at `MOST_COUNTED`. */
const countOf = (count: number) => `${grouped(count)}${count >= MOST_COUNTED ? '+' : ''}`

/** Says in a sentence if all is well. Bookings and events are one sentence. */
function headlineOf({ unknownBookings, events }: HomeState, [first]: readonly Item[]): string {
  if (!first) return 'Everything is working.'
  if (first.figure === '!') return `${first.what}.`
  const [bookings, parked] = [unknownBookings.count, events.parked.count]
  if (bookings + parked === 0) return `${first.figure} ${first.what}.`
  const parts = [
    ...(bookings > 0 ? [`${countOf(bookings)} booking${bookings === 1 ? '' : 's'}`] : []),
    ...(parked > 0 ? [plural(parked, 'event')] : []),
  ]
  return `${parts.join(' and ')} ${bookings + parked === 1 ? 'needs' : 'need'} attention.`
}

const ITEM_OF_EVENTS = '/events'
const ITEM_OF_BOOKINGS = '/bookings?state=unknown'
const MOST_ERRORS = 8
const secondsOf = (ms: number | null) =>
  ms === null ? '–' : Number.isFinite(ms) ? `${ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`}` : 'over 15 s'

function homePage(
  state: HomeState,
  minutes: readonly Minute[],
  { config, show, store }: OperatorRooms,
): Promise<Answer> {
  const now = store.now()
  const items = itemsOf(state, now)
  const { lastHour: hour, circuits, refusedReloads } = state
  const open = circuits.filter((one) => one.open)
  const labelOf = ({ at }: Minute) => new Date(at).toISOString().slice(11, 16)
  const hourOf = allOf(minutes)
  return show(
    'Home',
    html`<h1>${headlineOf(state, items)}</h1>
<p class="soft">As of ${moment(state.asOf)} UTC; this page refreshes itself. <a href="/home.json">JSON</a></p>
${items.length === 0 ? '' : html`<ul class="rows">${items.map(({ figure, what, detail, action }) => html`<li><b class="bad">${figure}</b><span>${what}<small>${detail}</small></span>${action === undefined ? '' : html`<a class="button plain" href="${action[0]}">${action[1]}</a>`}</li>`)}</ul>`}
${facts(
  [
    [
      'Service',
      html`${open.length > 0 ? pill('failing', 'bad') : circuits.length > 0 ? pill('reachable', 'good') : pill('not called yet')} ${named(new URL(state.service).host)}`,
    ],
    [
      'Store',
      html`${pill(state.store.ready ? 'ready' : 'not ready', state.store.ready ? 'good' : 'bad')} ${state.store.engine}`,
    ],
    [
      'Version',
      html`${state.version} <span class="soft">up ${durationOf(Date.now() - Date.parse(state.since))}</span>`,
    ],
    ['Environment', html`${state.environment} <span class="soft">${state.mode} mode</span>`],
    [
      'Reloads',
      refusedReloads.length === 0
        ? 'none refused'
        : html`<span class="bad">${grouped(refusedReloads.length)} refused</span>`,
    ],
    ['Events waiting', grouped(state.events.waiting.count)],
  ],
  'strip',
)}
<h2>The last hour</h2>
${
  hour.calls === 0
    ? html`<div class="empty">No calls in the last hour.${config.WORKBENCH === 'on' ? ' Try one in the workbench, on the address of the gateway itself.' : ''}</div>`
    : html`<p>${plural(hour.calls, 'call')}, ${grouped(hour.underWay)} in progress. Median ${secondsOf(hour.p50Ms)} · p99 ${secondsOf(hour.p99Ms)} · ${plural(hour.errors.callers, 'caller error')}</p>
<div class="pair"><section>${chart(
        hourOf.map((minute) => {
          const { caller, gateway, service, nobody } = minute.faults
          return { label: labelOf(minute), parts: [nobody, caller, gateway + service] }
        }),
        [
          ['calls', 'answered'],
          ['version1', 'caller errors'],
          ['bad', 'failed'],
        ],
        'Calls by minute: answered, caller errors, failures',
      )}</section>
<section>${chart(
        hourOf.map((minute) => ({ label: labelOf(minute), parts: [Math.min(summed([minute]).p99Ms ?? 0, 15_000)] })),
        [['version2', 'p99 by minute']],
        'The 99th percentile of durations, by minute',
        ' ms',
      )}</section></div>`
}
${
  hour.topErrors.length === 0
    ? ''
    : html`<h2 id="errors">Top errors</h2>${table<(typeof hour.topErrors)[number]>(
        'Errors of the last hour, by code and tenant',
        [
          count('Calls', (error) => error.count),
          { title: 'Error', cell: ({ error }) => html`<code>${error}</code>`, line: 1 },
          { title: 'Meaning', cell: ({ error }) => titleOf(error), line: 2 },
          { title: 'At fault', cell: ({ error }) => FAULTS[faultOf(error)], line: 1 },
          {
            title: 'Tenant',
            cell: ({ tenant }) =>
              tenant === '' ? '' : html`<a href="/migration?${new URLSearchParams({ tenant })}">${named(tenant)}</a>`,
            line: 2,
          },
        ],
        hour.topErrors.slice(0, MOST_ERRORS),
        'list',
      )}`
}`,
    { refreshSeconds: REFRESH_SECONDS },
  )
}

/** Returns a whole hour, with empty minutes before those that were watched. */
function allOf(minutes: readonly Minute[]): readonly Minute[] {
  const [first] = minutes
  if (!first) return []
  const faults = { caller: 0, gateway: 0, service: 0, nobody: 0 }
  const before = Array.from({ length: MINUTES - minutes.length }, (_, i) => {
    return { at: first.at - (MINUTES - minutes.length - i) * MINUTE_MS, faults, errors: [], within: [] }
  })
  return [...before, ...minutes]
}

const FAULTS = { caller: 'the caller', gateway: 'the gateway', service: 'the service', nobody: 'nobody' }
const titleOf = (error: string) => (Object.hasOwn(errorTable, error) ? errorTable[error as ErrorCode].title : '')

/** Answers `/settings`: every setting as it applies to this process. */
export async function settings(incoming: IncomingMessage, { config, show }: OperatorRooms): Promise<Answer> {
  const all = effectiveVariables(config)
  if (!wantsHtml(incoming)) return json({ settings: all })
  const [set, others] = [
    all.filter(({ from }) => from === 'environment'),
    all.filter(({ from }) => from !== 'environment'),
  ]
  const value = ({ from, value: text = '' }: (typeof all)[number]) =>
    from === 'nowhere' ? html`<span class="soft">not set</span>` : html`<code>${shown(text)}</code>`
  const list = (some: typeof all, caption: string) =>
    section(
      some,
      caption,
      [
        { title: 'Name', cell: ({ name }) => html`<code>${name}</code>`, line: 1 },
        { title: 'Value', cell: value, line: 2 },
      ],
      'None: all have their defaults.',
      'list',
    )
  return show(
    'Settings',
    html`<h1>Settings</h1>
<p class="soft">As they apply to this process; secrets are hidden. <a href="/settings.json">JSON</a></p>
${list(set, 'Set for this process')}
<details><summary>${grouped(others.length)} settings with their defaults</summary>${list(others, 'Defaults')}</details>`,
  )
}
