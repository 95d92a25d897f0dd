import { createHash } from 'node:crypto'
import { freePart } from '../body/growing-buffer.ts'
import { readBody, readQuery } from '../body/read.ts'
import { tenantSettings } from '../callers/tenants.ts'
import { bookingOf } from '../calls/book.ts'
import { planFromNames } from '../calls/dry-run.ts'
import { NOTHING_FOUND, namesIn, namingOf } from '../calls/find.ts'
import { recordOf } from '../calls/legacy-answer.ts'
import { type Plan, planCall, planVersion2 } from '../calls/plan.ts'
import { classify, type Version1 } from '../calls/read-request.ts'
import { type Config, type Environment, readConfig } from '../config/config.ts'
import { readJsonFile } from '../config/json-file.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants, type Tenant, tenantsSchema } from '../config/tenants-file.ts'
import { translationSettings } from '../config/translation-settings.ts'
import { GatewayError } from '../errors.ts'
import { createRouter, requireMethod } from '../http/routing.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import type { Settings } from '../mapping/row.ts'
import { compileNetworks } from '../networks.ts'
import { basicPair } from '../service/credential.ts'
import { isUuid } from '../text/service-text.ts'
import { answered, type ComparedField, compareAnswers, comparisonsOf, masked } from './compare.ts'
import { type Recorded, readRecord } from './recording.ts'

/*
 * Rehearses recorded calls: each is read, classified and planned as the gateway does, without store and service. Several threads
 * may each rehearse some blocks; `merge` adds up what they found, and what depends on the order of calls waits for `createJoin`.
 */

/** How a run rehearses. */
export interface Setup {
  readonly env: Environment
  /** Shows values in examples; otherwise only their shapes. */
  readonly showValues: boolean
  /** Collects lines for `xref import`. */
  readonly learns: boolean
  /** The fields of replies that are not compared. */
  readonly ignored: readonly string[]
  /** The tenant of callers that the recording does not tell. */
  readonly tenant?: string | undefined
}

/** Something that occurs in calls, once for all of them. */
export interface Spot {
  count: number
  /** Places in the recording, as `placeOf` numbers them. */
  first: number
  last: number
  example: string
  /** How often by caller. */
  readonly callers: Map<string, number>
}

export type Table = Map<string, Spot>

/** How many calls would pass, pass with a loss or an assumption, be refused, or cannot be told without their body. */
export type Outcomes = [pass: number, lossy: number, refused: number, unseen: number]
const PASS = 0
const LOSSY = 1
const REFUSED = 2
const UNSEEN = 3

/** What was found in calls. Keys of several parts have tabs between them. */
export interface Tally {
  lines: number
  /** Calls that are none of version 1: those below `/v2/`, pages, files. */
  other: number
  largestBody: number
  largestReply: number
  /** By caller, action and path. */
  readonly calls: Map<string, Outcomes>
  /** By hour since 1970. */
  readonly hours: Map<number, number>
  /** How often each documented field of an action was sent. */
  readonly sent: Map<string, number[]>
  readonly tables: Readonly<Record<TableName, Table>>
}

const TABLES = [
  'unreadable',
  'problems',
  'unknown',
  'vehicles',
  'states',
  'actions',
  'habits',
  'compared',
  'joins',
] as const
export type TableName = (typeof TABLES)[number]

export const newTally = (): Tally => ({
  lines: 0,
  other: 0,
  largestBody: 0,
  largestReply: 0,
  calls: new Map(),
  hours: new Map(),
  sent: new Map(),
  tables: Object.fromEntries(TABLES.map((name) => [name, new Map()])) as unknown as Tally['tables'],
})

/** Distinct things of one kind that are told apart; the rest is counted together. */
const MOST_SPOTS = 5_000
const MOST_CALLERS = 50
const MOST_CALLS = 20_000
export const OTHERS = '(others)'

/** Numbers a line of a block, so that a later line has a higher number. */
export const placeOf = (block: number, line: number): number => block * LINES + line
const LINES = 2 ** 24
export const blockOf = (place: number): number => Math.floor(place / LINES)
export const lineOf = (place: number): number => place % LINES

const EXAMPLE_CHARACTERS = 120

