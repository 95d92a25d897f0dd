import { EVENT_STATES, type EventFilter, type EventState, type StoredEvent } from '../store/events.ts'
import type { Store } from '../store/store.ts'
import { suggestion } from '../text/nearest.ts'
import { readArguments } from './arguments.ts'
import { testCallback } from './callback-test.ts'
import { eventView, lineOf } from './event-view.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { print, printError, printJson } from './output.ts'
import { pastTime } from './past-time.ts'
import { count, createProgressBar } from './progress.ts'
import { withExistingStore } from './store.ts'

const USAGE = [
  'Usage:',
  '  transload webhooks list [--state parked] [--tenant NAME] [--since 2h] [--until 2026-12-31] [--json]',
  '  transload webhooks show ID [--json]',
  '  transload webhooks replay ID [--json]',
  '  transload webhooks replay [--state parked] [--tenant NAME] [--since 2h] [--until 1h] [--json]',
  '  transload webhooks skip ID [--json]',
  '  transload webhooks resume TENANT [--json]',
  '  transload webhooks test TENANT [--json]',
  '',
  `The states are ${EVENT_STATES.join(', ')}. Times are dates, or durations before now.`,
]

const EXPLAINED = {
  state: 'Takes only events in this state.',
  tenant: 'Takes only events of this tenant.',
  since: 'Takes only events that came at this time or later.',
  until: 'Takes only events that came before this time.',
  json: 'Prints JSON.',
}
const EXAMPLES = [
  'transload webhooks list --state parked --since 2h',
  'transload webhooks replay --state parked --tenant acme',
  'transload webhooks test acme',
]
const RANGE = ['state', 'tenant', 'since', 'until'] as const

/** How many events are listed, or replayed, in one step. */
const PAGE = 500

/** Lists, shows, replays and skips events, and resumes and tests callbacks, on the store of running gateways. */
export async function webhooks(args: readonly string[]): Promise<number> {
  const { verb, operands, values } = readArguments(args, {
    usage: USAGE,
    options: {
      state: { type: 'string' },
      tenant: { type: 'string' },
      since: { type: 'string' },
      until: { type: 'string' },
      json: { type: 'boolean' },
    },
    explained: EXPLAINED,
    examples: EXAMPLES,
    verbs: {
      list: { operands: [], options: [...RANGE, 'json'] },
      show: { operands: ['ID'], options: ['json'] },
      replay: { operands: ['[ID]'], options: [...RANGE, 'json'] },
      skip: { operands: ['ID'], options: ['json'] },
      resume: { operands: ['TENANT'], options: ['json'] },
      test: { operands: ['TENANT'], options: ['json'] },
    },
  })
  const [operand = ''] = operands
  const { json = false } = values
  const range = RANGE.filter((name) => values[name] !== undefined)
  const filter = filterOf(values)
  switch (verb) {
    case 'list':
      return withExistingStore((store) => list(store, filter, json))
    case 'show':
      return withExistingStore((store) => show(store, operand, json))
    case 'replay':
      if ((operand === '') === (range.length === 0)) {
        throw new UsageError('replay needs either an ID or at least one of --state, --tenant, --since, --until', USAGE)
      }
      return withExistingStore((store) =>
        operand === '' ? replayRange(store, filter, json) : replay(store, operand, json),
      )
    case 'skip':
      return withExistingStore((store) => skip(store, operand, json))
    case 'resume':
      return withExistingStore((store) => resume(store, operand, json))
    case 'test':
      return testCallback(operand, json)
    default:
      return verb satisfies never
  }
}

interface RangeOptions {
  readonly state?: string | undefined
  readonly tenant?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

function filterOf({ state, tenant, since, until }: RangeOptions): EventFilter {
  return { tenant, state: stateOf(state), since: timeOf('--since', since), until: timeOf('--until', until) }
}

function timeOf(option: string, text: string | undefined): number | undefined {
  const time = text === undefined ? undefined : pastTime(text, Date.now())
  if (text === undefined || time !== undefined) return time
  throw new UsageError(`${option} takes a date such as 2026-12-31, or a duration such as 2h or 30d`, USAGE)
}

function stateOf(text: string | undefined): EventState | undefined {
  const state = EVENT_STATES.find((known) => known === text)
  if (text === undefined || state !== undefined) return state
  throw new UsageError(
    `unknown state ${text}${suggestion(text, EVENT_STATES) || `; the states are ${EVENT_STATES.join(', ')}`}`,
    USAGE,
  )
}

async function list(store: Store, filter: EventFilter, json: boolean): Promise<number> {
  let listed = 0
  for await (const event of eventsOf(store, filter)) {
    listed += 1
    if (json) printJson(eventView(event))
    else print(lineOf(event))
  }
  if (json) return 0
  printError(`${count(listed)} ${listed === 1 ? 'event' : 'events'}`)
  for (const { tenant, stopped, pausedUntil } of await store.endpoints()) {
    const why = stopped ? 'has stopped its deliveries' : `pauses until ${new Date(pausedUntil).toISOString()}`
    printError(`The callback of ${tenant} ${why}.`)
  }
  return 0
}

/** Yields events page by page. */
async function* eventsOf(store: Store, filter: EventFilter): AsyncGenerator<StoredEvent> {
  let after: number | undefined
  for (;;) {
    const page = await store.listEvents({ ...filter, after, limit: PAGE })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)?.no
  }
}

async function show(store: Store, id: string, json: boolean): Promise<number> {
  const event = await eventAt(store, id)
  printJson({ ...eventView(event), payload: event.payload, body: event.body?.text }, json ? undefined : 2)
  return 0
}

async function replay(store: Store, id: string, json: boolean): Promise<number> {
  await eventAt(store, id)
  const replayed = await store.replayEvents([id])
  if (json) printJson({ replayed })
  else print(`${id} is due.`)
  return 0
}

async function replayRange(store: Store, filter: EventFilter, json: boolean): Promise<number> {
  const ids: string[] = []
  for await (const { id } of eventsOf(store, filter)) ids.push(id)
  const progress = createProgressBar(ids.length)
  let replayed = 0
  for (let from = 0; from < ids.length; from += PAGE) {
    replayed += await store.replayEvents(ids.slice(from, from + PAGE))
    progress(Math.min(from + PAGE, ids.length))
  }
  if (json) printJson({ replayed })
  else print(`${count(replayed)} ${replayed === 1 ? 'event is' : 'events are'} due.`)
  return 0
}

async function skip(store: Store, id: string, json: boolean): Promise<number> {
  const { state } = await eventAt(store, id)
  const skipped = await store.skipEvents([id])
  if (skipped === 0) throw new CommandFailed(`${id} is ${state}; only due and parked events can be skipped`)
  if (json) printJson({ skipped })
  else print(`${id} is skipped.`)
  return 0
}

async function resume(store: Store, tenant: string, json: boolean): Promise<number> {
  const resumed = await store.resumeEndpoint(tenant)
  if (!resumed) throw new CommandFailed(`the callback of ${tenant} has neither stopped nor paused`)
  if (json) printJson({ resumed })
  else print(`Deliveries to ${tenant} go on.`)
  return 0
}

async function eventAt(store: Store, id: string): Promise<StoredEvent> {
  const event = await store.findEvent(id)
  if (!event) throw new CommandFailed(`there is no event ${id}`)
  return event
}
