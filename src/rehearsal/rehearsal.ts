import { freePart } from '../body/bytes.ts'
import { readBody, readQuery } from '../body/read.ts'
import { tenantSettings } from '../callers/tenants.ts'
import { bookingOf } from '../calls/book.ts'
import { planFromNames } from '../calls/dry-run.ts'
import { NOTHING_FOUND, namesIn, namingOf } from '../calls/find.ts'
import { recordOf } from '../calls/legacy-answer.ts'
import { type Plan, planCall, planVersion2 } from '../calls/plan.ts'
import { classify, type Version1 } from '../calls/read-request.ts'
import { type Environment, readConfig } from '../config/config.ts'
import { readJsonFile } from '../config/json-file.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants, tenantsSchema } from '../config/tenants-file.ts'
import { translationSettings } from '../config/translation-settings.ts'
import { GatewayError } from '../errors.ts'
import { createRouter, requireMethod } from '../http/routing.ts'
import type { Endpoint } from '../mapping/catalog.ts'
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
type Outcomes = [pass: number, lossy: number, refused: number, unseen: number]
const PASS = 0
const LOSSY = 1
const REFUSED = 2
const UNSEEN = 3

/** The tables of what occurs in calls. Keys of several parts have tabs between them. */
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

export const newTally = () => ({
  lines: 0,
  /** Calls that are none of version 1: those below `/v2/`, pages, files. */
  other: 0,
  largestBody: 0,
  largestReply: 0,
  /** By caller, action and path, with tabs between them. */
  calls: new Map<string, Outcomes>(),
  /** By hour since 1970. */
  hours: new Map<number, number>(),
  /** How often each documented field of an action was sent. */
  sent: new Map<string, number[]>(),
  tables: Object.fromEntries(TABLES.map((name) => [name, new Map()])) as unknown as Readonly<Record<TableName, Table>>,
})

/** The findings in calls. */
export type Tally = ReturnType<typeof newTally>

/** Distinct things of one kind that are told apart; the rest is counted together. */
const MOST_SPOTS = 5_000
const MOST_CALLERS = 50
const MOST_CALLS = 20_000
const MOST_NAMED = 10_000
export const OTHERS = '(others)'

/** Numbers a line of a block, so that a later line has a higher number. */
export const placeOf = (block: number, line: number): number => block * LINES + line
const LINES = 2 ** 24
export const blockOf = (place: number): number => Math.floor(place / LINES)
export const lineOf = (place: number): number => place % LINES

const EXAMPLE_CHARACTERS = 120
const KEY_CHARACTERS = 500

/** Copies the beginning of a text; a mere slice would keep the line that it is from. */
const copyOf = (text: string, characters: number): string => Buffer.from(text.slice(0, characters)).toString()

/** Counts something at a place of the recording. */
export function note(table: Table, wholeKey: string, place: number, caller: string, example = '', times = 1): void {
  const key = wholeKey.length > KEY_CHARACTERS ? copyOf(wholeKey, KEY_CHARACTERS) : wholeKey
  let spot = table.get(key)
  if (!spot) {
    const known = table.size < MOST_SPOTS ? key : OTHERS
    const shown = copyOf(example, EXAMPLE_CHARACTERS)
    spot = table.get(known) ?? { count: 0, first: place, last: place, example: shown, callers: new Map() }
    table.set(known, spot)
  }
  spot.count += times
  if (place > spot.last) spot.last = place
  if (place < spot.first) spot.first = place
  const { callers } = spot
  const name = callers.has(caller) || callers.size < MOST_CALLERS ? caller : OTHERS
  callers.set(name, (callers.get(name) ?? 0) + times)
}

function countCall({ calls }: Tally, key: string, outcome: number, times = 1): void {
  let outcomes = calls.get(key)
  if (!outcomes) {
    const known = calls.size < MOST_CALLS ? key : `${OTHERS}\t\t`
    outcomes = calls.get(known) ?? [0, 0, 0, 0]
    calls.set(known, outcomes)
  }
  outcomes[outcome] = (outcomes[outcome] ?? 0) + times
}