/** Counts something at a place of the recording. */
export function note(table: Table, key: string, place: number, caller: string, example = '', times = 1): void {
  let spot = table.get(key)
  if (!spot) {
    const known = table.size < MOST_SPOTS ? key : OTHERS
    spot = table.get(known) ?? {
      count: 0,
      first: place,
      last: place,
      example: example.slice(0, EXAMPLE_CHARACTERS),
      callers: new Map(),
    }
    table.set(known, spot)
  }
  spot.count += times
  if (place > spot.last) spot.last = place
  if (place < spot.first) spot.first = place
  const { callers } = spot
  const name = callers.has(caller) || callers.size < MOST_CALLERS ? caller : OTHERS
  callers.set(name, (callers.get(name) ?? 0) + times)
}

function countCall(calls: Tally['calls'], key: string, outcome: number, times = 1): void {
  const known = calls.has(key) || calls.size < MOST_CALLS ? key : `${OTHERS}\t\t`
  const outcomes = calls.get(known) ?? [0, 0, 0, 0]
  outcomes[outcome] = (outcomes[outcome] ?? 0) + times
  calls.set(known, outcomes)
}

/** Adds one tally to another. */
export function merge(into: Tally, from: Tally): void {
  into.lines += from.lines
  into.other += from.other
  into.largestBody = Math.max(into.largestBody, from.largestBody)
  into.largestReply = Math.max(into.largestReply, from.largestReply)
  for (const [key, outcomes] of from.calls)
    for (const [i, count] of outcomes.entries()) countCall(into.calls, key, i, count)
  for (const [hour, count] of from.hours) into.hours.set(hour, (into.hours.get(hour) ?? 0) + count)
  for (const [action, counts] of from.sent) {
    const known = into.sent.get(action)
    into.sent.set(action, known ? known.map((count, slot) => count + (counts[slot] ?? 0)) : counts)
  }
  for (const name of TABLES) {
    for (const [key, { first, last, example, callers }] of from.tables[name]) {
      const table = into.tables[name]
      const earlier = table.get(key)
      if (earlier && first < earlier.first) earlier.example = example
      for (const [caller, count] of callers) note(table, key, first, caller, example, count)
      const spot = table.get(key) ?? table.get(OTHERS)
      if (spot) spot.last = Math.max(spot.last, last)
    }
  }
}

/** What a block tells to the thread that reads: what depends on other blocks. */
export interface BlockResult {
  readonly no: number
  readonly lines: number
  /** Six numbers for each: its kind, a hash in two, another one, its line, and a time or a variant. */
  readonly joins: Int32Array<ArrayBuffer>
  /** What calls may turn out to be, added by this block. */
  readonly variants: readonly Variant[]
  /** Calls by second and caller. */
  readonly seconds: ReadonlyMap<string, number>
  readonly learned: string
}

/** A booking that passes or not, depending on its quote. */
export interface Variant {
  readonly id: number
  readonly call: string
  readonly caller: string
  readonly without: Verdict
  readonly with: Verdict
}

/** What becomes of a call. */
interface Verdict {
  readonly outcome: number
  /** Keys of problems with their examples. */
  readonly marks: readonly (readonly [key: string, example: string])[]
}

const QUOTE = 0
const BOOKING = 1
const ANONYMOUS = 2
const NUMBERS = 6
const NO_VARIANT = -1

/** A caller of the recording. */
interface RehearsedCaller {
  readonly name: string
  readonly settings: Settings
  readonly synonyms: Readonly<Record<string, string>>
  /** True if the gateway would refuse its credential. */
  readonly isUnknown: boolean
}

/** Rehearses blocks. */
export interface Rehearsal {
  readonly tally: Tally
  readonly rehearse: (block: { readonly no: number; readonly bytes: Uint8Array<ArrayBuffer> }) => BlockResult
  /** Reads and classifies one call, for one that is asked. */
  readonly requestOf: (line: string) => { readonly request: Version1; readonly caller: RehearsedCaller } | undefined
  readonly config: Config
  readonly catalog: Catalog
  readonly limits: ReadonlyMap<string, Tenant['limits']>
}

/** Opens a rehearsal with the configuration of an environment. */
export async function openRehearsal(setup: Setup): Promise<Rehearsal> {
  const { env, showValues, ignored, learns } = setup
  const config = readConfig(env, { certificates: false })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const router = createRouter(catalog.endpoints, config.LEGACY_BASE_PATHS)
  const tenants = tenantsOf(config, catalog, env)
  const callerOf = createCallers(config, tenants, setup.tenant)
  const tally = newTally()
  const { tables } = tally
  const plans = new Map([...catalog.actions.values()].map((compiled) => [compiled, lookAt(compiled)]))
  const routes = new Map<string, string>()
  const shownText = (text: string | undefined) => (text === undefined ? '' : showValues ? text : masked(text))
  let variants: Variant[] = []
  const known = new Map<string, number>()
  let joins: number[] = []
  let seconds = new Map<string, number>()
  let learned = ''

  function routeOf(target: string): string {
    const path = target.split('?', 1)[0] ?? ''
    const route = routes.get(path) ?? router(path)
    if (routes.size < MOST_SPOTS) routes.set(path, route)
    return route
  }

  /** Records a problem that a call ends with before there is a plan. */
  function refuse(
    caller: string,
    action: string,
    path: string,
    field: string,
    code: string,
    place: number,
    example: string,
  ): void {
    note(tables.problems, ['refused', action, field, code].join('\t'), place, caller, example)
    countCall(tally.calls, [caller, action, path].join('\t'), REFUSED)
  }

  function rehearseCall(call: Recorded, place: number): void {
    const { target, method, version } = call
    const route = routeOf(target)
    const endpoint = route.startsWith('/legacy')
      ? catalog.endpoints.get(route.slice('/legacy'.length).toLowerCase())
      : undefined
    if (!endpoint && !(route.startsWith('/own') && looksLegacy(target, catalog))) {
      tally.other += 1
      return
    }
    const caller = callerOf(call)
    const { name } = caller
    countTime(call.at, name)
    tally.largestReply = Math.max(tally.largestReply, call.replyBytes ?? 0)
    const size = call.body?.length ?? call.bytes ?? 0
    if (size > tally.largestBody) tally.largestBody = size
    const early = !endpoint
      ? (['path-unknown', showValues ? target : shapeOfPath(target)] as const)
      : caller.isUnknown
        ? (['credential-wrong', name] as const)
        : size > config.BODY_LIMIT_BYTES
          ? (['body-too-large', String(size)] as const)
          : undefined
    if (endpoint) noteWire(call, endpoint, place, name)
    if (version === 'HTTP/1.0') note(tables.habits, 'HTTP/1.0', place, name)
    if (!endpoint || early) {
      const [code, example] = early ?? ['path-unknown', '']
      refuse(name, '', endpoint?.path ?? OTHERS, endpoint ? '' : shapeOfPath(target), code, place, example)
      return
    }
    let request: Version1 | undefined
    try {
      requireMethod(method, [endpoint.method])
      if (call.body === undefined && endpoint.method === 'POST') {
        countCall(tally.calls, [name, '', endpoint.path].join('\t'), UNSEEN)
        return
      }
      const body =
        endpoint.method === 'GET' ? readQuery(queryOf(target)) : readBody(call.body ?? EMPTY, charsetless(call))
      noteForm(call, body.format, place, name)
      const classified = classify(body, endpoint, NO_CALL, catalog, caller.synonyms)
      if (classified.generation === 2) {
        planVersion2(classified, endpoint)
        note(tables.habits, 'bodies of version 2 on a legacy path', place, name)
        countCall(tally.calls, [name, 'version-2 body', endpoint.path].join('\t'), PASS)
        return
      }
      request = classified
      rehearsePlan(request, call, caller, endpoint, place)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      const said = error.code === 'action-unknown' ? actionNameIn(call, target) : undefined
      if (said !== undefined)
        note(tables.actions, [endpoint.path, said.trim()].join('\t'), place, name, shownText(said))
      refuse(
        name,
        request?.compiled.action.name ?? '',
        endpoint.path,
        said === undefined ? '' : 'ActionName',
        error.code,
        place,
        shownText(said),
      )
    }
  }

  function rehearsePlan(
    request: Version1,
    call: Recorded,
    caller: RehearsedCaller,
    endpoint: Endpoint,
    place: number,
  ): void {
    const { compiled, fields } = request
    const { action } = compiled
    const { name } = caller
    const about = plans.get(compiled)
    if (!about) return
    const plan = planFromNames(request, caller.settings)
    const key = `${name}\t${action.name}\t${endpoint.path}`
    const counts = sentOf(compiled)
    const { values } = fields
    for (let slot = 0; slot < values.length; slot += 1)
      if (values[slot] !== undefined) counts[slot] = (counts[slot] ?? 0) + 1
    for (const field of new Set(fields.unknown)) note(tables.unknown, `${action.name}\t${field}`, place, name)
    noteStates(plan, about, place, name)
    const verdict = verdictOf(plan)
    if (action.xrefRecord?.kind === 'quote')
      for (const [, value] of namesIn(request, action.xrefRecord.names)) {
        joins.push(
          QUOTE,
          ...hashOf(name, value),
          lineOf(place),
          request.sent('BillToCompany') || request.sent('BillToContact') ? 1 : 0,
        )
      }
    if (call.service !== undefined && call.reply !== undefined) compareReply(plan, call, place, name)
    if (learns) learned += learn(plan, call, caller)
    if (action.service.notIdempotent && action.quoteNamedBy) {
      const [[, reference] = []] = namesIn(request, action.quoteNamedBy)
      if (reference === undefined) noteAnonymous(plan, call, caller, place)
      else {
        const quoted = verdict.outcome === PASS ? verdict : verdictOf(withQuote(request, caller.settings))
        const isSame = quoted.outcome === verdict.outcome && quoted.marks.length === verdict.marks.length
        joins.push(
          BOOKING,
          ...hashOf(name, reference),
          lineOf(place),
          isSame ? NO_VARIANT : variantOf(key, name, verdict, quoted),
        )
        if (!isSame) return
      }
    }
    applyVerdict(tally, key, name, verdict, place)
    if (verdict.outcome !== PASS) noteFallbacks(plan, about, place, name)
  }

  /** Plans a booking as if its quote were remembered. */
  function withQuote(request: Version1, settings: Settings): Plan {
    const facts = { transport_type: settings.transport_type, vehicle_type: settings.vehicle_type, customer_name: 'x' }
    return planCall(request, { ...NOTHING_FOUND, quote: { id: 'x', facts } }, settings)
  }

  function verdictOf({ request, problems, notes }: Plan): Verdict {
    if (problems.length === 0 && notes.length === 0) return PASSES
    const { name } = request.compiled.action
    const marks = new Map<string, string>()
    for (const { field, code } of problems)
      marks.set(`refused\t${name}\t${field}\t${code}`, shownText(request.textOf(field)))
    if (marks.size === 0)
      for (const { name: field, code } of notes)
        marks.set(`${code}\t${name}\t${field}\t${code}`, shownText(request.textOf(field)))
    return { outcome: problems.length > 0 ? REFUSED : LOSSY, marks: [...marks] }
  }

  function variantOf(call: string, caller: string, without: Verdict, quoted: Verdict): number {
    const key = JSON.stringify([
      call,
      ...[without, quoted].map(({ outcome, marks }) => [outcome, marks.map(([mark]) => mark)]),
    ])
    const id = known.get(key)
    if (id !== undefined) return id
    const next = known.size
    known.set(key, next)
    variants.push({ id: next, call, caller, without, with: quoted })
    return next
  }

  /** Notes values that no table knows, and values of states that are none. */
  function noteFallbacks({ request, notes }: Plan, about: Look, place: number, name: string): void {
    for (const { name: at, code } of notes) {
      const sources = code === 'assumed' ? about.lookups.get(at) : undefined
      const value = sources && namesIn(request, sources)[0]?.[1]
      if (value !== undefined) note(tables.vehicles, value.toUpperCase(), place, name, shownText(value))
    }
  }

  function noteStates({ request, problems, notes }: Plan, { states }: Look, place: number, name: string): void {
    if (problems.length + notes.length === 0) return
    const told = [
      ...problems.map(({ field }) => field),
      ...notes.flatMap((one) => (one.code === 'warning' ? [one.name] : [])),
    ]
    for (const field of new Set(told)) {
      const value = states.has(field) ? request.textOf(field) : undefined
      if (value !== undefined) note(tables.states, value.toUpperCase(), place, name, shownText(value))
    }
  }

  function noteAnonymous(plan: Plan, { idempotencyKey, at }: Recorded, caller: RehearsedCaller, place: number): void {
    if (idempotencyKey !== undefined || at === undefined) return
    const { fields } = bookingOf(plan, {}, { tenant: caller.name, credential: undefined }, 0)
    const digest = createHash('sha256')
      .update(JSON.stringify([caller.name, fields]))
      .digest()
    joins.push(ANONYMOUS, digest.readInt32LE(0), digest.readInt32LE(4), 0, lineOf(place), Math.floor(at / 1000) | 0)
  }

  function compareReply(plan: Plan, { reply = '', service }: Recorded, place: number, name: string): void {
    const { compiled } = plan.request
    const native = answered(reply)
    const translated = answered(
      JSON.stringify(compiled.reply(service, { settings: plan.settings, own: plan.own }).reply),
    )
    if (!native || !translated) return
    for (const one of compareAnswers(
      [native, native],
      translated,
      comparisonsOf(compiled.action.reply),
      new Set(ignored),
    )) {
      noteCompared(tables.compared, compiled.action.name, one, place, name)
    }
  }

  function countTime(at: number | undefined, name: string): void {
    if (at === undefined) return
    const hour = Math.floor(at / HOUR_MS)
    tally.hours.set(hour, (tally.hours.get(hour) ?? 0) + 1)
    const second = `${Math.floor(at / 1000)}\t${name}`
    seconds.set(second, (seconds.get(second) ?? 0) + 1)
  }

  function noteWire({ target, contentType, body }: Recorded, endpoint: Endpoint, place: number, name: string): void {
    const path = target.split('?', 1)[0] ?? ''
    if (path !== endpoint.path) {
      const prefix = path.slice(0, Math.max(0, path.length - endpoint.path.length))
      note(
        tables.habits,
        path.toLowerCase().endsWith(endpoint.path.toLowerCase()) && prefix !== ''
          ? `paths below ${prefix}`
          : 'paths in another spelling',
        place,
        name,
      )
    }
    const charset = /charset\s*=\s*["']?([^\s;"']{1,40})/i.exec(contentType ?? '')?.[1]
    if (charset !== undefined && !/^utf-?8$/i.test(charset))
      note(tables.habits, `charset ${charset.toLowerCase()}`, place, name)
    if (body?.[0] === 0xef && body[1] === 0xbb) note(tables.habits, 'bodies with a byte order mark', place, name)
  }

  function noteForm(
    { contentType = '', body, method }: Recorded,
    format: 'json' | 'form',
    place: number,
    name: string,
  ): void {
    if (method === 'GET' || !body) return
    const isMultipart = format === 'form' && (body[0] === 0x2d || /^\s*multipart\//i.test(contentType))
    if (format === 'form') note(tables.habits, isMultipart ? 'multipart forms' : 'forms', place, name)
    else if (body[0] !== 0x7b && /^[\w]+=/.test(body.toString('latin1', 0, 8)))
      note(tables.habits, 'JSON in a field of a form', place, name)
    const label = /json/i.test(contentType)
      ? 'json'
      : /form/i.test(contentType)
        ? 'form'
        : contentType === ''
          ? ''
          : 'else'
    if (label !== format && !(label === '' && !contentType))
      note(
        tables.habits,
        `${format === 'json' ? 'JSON' : 'forms'} labeled ${contentType.split(';', 1)[0]}`,
        place,
        name,
      )
  }

  function sentOf({ action, fields }: CompiledAction): number[] {
    const counts = tally.sent.get(action.name) ?? fields.names.map(() => 0)
    tally.sent.set(action.name, counts)
    return counts
  }

  function rehearse({ no, bytes }: { readonly no: number; readonly bytes: Uint8Array<ArrayBuffer> }): BlockResult {
    const block = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    let line = 0
    for (let start = 0; start < block.length; line += 1) {
      const found = block.indexOf(LINE_FEED, start)
      const end = found === -1 ? block.length : found
      const text = block.toString('utf8', start, end)
      start = end + 1
      const place = placeOf(no, line)
      if (text === '' || text.trim() === '') continue
      tally.lines += 1
      const record = readRecord(text.charCodeAt(0) === BLANK || text.endsWith('\r') ? text.trim() : text)
      if (typeof record === 'string') note(tables.unreadable, record, place, '')
      else rehearseCall(record, place)
    }
    freePart(block)
    const result = { no, lines: line, joins: Int32Array.from(joins), variants, seconds, learned }
    joins = []
    variants = []
    seconds = new Map()
    learned = ''
    return result
  }

  function requestOf(line: string) {
    const call = readRecord(line)
    const endpoint =
      typeof call === 'string'
        ? undefined
        : catalog.endpoints.get(routeOf(call.target).slice('/legacy'.length).toLowerCase())
    if (typeof call === 'string' || !endpoint) return undefined
    const caller = callerOf(call)
    try {
      const body =
        endpoint.method === 'GET' ? readQuery(queryOf(call.target)) : readBody(call.body ?? EMPTY, charsetless(call))
      const request = classify(body, endpoint, NO_CALL, catalog, caller.synonyms)
      return request.generation === 1 ? { request, caller } : undefined
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }

  return {
    tally,
    rehearse,
    requestOf,
    config,
    catalog,
    limits: new Map(tenants.map(({ name, limits }) => [name, limits])),
  }
}

/** Counts a compared field; differences are told apart by their shapes. */
export function noteCompared(
  table: Table,
  action: string,
  { field, verdict, native, translated }: ComparedField,
  place: number,
  caller: string,
): void {
  const example = verdict === 'differs' ? `${native || '(absent)'} → ${translated || '(absent)'}` : ''
  note(table, [action, field, verdict, example].join('\t'), place, caller, example)
}

const PASSES: Verdict = { outcome: PASS, marks: [] }
const EMPTY = Buffer.alloc(0)
const LINE_FEED = 0x0a
const BLANK = 0x20
const HOUR_MS = 3_600_000

/** Takes the facts that reading a call tells to its log line. */
const NO_CALL: Parameters<typeof classify>[2] = { action: undefined, unknownFields: 0, request: undefined }

function applyVerdict(tally: Tally, call: string, caller: string, { outcome, marks }: Verdict, place: number): void {
  countCall(tally.calls, call, outcome)
  for (const [key, example] of marks) note(tally.tables.problems, key, place, caller, example)
}

/** What the rows of an action say about values that are looked up, and about states. */
interface Look {
  readonly lookups: ReadonlyMap<string, readonly string[]>
  readonly states: ReadonlySet<string>
}

const lookAt = ({ action }: CompiledAction): Look => ({
  lookups: new Map(
    action.request.flatMap((row) => (row.kind === 'lookup' ? [[row.v2, row.sources.map(({ v1 }) => v1)]] : [])),
  ),
  states: new Set(action.request.flatMap((row) => (row.kind === 'move' && row.codec.name === 'state' ? [row.v1] : []))),
})

const queryOf = (target: string): string => target.slice(target.indexOf('?') + 1 || target.length + 1)

/** A recorded text is decoded already, whatever charset it was sent in. */
const charsetless = ({ contentType, isText }: Recorded): string | undefined =>
  isText ? contentType?.replace(/;\s*charset=[^;]*/i, '') : contentType

function actionNameIn({ body }: Recorded, target: string): string | undefined {
  const { entries } = body ? readBody(body, undefined) : readQuery(queryOf(target))
  const value = entries.find(([name]) => name.toLowerCase() === 'actionname')?.[1]
  return typeof value === 'string' ? value : undefined
}

/** Tells if a path that is not served is meant for version 1. */
const looksLegacy = (target: string, { endpoints }: Catalog): boolean => {
  const name = lastOf(target)
  return name.endsWith('.php') || endpoints.has(name)
}
const lastOf = (target: string): string =>
  (/(\/[^/]*)\/*$/.exec(target.split('?', 1)[0] ?? '')?.[1] ?? '').toLowerCase()

/** Returns a path without what may be personal in it: only words in lower case and names of scripts stay. */
const shapeOfPath = (target: string): string =>
  (target.split('?', 1)[0] ?? '').replace(/[^/]+/g, (part) =>
    /^[a-z]{1,20}\d{0,2}$|^\w{1,40}\.php$/.test(part) ? part : masked(part),
  )

function tenantsOf(
  config: Config,
  catalog: Catalog,
  env: Environment,
): readonly Pick<
  Tenant,
  'name' | 'credentials' | 'networks' | 'defaults' | 'shipment_number' | 'actions' | 'limits'
>[] {
  const { TENANTS_FILE: path } = config
  if (path === undefined) return []
  const file = readJsonFile(path)
  // The secrets may be known to the gateway alone. Mistakes are told as the gateway tells them.
  const parsed = 'content' in file ? tenantsSchema.safeParse(file.content).data : undefined
  return parsed?.tenants ?? readTenants(path, new Set(catalog.actions.keys()), env)
}

const MOST_NAMED = 10_000

/** Makes the function that tells the caller of a recorded call. */
function createCallers(config: Config, tenants: ReturnType<typeof tenantsOf>, only: string | undefined) {
  const common = translationSettings(config)
  const known = new Map<string, RehearsedCaller>()
  const all = tenants.map((tenant) => ({
    caller: { name: tenant.name, settings: tenantSettings(tenant, common), synonyms: tenant.actions, isUnknown: false },
    ids: new Set(tenant.credentials.map(({ id }) => id)),
    networks: compileNetworks(tenant.networks),
  }))
  const find = (id: string | undefined, source: string | undefined): RehearsedCaller => {
    const own = all.find(({ caller, ids, networks }) =>
      id !== undefined
        ? ids.has(id) || caller.name === id
        : source !== undefined
          ? networks.has(source)
          : caller.name === only,
    )
    if (own) return own.caller
    const name = id ?? source ?? only ?? '(not recorded)'
    // A recording without credentials says nothing about them.
    return { name, settings: common, synonyms: {}, isUnknown: all.length > 0 && id !== undefined }
  }
  return ({ authorization, client, source }: Recorded): RehearsedCaller => {
    const key = `${authorization ?? ''}\n${client ?? ''}\n${source ?? ''}`
    const found = known.get(key)
    if (found) return found
    const made = find(basicPair(authorization)?.client ?? client, source)
    const caller = known.size < MOST_NAMED ? made : { ...made, name: OTHERS }
    if (known.size < MOST_NAMED) known.set(key, caller)
    return caller
  }
}

/** Hashes a name of a caller's in two ways: in any case, and as it is. */
function hashOf(caller: string, name: string): [low: number, high: number, exact: number] {
  let [low, high, exact] = [0x811c9dc5, 0x9e3779b9, 0x811c9dc5]
  const folded = `${caller}\n${name.toLowerCase()}`
  for (let i = 0; i < folded.length; i += 1) {
    const code = folded.charCodeAt(i)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul((high << 5) ^ (high >>> 27) ^ code, 0x85ebca6b)
  }
  for (let i = 0; i < name.length; i += 1) exact = Math.imul(exact ^ name.charCodeAt(i), 0x01000193)
  return [low | 0, high | 0, exact | 0]
}

/** Writes the names that a call and its reply tell of a shipment or a quote, as lines of `xref import`. */
function learn(plan: Plan, call: Recorded, { name: tenant }: RehearsedCaller): string {
  const { request } = plan
  const { xrefRecord } = request.compiled.action
  if (!xrefRecord) return ''
  const told = answered(call.reply ?? '')?.get('ShipmentNumber')
  const named = namingOf(request)?.names ?? []
  const sentId = named.find(([, value]) => isUuid(value))?.[1]
  const id = call.shipmentId ?? (told !== undefined && isUuid(told) ? told : sentId)
  const given = namesIn(request, xrefRecord.names).map(([, name]) => name)
  const record =
    call.service !== undefined
      ? recordOf(plan, call.service)
      : id === undefined
        ? undefined
        : {
            kind: xrefRecord.kind,
            id,
            names: [...given, ...named.flatMap(([, name]) => (name === id ? [] : [name]))],
            serviceNames: [],
            vin: request.sent('VinNo') ?? '',
          }
  if (!record) return ''
  const { kind, vin } = record
  const at = call.at === undefined ? undefined : new Date(call.at).toISOString()
  const line = (given_by: string) => (name: string) =>
    `${JSON.stringify({ tenant, kind, name, vin, id: record.id, at, given_by })}\n`
  return [...new Set(record.names)]
    .map(line('caller'))
    .concat([...new Set(record.serviceNames)].map(line('service')))
    .join('')
}

/** What depends on the order of calls, added block by block. */
export interface Join {
  readonly add: (result: BlockResult, variants: ReadonlyMap<number, Variant>) => void
  readonly tally: Tally
  /** The most calls in one second, of all callers (an empty name) and of each. */
  readonly peaks: Map<string, { count: number; second: number }>
}

/** One and a half times as many names are remembered at most: 32 MB. */
const MOST_SLOTS = 2 ** 20
/** Tables grow by four. */
const FIRST_SLOTS = MOST_SLOTS / 4 ** 4
const MOST_SECONDS = 10_000
const MOST_ANONYMOUS = 100_000
const OTHER_CASE = 'other-case'
const SAME_BOOKING = 'same-booking'

/** Joins bookings with the quotes before them, finds bookings that are one, and the peaks. */
export function createJoin(dedupeWindowMs: number): Join {
  const tally = newTally()
  const peaks: Join['peaks'] = new Map()
  const perSecond = new Map<string, number>()
  const anonymous = new Map<string, number>()
  let names = newNames(FIRST_SLOTS)
  let older: Names | undefined

  function remember(low: number, high: number, exact: number, fact: number): void {
    if (names.filled * 4 > names.slots * 3) {
      if (names.slots < MOST_SLOTS) names = grown(names)
      else {
        older = names
        names = newNames(FIRST_SLOTS)
      }
    }
    put(names, low, high, exact, fact)
  }

  return {
    tally,
    peaks,
    add({ no, joins, seconds }, variants) {
      for (let at = 0; at < joins.length; at += NUMBERS) {
        const [kind, low = 0, high = 0, exact = 0, line = 0, value = 0] = joins.subarray(at, at + NUMBERS)
        const place = placeOf(no, line)
        if (kind === QUOTE) remember(low, high, exact, value)
        else if (kind === ANONYMOUS) {
          const key = `${low}\t${high}`
          const before = anonymous.get(key)
          const isSame = before !== undefined && value >= before && (value - before) * 1000 < dedupeWindowMs
          if (isSame) note(tally.tables.joins, SAME_BOOKING, place, '')
          else {
            anonymous.delete(key)
            anonymous.set(key, value)
            for (const [oldest] of anonymous)
              if (anonymous.size > MOST_ANONYMOUS) anonymous.delete(oldest)
              else break
          }
        } else {
          const found = look(names, low, high) ?? (older && look(older, low, high))
          const variant = variants.get(value)
          if (found && found.exact !== exact) note(tally.tables.joins, OTHER_CASE, place, variant?.caller ?? '')
          const isWhole = found && (found.fact === 1 || variant?.without.outcome !== REFUSED)
          if (variant)
            applyVerdict(tally, variant.call, variant.caller, isWhole ? variant.with : variant.without, place)
        }
      }
      for (const [key, count] of seconds) {
        const [second = '', caller = ''] = key.split('\t')
        for (const name of new Set(['', caller])) {
          const now = (perSecond.get(`${second}\t${name}`) ?? 0) + count
          perSecond.set(`${second}\t${name}`, now)
          if (now > (peaks.get(name)?.count ?? 0) && (peaks.has(name) || peaks.size < MOST_NAMED))
            peaks.set(name, { count: now, second: Number(second) })
        }
      }
      for (const [oldest] of perSecond)
        if (perSecond.size > MOST_SECONDS) perSecond.delete(oldest)
        else break
    },
  }
}

/** An open table of hashes: four numbers for each name. */
interface Names {
  readonly slots: number
  readonly cells: Int32Array
  filled: number
}

const newNames = (slots: number): Names => ({ slots, cells: new Int32Array(slots * 4), filled: 0 })

/** Returns the cell of a hash, or the free one for it. The last number of a cell says that it is filled. */
function cellOf({ slots, cells }: Names, low: number, high: number): number {
  let slot = (low >>> 0) % slots
  while (cells[slot * 4 + 3] !== 0 && !(cells[slot * 4] === low && cells[slot * 4 + 1] === high))
    slot = (slot + 1) % slots
  return slot * 4
}

function put(names: Names, low: number, high: number, exact: number, fact: number): void {
  const cell = cellOf(names, low, high)
  if (names.cells[cell + 3] === 0) names.filled += 1
  names.cells.set([low, high, exact, fact + 1], cell)
}

function look(names: Names, low: number, high: number): { readonly exact: number; readonly fact: number } | undefined {
  const cell = cellOf(names, low, high)
  const { [cell + 2]: exact = 0, [cell + 3]: filled = 0 } = names.cells
  return filled === 0 ? undefined : { exact, fact: filled - 1 }
}

function grown({ slots, cells }: Names): Names {
  const larger = newNames(slots * 4)
  for (let at = 0; at < cells.length; at += 4) {
    const { [at]: low = 0, [at + 1]: high = 0, [at + 2]: exact = 0, [at + 3]: filled = 0 } = cells
    if (filled !== 0) put(larger, low, high, exact, filled - 1)
  }
  return larger
}