/** Adds one tally to another. */
export function merge(into: Tally, from: Tally): void {
  into.lines += from.lines
  into.other += from.other
  into.largestBody = Math.max(into.largestBody, from.largestBody)
  into.largestReply = Math.max(into.largestReply, from.largestReply)
  for (const [key, outcomes] of from.calls) outcomes.forEach((count, i) => void countCall(into, key, i, count))
  for (const [hour, count] of from.hours) into.hours.set(hour, (into.hours.get(hour) ?? 0) + count)
  for (const [action, counts] of from.sent) {
    const known = into.sent.get(action)
    into.sent.set(action, known?.map((count, slot) => count + (counts[slot] ?? 0)) ?? counts)
  }
  for (const name of TABLES) {
    const table = into.tables[name]
    for (const [key, { first, last, example, callers }] of from.tables[name]) {
      const earlier = table.get(key)
      if (earlier && first < earlier.first) earlier.example = example
      for (const [caller, count] of callers) note(table, key, first, caller, example, count)
      const spot = table.get(key) ?? table.get(OTHERS)
      if (spot) spot.last = Math.max(spot.last, last)
    }
  }
}

/** The part of a block that depends on other blocks, for the thread that reads. */
export interface BlockResult {
  readonly no: number
  readonly lines: number
  /** Five numbers for each: its kind, a hash, another one, its line, and a time, a fact or a variant. */
  readonly joins: Float64Array<ArrayBuffer>
  /** The ways in which calls of this block may turn out. */
  readonly variants: readonly Variant[]
  /** Calls by second and caller. */
  readonly seconds: ReadonlyMap<string, number>
  readonly learned: string
}

/** A booking that passes or not, depending on its quote. */
interface Variant {
  readonly call: string
  readonly caller: string
  readonly without: Verdict
  readonly with: Verdict
}

/** The fate of a call. */
interface Verdict {
  readonly outcome: number
  /** Keys of problems with their examples. */
  readonly marks: readonly (readonly [key: string, example: string])[]
}

const QUOTE = 0
const BOOKING = 1
const ANONYMOUS = 2
const NUMBERS = 5
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
export type Rehearsal = Awaited<ReturnType<typeof openRehearsal>>

/** Opens a rehearsal with the configuration of an environment. */
export async function openRehearsal(setup: Setup) {
  const { env, showValues, learns } = setup
  const ignored = new Set(setup.ignored)
  const config = readConfig(env, { certificates: false })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const { endpoints } = catalog
  const router = createRouter(endpoints, config.LEGACY_BASE_PATHS)
  const tenants = tenantsOf()
  const callerOf = createCallers()
  const tally = newTally()
  const { tables } = tally
  const looks = new Map([...catalog.actions.values()].map((compiled) => [compiled, lookAt(compiled)]))
  const routes = new Map<string, { readonly endpoint: Endpoint | undefined; readonly isLegacy: boolean }>()
  const shownText = (text: string | undefined) => (text === undefined ? '' : showValues ? text : masked(text))
  // The findings in the current block, and of the current call.
  let joins: number[] = []
  let variants = new Map<string, Variant & { readonly index: number }>()
  let seconds = new Map<string, number>()
  let learned = ''
  let place = 0
  let name = ''

  const mark = (table: TableName, key: string, example?: string) => note(tables[table], key, place, name, example)

  /** The secrets may be known to the gateway alone. Mistakes are told as the gateway tells them. */
  function tenantsOf() {
    if (config.TENANTS_FILE === undefined) return []
    const file = readJsonFile(config.TENANTS_FILE)
    const parsed = 'content' in file ? tenantsSchema.safeParse(file.content).data : undefined
    return parsed?.tenants ?? readTenants(config.TENANTS_FILE, new Set(catalog.actions.keys()), env)
  }

  /** Makes the function that tells the caller of a recorded call. */
  function createCallers() {
    const common = translationSettings(config)
    const known = new Map<string, RehearsedCaller>()
    const all = tenants.map((tenant) => ({
      name: tenant.name,
      settings: tenantSettings(tenant, common),
      synonyms: tenant.actions,
      isUnknown: false,
      ids: new Set(tenant.credentials.map(({ id }) => id)),
      networks: compileNetworks(tenant.networks),
    }))
    return ({ authorization, client, source }: Recorded): RehearsedCaller => {
      const key = `${authorization ?? ''}\n${client ?? ''}\n${source ?? ''}`
      const found = known.get(key)
      if (found) return found
      const id = basicPair(authorization)?.client ?? client
      const isFull = known.size >= MOST_NAMED
      const caller = all.find((one) =>
        id !== undefined
          ? one.ids.has(id) || one.name === id
          : source !== undefined
            ? one.networks.has(source)
            : one.name === setup.tenant,
      ) ?? {
        name: isFull ? OTHERS : copyOf(id ?? source ?? setup.tenant ?? '(not recorded)', KEY_CHARACTERS),
        settings: common,
        synonyms: {},
        // A recording without credentials says nothing about them.
        isUnknown: all.length > 0 && id !== undefined,
      }
      if (!isFull && key.length < KEY_CHARACTERS) known.set(key, caller)
      return caller
    }
  }

  function routeOf(target: string) {
    const [path = ''] = target.split('?', 1)
    const known = routes.get(path)
    if (known) return known
    const route = router(path)
    const last = (/(\/[^/]*)\/*$/.exec(path)?.[1] ?? '').toLowerCase()
    const found = {
      endpoint: route.startsWith(LEGACY) ? endpoints.get(route.slice(LEGACY.length).toLowerCase()) : undefined,
      /** True for a path that is not served, and meant for version 1. */
      isLegacy: route.startsWith('/own') && (last.endsWith('.php') || endpoints.has(last)),
    }
    if (routes.size < MOST_SPOTS && path.length < KEY_CHARACTERS) routes.set(path, found)
    return found
  }

  /** Reads and classifies a call. */
  function readCall(
    { method, target, body, contentType, isText }: Recorded,
    endpoint: Endpoint,
    synonyms: RehearsedCaller['synonyms'],
  ) {
    // A recorded text is decoded already, whatever charset it was sent in.
    const label = isText ? contentType?.replace(/;\s*charset=[^;]*/i, '') : contentType
    const flat = method === 'GET' ? readQuery(queryOf(target)) : readBody(body ?? EMPTY, label)
    return { flat, request: classify(flat, endpoint, NO_CALL, catalog, synonyms) }
  }

  function rehearseCall(call: Recorded): void {
    const { target, method, body, at } = call
    const { endpoint, isLegacy } = routeOf(target)
    if (!endpoint && !isLegacy) {
      tally.other += 1
      return
    }
    const caller = callerOf(call)
    name = caller.name
    if (at !== undefined) {
      const hour = Math.floor(at / HOUR_MS)
      tally.hours.set(hour, (tally.hours.get(hour) ?? 0) + 1)
      const second = `${Math.floor(at / 1000)}\t${name}`
      seconds.set(second, (seconds.get(second) ?? 0) + 1)
    }
    const size = body?.length ?? call.bytes ?? 0
    tally.largestReply = Math.max(tally.largestReply, call.replyBytes ?? 0)
    tally.largestBody = Math.max(tally.largestBody, size)
    const key = (action: string) => `${name}\t${action}\t${endpoint?.path ?? OTHERS}`
    const refuse = (code: string, example: string, action = '', field = '') => {
      mark('problems', `refused\t${action}\t${field}\t${code}`, example)
      countCall(tally, key(action), REFUSED)
    }
    if (call.version === 'HTTP/1.0') mark('habits', call.version)
    if (!endpoint) {
      const shape = shapeOfPath(target)
      refuse('path-unknown', showValues ? target : shape, '', shape)
      return
    }
    noteWire(call, endpoint)
    if (caller.isUnknown) {
      refuse('credential-wrong', name)
      return
    }
    if (size > config.BODY_LIMIT_BYTES) {
      refuse('body-too-large', String(size))
      return
    }
    let action = ''
    try {
      requireMethod(method, [endpoint.method])
      if (body === undefined && method !== 'GET') {
        countCall(tally, key(''), UNSEEN)
        return
      }
      const { flat, request } = readCall(call, endpoint, caller.synonyms)
      if (method !== 'GET') noteForm(call, flat.format)
      if (request.generation === 2) {
        planVersion2(request, endpoint)
        mark('habits', 'bodies of version 2 on a legacy path')
        countCall(tally, key('version-2 body'), PASS)
        return
      }
      action = request.compiled.action.name
      rehearsePlan(request, call, caller, key(action))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      const said = error.code === 'action-unknown' ? actionNameIn(call) : undefined
      if (said !== undefined) mark('actions', `${endpoint.path}\t${said.trim()}`, shownText(said))
      refuse(error.code, shownText(said), action, said === undefined ? '' : 'ActionName')
    }
  }

  function rehearsePlan(request: Version1, call: Recorded, caller: RehearsedCaller, key: string): void {
    const { compiled, fields, sent } = request
    const { action } = compiled
    const { values, unknown } = fields
    const plan = planFromNames(request, caller.settings)
    let counts = tally.sent.get(action.name)
    if (!counts) {
      counts = values.map(() => 0)
      tally.sent.set(action.name, counts)
    }
    for (let slot = 0; slot < values.length; slot += 1)
      if (values[slot] !== undefined) counts[slot] = (counts[slot] ?? 0) + 1
    if (unknown.length > 0) for (const field of new Set(unknown)) mark('unknown', `${action.name}\t${field}`)
    const verdict = verdictOf(plan)
    if (verdict.outcome !== PASS) noteValues(plan)
    if (action.xrefRecord?.kind === 'quote') {
      const isWhole = sent('BillToCompany') || sent('BillToContact') ? 1 : 0
      for (const [, value] of namesIn(request, action.xrefRecord.names)) join(QUOTE, value, isWhole)
    }
    if (call.service !== undefined && call.reply !== undefined) compareReply(plan, call)
    if (learns) learned += learn(plan, call, name)
    if (action.service.notIdempotent && action.quoteNamedBy) {
      const [[, reference] = []] = namesIn(request, action.quoteNamedBy)
      if (reference === undefined) {
        if (call.idempotencyKey === undefined && call.at !== undefined) {
          const booking = bookingOf(plan, {}, { tenant: name, credential: undefined }, 0)
          join(ANONYMOUS, JSON.stringify(booking.fields), Math.floor(call.at / 1000))
        }
      } else {
        const quoted = verdict.outcome === PASS ? verdict : verdictOf(withQuote(request, caller.settings))
        const isSame = quoted.outcome === verdict.outcome && quoted.marks.length === verdict.marks.length
        const variant = { call: key, caller: name, without: verdict, with: quoted }
        join(BOOKING, reference, isSame ? NO_VARIANT : variantOf(variant))
        if (!isSame) return
      }
    }
    applyVerdict(tally, key, name, verdict, place)
  }

  function join(kind: number, text: string, value: number): void {
    joins.push(kind, ...hashesOf(name, text), lineOf(place), value)
  }

  function variantOf(variant: Variant): number {
    const { call, without, with: quoted } = variant
    const shape = ({ outcome, marks }: Verdict) => [outcome, marks.map(([problem]) => problem)]
    const key = JSON.stringify([call, shape(without), shape(quoted)])
    const index = variants.get(key)?.index ?? variants.size
    if (index === variants.size) variants.set(key, { ...variant, index })
    return index
  }

  function verdictOf({ request, problems, notes }: Plan): Verdict {
    if (problems.length === 0 && notes.length === 0) return PASSES
    const { name: action } = request.compiled.action
    const isRefused = problems.length > 0
    const said = isRefused ? problems : notes.map(({ name: field, code }) => ({ field, code }))
    const marks = new Map(
      said.map(({ field, code }) => [
        `${isRefused ? 'refused' : code}\t${action}\t${field}\t${code}`,
        shownText(request.textOf(field)),
      ]),
    )
    return { outcome: isRefused ? REFUSED : LOSSY, marks: [...marks] }
  }

  /** Notes values that no table knows, and values of states that are none. */
  function noteValues({ request, problems, notes }: Plan): void {
    const look = looks.get(request.compiled)
    const noteValue = (table: TableName, value: string | undefined) =>
      value !== undefined && mark(table, value.toUpperCase(), shownText(value))
    const doubtful = new Set(problems.map(({ field }) => field))
    for (const { name: at, code } of notes) {
      if (code === 'warning') doubtful.add(at)
      const sources = code === 'assumed' ? look?.lookups.get(at) : undefined
      if (sources) noteValue('vehicles', namesIn(request, sources)[0]?.[1])
    }
    for (const field of doubtful) if (look?.states.has(field)) noteValue('states', request.textOf(field))
  }

  function compareReply({ request, settings, own }: Plan, { reply = '', service }: Recorded): void {
    const { action, reply: translate } = request.compiled
    const native = answered(reply)
    const translated = answered(JSON.stringify(translate(service, { settings, own }).reply))
    if (!native || !translated) return
    for (const one of compareAnswers([native, native], translated, comparisonsOf(action.reply), ignored))
      noteCompared(tables.compared, action.name, one, place, name)
  }

  function noteWire({ target, contentType = '', body }: Recorded, { path: own }: Endpoint): void {
    const [path = ''] = target.split('?', 1)
    if (path !== own) {
      const isBelow = path.length > own.length && path.toLowerCase().endsWith(own.toLowerCase())
      mark('habits', isBelow ? `paths below ${path.slice(0, -own.length)}` : 'paths in another spelling')
    }
    const charset = /charset\s*=\s*["']?([^\s;"']{1,40})/i.exec(contentType)?.[1]?.toLowerCase() ?? 'utf-8'
    if (!/^utf-?8$/.test(charset)) mark('habits', `charset ${charset}`)
    if (body?.[0] === 0xef && body[1] === 0xbb) mark('habits', 'bodies with a byte order mark')
  }

  function noteForm({ contentType = '', body = EMPTY }: Recorded, format: 'json' | 'form'): void {
    if (format === 'form')
      mark('habits', body[0] === 0x2d || /^\s*multipart\//i.test(contentType) ? 'multipart forms' : 'forms')
    else if (body[0] !== 0x7b && /^\w+=/.test(body.toString('latin1', 0, 8)))
      mark('habits', 'JSON in a field of a form')
    const isLabeled = contentType === '' || contentType.toLowerCase().includes(format)
    if (!isLabeled) mark('habits', `${format === 'json' ? 'JSON' : 'forms'} labeled ${contentType.split(';', 1)[0]}`)
  }

  function rehearse({ no, bytes }: { readonly no: number; readonly bytes: Uint8Array<ArrayBuffer> }): BlockResult {
    const block = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    let line = 0
    for (let start = 0; start < block.length; line += 1) {
      const found = block.indexOf(LINE_FEED, start)
      const end = found === -1 ? block.length : found
      const text = block.toString('utf8', start, end).trim()
      start = end + 1
      if (text === '') continue
      place = placeOf(no, line)
      tally.lines += 1
      const record = readRecord(text)
      if (typeof record !== 'string') rehearseCall(record)
      else note(tables.unreadable, record, place, '')
    }
    freePart(block)
    const found = { variants: [...variants.values()], seconds, learned }
    const result = { no, lines: line, joins: Float64Array.from(joins), ...found }
    joins = []
    variants = new Map()
    seconds = new Map()
    learned = ''
    return result
  }

  /** Reads and classifies one call, for one that is asked. */
  function requestOf(line: string): { readonly request: Version1; readonly caller: RehearsedCaller } | undefined {
    const call = readRecord(line)
    const endpoint = typeof call === 'string' ? undefined : routeOf(call.target).endpoint
    if (typeof call === 'string' || !endpoint) return undefined
    const caller = callerOf(call)
    try {
      const { request } = readCall({ ...call, method: endpoint.method }, endpoint, caller.synonyms)
      return request.generation === 1 ? { request, caller } : undefined
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }

  const limits = new Map(tenants.map((tenant) => [tenant.name, tenant.limits]))
  return { tally, rehearse, requestOf, config, catalog, limits }
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
  note(table, `${action}\t${field}\t${verdict}\t${example}`, place, caller, example)
}

const PASSES: Verdict = { outcome: PASS, marks: [] }
const EMPTY = Buffer.alloc(0)
const LINE_FEED = 0x0a
const HOUR_MS = 3_600_000
const LEGACY = '/legacy'

/** Takes the facts that reading a call tells to its log line. */
const NO_CALL: Parameters<typeof classify>[2] = { action: undefined, unknownFields: 0, request: undefined }

function applyVerdict(tally: Tally, call: string, caller: string, { outcome, marks }: Verdict, place: number): void {
  countCall(tally, call, outcome)
  for (const [key, example] of marks) note(tally.tables.problems, key, place, caller, example)
}

/** Plans a booking as if its quote were remembered. */
function withQuote(request: Version1, settings: Settings): Plan {
  const facts = { transport_type: settings.transport_type, vehicle_type: settings.vehicle_type, customer_name: 'x' }
  return planCall(request, { ...NOTHING_FOUND, quote: { id: 'x', facts } }, settings)
}

/** Returns what the rows of an action say about values that are looked up, and about states. */
function lookAt({ action: { request } }: CompiledAction) {
  const lookups = request.flatMap((row) =>
    row.kind === 'lookup' ? [[row.v2, row.sources.map(({ v1 }) => v1)] as const] : [],
  )
  const states = request.flatMap((row) => (row.kind === 'move' && row.codec.name === 'state' ? row.v1 : []))
  return { lookups: new Map<string, readonly string[]>(lookups), states: new Set<string>(states) }
}

const queryOf = (target: string): string => target.slice(target.indexOf('?') + 1 || target.length)

function actionNameIn({ body, target }: Recorded): string | undefined {
  const { entries } = body ? readBody(body, undefined) : readQuery(queryOf(target))
  const value = entries.find(([field]) => field.toLowerCase() === 'actionname')?.[1]
  return typeof value === 'string' ? value : undefined
}

/** Returns a path without what may be personal in it: only words in lower case and names of scripts stay. */
const shapeOfPath = (target: string): string =>
  (target.split('?', 1)[0] ?? '').replace(/[^/]+/g, (part) =>
    /^[a-z]{1,20}\d{0,2}$|^\w{1,40}\.php$/.test(part) ? part : masked(part),
  )

/** Hashes a name of a caller's in two ways: in any case, to 53 bits, and as it is. */
function hashesOf(caller: string, name: string): [folded: number, exact: number] {
  let [low, high, exact] = [0x811c9dc5, 0x9e3779b9, 0x811c9dc5]
  const folded = `${caller}\n${name.toLowerCase()}`
  for (let i = 0; i < folded.length; i += 1) {
    const code = folded.charCodeAt(i)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul((high << 5) ^ (high >>> 27) ^ code, 0x85ebca6b)
  }
  for (let i = 0; i < name.length; i += 1) exact = Math.imul(exact ^ name.charCodeAt(i), 0x01000193)
  return [(low >>> 0) * 2 ** 21 + (high >>> 11), exact]
}

/** Writes the names that a call and its reply tell of a shipment or a quote, as lines of `xref import`. */
function learn(plan: Plan, call: Recorded, tenant: string): string {
  const { request } = plan
  const { xrefRecord } = request.compiled.action
  if (!xrefRecord) return ''
  const named = namingOf(request)?.names.map(([, value]) => value) ?? []
  const told = [call.shipmentId, answered(call.reply ?? '')?.get('ShipmentNumber'), ...named]
  const id = call.shipmentId ?? told.find((value) => value !== undefined && isUuid(value))
  const given = namesIn(request, xrefRecord.names).map(([, value]) => value)
  const vin = request.sent('VinNo') ?? ''
  const names = [...given, ...named.filter((value) => value !== id)]
  const record =
    call.service === undefined
      ? id !== undefined && { kind: xrefRecord.kind, id, names, serviceNames: [], vin }
      : recordOf(plan, call.service)
  if (!record) return ''
  const at = call.at === undefined ? undefined : new Date(call.at).toISOString()
  const lines = (all: readonly string[], given_by: string) =>
    [...new Set(all)].map(
      (value) =>
        `${JSON.stringify({ tenant, kind: record.kind, name: value, vin: record.vin, id: record.id, at, given_by })}\n`,
    )
  return [...lines(record.names, 'caller'), ...lines(record.serviceNames ?? [], 'service')].join('')
}

/** Makes a map that keeps at least so many of its latest entries, and at most twice as many. */
function latest<Key>(entries: number) {
  let older = new Map<Key, number>()
  let newer = new Map<Key, number>()
  return {
    get: (key: Key) => newer.get(key) ?? older.get(key),
    set(key: Key, value: number) {
      if (newer.size >= entries) {
        older = newer
        newer = new Map()
      }
      newer.set(key, value)
    },
  }
}

/** They take 25 MB at most. */
const LATEST_NAMES = 2 ** 18
const LATEST_BOOKINGS = 2 ** 16
const LATEST_SECONDS = 2 ** 13

/** What depends on the order of calls, added block by block. */
export type Join = ReturnType<typeof createJoin>

/** Joins bookings with the quotes before them, finds bookings that are one, and the peaks. */
export function createJoin(dedupeWindowMs: number) {
  const tally = newTally()
  const { joins: table } = tally.tables
  /** The most calls in one second, of all callers (an empty name) and of each. */
  const peaks = new Map<string, { readonly count: number; readonly second: number }>()
  const perSecond = latest<string>(LATEST_SECONDS)
  const anonymous = latest<number>(LATEST_BOOKINGS)
  /** The exact hashes of the names of quotes; the last bit tells if the quote names its payer. */
  const quotes = latest<number>(LATEST_NAMES)
  return {
    tally,
    peaks,
    add({ no, joins, seconds, variants }: BlockResult): void {
      for (let at = 0; at < joins.length; at += NUMBERS) {
        const [kind, key = 0, exact = 0, line = 0, value = 0] = joins.subarray(at, at + NUMBERS)
        const place = placeOf(no, line)
        if (kind === QUOTE) quotes.set(key, (exact & ~1) | value)
        else if (kind === ANONYMOUS) {
          const before = anonymous.get(key)
          const isSame = before !== undefined && value >= before && (value - before) * 1000 < dedupeWindowMs
          if (isSame) note(table, 'same-booking', place, '')
          else anonymous.set(key, value)
        } else {
          const quote = quotes.get(key)
          const variant = variants[value]
          if (quote !== undefined && (quote ^ exact) >>> 1 !== 0)
            note(table, 'other-case', place, variant?.caller ?? '')
          if (!variant) continue
          const isWhole = quote !== undefined && ((quote & 1) === 1 || variant.without.outcome !== REFUSED)
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
    },
  }
}
