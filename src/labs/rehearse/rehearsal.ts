import { loadMappings } from '../../../mappings/load.ts'
import { planFromNames } from '../../calls/dry-run.ts'
import { answerToBody } from '../../calls/explain-plan.ts'
import { type Plan, planCall } from '../../calls/plan.ts'
import { factsAfter } from '../../calls/quote.ts'
import { classify, namesGivenIn, namesIn, type Version1, type Version2 } from '../../calls/read-request.ts'
import { NO_SUBJECT, referenceOf, vinOf } from '../../calls/subject.ts'
import { planVersion2 } from '../../calls/version2.ts'
import { readBody, readQuery } from '../../edge/body/read.ts'
import { tenantSettings } from '../../edge/callers/tenants.ts'
import { createRouter, requireMethod } from '../../edge/routing.ts'
import { type Config, type Environment, readConfig } from '../../language/config/config.ts'
import { readJsonFile } from '../../language/config/json-file.ts'
import { readTenants, tenantsSchema } from '../../language/config/tenants-file.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { asksForNothing, GatewayError } from '../../language/errors.ts'
import type { Action } from '../../language/mapping/action.ts'
import type { Catalog, Endpoint } from '../../language/mapping/catalog.ts'
import type { FlatBody, Problem } from '../../language/mapping/fields.ts'
import type { KnownFacts } from '../../language/mapping/request.ts'
import { ASSUMED_FACT, PARTLY_ASSUMED_FACT, type Settings } from '../../language/mapping/row.ts'
import { compileNetworks } from '../../language/networks.ts'
import { isUuid } from '../../language/text/service-text.ts'
import { basicPair } from '../../outside/service/credential.ts'
import { idAt } from '../../outside/service/proofs.ts'
import { createBoundedCache } from '../../runtime/collections.ts'
import { isMaskedId } from '../../runtime/recorder.ts'
import { answered, type ComparedField, compareAnswers, comparisonsOf, masked } from './compare.ts'
import { type RecordedCall, readRecord } from './recording.ts'

/*
 * Rehearses recorded calls: reads, classifies and plans each as the gateway does, but without the store and the service.
 */

/** The options of a rehearsal. */
interface Setup {
  /** Shows values in examples, instead of only their shapes. @default false */
  readonly showValues?: boolean
  /** The fields of replies that are not compared, separated by commas. @default none */
  readonly ignore?: string
  /** The tenant of callers whom the recording does not identify. */
  readonly tenant?: string
}

/** A line of a file or an entry of a HAR, counted from 1. */
export interface LinePlace {
  readonly file: string
  readonly line: number
}

/** Something that occurs in calls, listed once for all of them. */
export interface Spot {
  /** The texts that identify it. */
  readonly parts: readonly string[]
  count: number
  readonly first: LinePlace
  last: LinePlace
  readonly example: string
  /** The number of occurrences by caller. */
  readonly callers: Map<string, number>
}

export type Table = Map<string, Spot>

/** The number of calls that would pass, pass with a loss or an assumption, or be refused, and of those without a recorded body. */
export interface Outcomes {
  pass: number
  lossy: number
  refused: number
  unseen: number
}

/** The findings in calls. */
const newTally = () => ({
  lines: 0,
  /** Calls that are not version 1: those below `/v2/`, pages, files. */
  other: 0,
  /** By caller, action and path, with tabs between them. */
  calls: new Map<string, Outcomes>(),
  unreadable: new Map() as Table,
  problems: new Map() as Table,
  unknown: new Map() as Table,
  /** Values that are in no table. */
  vehicles: new Map() as Table,
  actions: new Map() as Table,
  compared: new Map() as Table,
})

/** The most distinct things of one kind that are counted separately. */
const MOST_SPOTS = 5_000
const MOST_CALLERS = 50
const MOST_CALLS = 20_000
const MOST_NAMED = 10_000
export const OTHERS = '(others)'

const EXAMPLE_CHARACTERS = 120
const KEY_CHARACTERS = 500

/** Copies the beginning of a text; a mere slice would keep the lines that it comes from in memory. */
const copyOf = (text: string, characters: number): string => Buffer.from(text.slice(0, characters)).toString()

/** Returns the entry of a key, or the common entry of all others once there are `most` entries. */
function entryOf<Entry>(
  all: Map<string, Entry>,
  wanted: string,
  most: number,
  others: string,
  make: (key: string) => Entry,
): Entry {
  const key = all.has(wanted) || all.size < most ? wanted : others
  const entry = all.get(key) ?? make(key)
  all.set(key, entry)
  return entry
}

/** Counts something at a place of the recording. */
function note(table: Table, parts: readonly string[], place: LinePlace, caller: string, example = ''): undefined {
  const spot = entryOf(table, copyOf(parts.join('\t'), KEY_CHARACTERS), MOST_SPOTS, OTHERS, (key) => ({
    parts: key === OTHERS ? [OTHERS] : parts.map((part) => copyOf(part, KEY_CHARACTERS)),
    count: 0,
    first: place,
    last: place,
    example: copyOf(example, EXAMPLE_CHARACTERS),
    callers: new Map(),
  }))
  spot.count += 1
  spot.last = place
  const { callers } = spot
  const name = callers.has(caller) || callers.size < MOST_CALLERS ? caller : OTHERS
  callers.set(name, (callers.get(name) ?? 0) + 1)
}

/** A caller of the recording. */
interface RehearsedCaller {
  readonly name: string
  /** Undefined if the recording names none. */
  readonly tenant: string | undefined
  readonly settings: Settings
  readonly synonyms: Readonly<Record<string, string>>
  /** True if the gateway would refuse its credential. */
  readonly isUnknown: boolean
}

/** Rehearses calls one after the other. */
export type Rehearsal = Awaited<ReturnType<typeof openRehearsal>>

/** Opens a rehearsal with the configuration of an environment. */
export async function openRehearsal(env: Environment, { showValues, ignore = '', tenant }: Setup) {
  const config = readConfig(env, { certificates: false })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const tenants = tenantsOf(config, catalog, env)
  return {
    config,
    catalog,
    tenants: tenants.map(({ name }) => name),
    callerOf: createCallers(config, tenants, tenant),
    routeOf: createRoutes(catalog, config.LEGACY_BASE_PATHS),
    ignored: new Set(ignore.split(',').map((field) => field.trim())),
    shownText: (text = '') => (showValues ? text : masked(text)),
    tally: newTally(),
    /** What the gateway would remember of quotes, by their names. */
    quotes: createBoundedCache<string, { facts: KnownFacts }>(LATEST_QUOTES),
    shapes: new Map<string, KnownFacts>(),
  }
}

/** Makes the function that identifies the caller of a recorded call. */
function createCallers(config: Config, tenants: ReturnType<typeof tenantsOf>, assumed: string | undefined) {
  const common = translationSettings(config)
  const known = new Map<string, RehearsedCaller>()
  const all = tenants.map((tenant) => ({
    name: tenant.name,
    tenant: tenant.name,
    settings: tenantSettings(tenant, common),
    synonyms: tenant.actions,
    isUnknown: false,
    ids: new Set(tenant.credentials.map(({ id }) => id)),
    networks: compileNetworks(tenant.networks),
  }))
  return ({ authorization, client, source }: RecordedCall): RehearsedCaller => {
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
          : one.name === assumed,
    ) ?? {
      name: isFull ? OTHERS : copyOf(id ?? source ?? assumed ?? '(not recorded)', KEY_CHARACTERS),
      tenant: id === undefined ? assumed : copyOf(id, KEY_CHARACTERS),
      settings: common,
      synonyms: {},
      // A recording without credentials says nothing about them.
      isUnknown: all.length > 0 && id !== undefined,
    }
    if (!isFull && key.length < KEY_CHARACTERS) known.set(key, caller)
    return caller
  }
}

/** Reads the tenants without their secrets, which perhaps only the gateway knows. Reports mistakes as the gateway does. */
function tenantsOf({ TENANTS_FILE }: Config, catalog: Catalog, env: Environment) {
  if (TENANTS_FILE === undefined) return []
  const file = readJsonFile(TENANTS_FILE)
  const parsed = 'content' in file ? tenantsSchema.safeParse(file.content).data : undefined
  return parsed?.tenants ?? readTenants(TENANTS_FILE, catalog, env)
}

const LEGACY = '/legacy'

/** Makes the function that returns the endpoint of a path and whether the path is meant for version 1. */
export function createRoutes({ endpoints }: Catalog, basePaths: readonly string[]) {
  const router = createRouter(endpoints, basePaths)
  return (target: string) => {
    const [path = ''] = target.split('?', 1)
    const route = router(path)
    const last = `/${path.split('/').findLast((part) => part !== '') ?? ''}`.toLowerCase()
    const endpoint = route.startsWith(LEGACY) ? endpoints.get(route.slice(LEGACY.length).toLowerCase()) : undefined
    const isMeant = route.startsWith('/own') && (last.endsWith('.php') || endpoints.has(last))
    return { endpoint, isLegacy: endpoint !== undefined || isMeant }
  }
}

/** Returns the path of a call, by default that of the action that it names. */
export const targetOf = ({ target, action = '' }: RecordedCall, { actions }: Catalog): string | undefined =>
  target ?? actions.get(action)?.action.legacy.paths[0]

/** Returns the fields of a call's body or query. */
export function fieldsIn({ request = EMPTY, contentType, target = '' }: RecordedCall, method: string): FlatBody {
  const [, query] = /\?(.*)$/s.exec(target) ?? []
  if (method === 'GET' && (query !== undefined || request.length === 0)) return readQuery(query ?? '')
  // A recorded text is already decoded, whatever its original charset.
  return readBody(request, contentType?.replace(/;\s*charset=[^;]*/i, ''))
}

const EMPTY = Buffer.alloc(0)

/** Reads and classifies a call at its endpoint. */
export function classified(
  call: RecordedCall,
  endpoint: Endpoint,
  catalog: Catalog,
  synonyms: RehearsedCaller['synonyms'],
): Version1 | Version2 {
  requireMethod(call.method ?? endpoint.method, [endpoint.method])
  return classify(fieldsIn(call, endpoint.method), endpoint, catalog, synonyms)
}

/** A rehearsed call of version 1. */
export interface RehearsedCall {
  readonly call: RecordedCall
  readonly caller: RehearsedCaller
  readonly plan: Plan
}

/** Rehearses the call of a line: counts its outcome, and returns the call if the gateway understands it. */
export function rehearse(rehearsal: Rehearsal, line: string, place: LinePlace): RehearsedCall | undefined {
  const { tally, catalog, config, shownText } = rehearsal
  tally.lines += 1
  const unreadable = (why: string) => note(tally.unreadable, [why], place, '')
  const call = readRecord(line, place.file)
  if (typeof call === 'string') return unreadable(call)
  const target = targetOf(call, catalog)
  if (target === undefined) return unreadable('has no path and an unknown action')
  const { endpoint, isLegacy } = rehearsal.routeOf(target)
  if (!isLegacy) {
    tally.other += 1
    return undefined
  }
  const caller = rehearsal.callerOf(call)
  const count = (action: string, outcome: keyof Outcomes) => {
    const key = [caller.name, action, endpoint?.path ?? OTHERS].join('\t')
    const none = { pass: 0, lossy: 0, refused: 0, unseen: 0 }
    entryOf<Outcomes>(tally.calls, key, MOST_CALLS, `${OTHERS}\t\t`, () => none)[outcome] += 1
  }
  const refuse = (code: string, example: string, action = '', field = '') => {
    note(tally.problems, ['refused', action, field, code], place, caller.name, example)
    count(action, 'refused')
  }

  if (!endpoint) refuse('path-unknown', shownText(target), '', shapeOfPath(target))
  else if (caller.isUnknown) refuse('credential-wrong', caller.name)
  else if ((call.request?.length ?? 0) > config.BODY_LIMIT_BYTES) refuse('body-too-large', String(call.request?.length))
  else if (!call.request && (call.method ?? endpoint.method) === 'POST' && endpoint.method === 'POST')
    count('', 'unseen')
  else {
    try {
      const request = classified(call, endpoint, catalog, caller.synonyms)
      if (request.generation === 1) {
        const plan = planOf(request, caller, rehearsal)
        notePlan(plan, caller, place, rehearsal)
        count(request.compiled.action.name, outcomeOf(plan))
        compareReply(plan, call, caller, place, rehearsal)
        return { call, caller, plan }
      }
      planVersion2(request, endpoint)
      count('version-2 body', 'pass')
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      const said = error.code === 'action-unknown' ? actionNameIn(call, endpoint.method) : undefined
      if (said !== undefined) note(tally.actions, [endpoint.path, said], place, caller.name, shownText(said))
      refuse(error.code, shownText(said), '', said === undefined ? '' : 'ActionName')
    }
  }
  return undefined
}

/** Plans a call, with what its quote, earlier in the recording, lets the gateway remember. */
function planOf(request: Version1, { name, settings }: RehearsedCaller, { quotes, shapes }: Rehearsal): Plan {
  const { verb, target, quoteNamedBy = [] } = request.compiled.action
  const [known] = namesIn(request, quoteNamedBy).flatMap(([, value]) => quotes.get(quoteKey(name, value)) ?? [])
  const subject = known && {
    ...NO_SUBJECT,
    own: request.sent('ShipmentNumber'),
    quote: { ...REHEARSED_QUOTE, facts: known.facts },
  }
  const plan = subject ? planCall(request, subject, settings) : planFromNames(request, settings)
  if (verb === 'quote' && plan.problems.length === 0) {
    // One for all of its names: a change by one of them counts for the others.
    const quote = known && target ? known : { facts: {} }
    quote.facts = shapeOf(factsAfter(plan), shapes)
    if (quote !== known) for (const value of namesGivenIn(request)) quotes.set(quoteKey(name, value), quote)
  }
  return plan
}

/** Returns facts without their values, which no plan needs: most quotes share a shape, which is kept once. */
function shapeOf(facts: KnownFacts, shapes: Map<string, KnownFacts>): KnownFacts {
  const shape: Record<string, string> = {}
  for (const [fact, value] of Object.entries(facts)) {
    const isList = fact === ASSUMED_FACT || fact === PARTLY_ASSUMED_FACT
    shape[fact] = isList ? String(value).replace(/=.*/g, '=x') : 'x'
  }
  const key = JSON.stringify(shape)
  const kept = shapes.get(key) ?? shape
  shapes.set(key, kept)
  return kept
}

/** A quote in the recording; no plan needs its id and names. */
const REHEARSED_QUOTE = {
  id: 'x',
  own: undefined,
  names: [],
  price: undefined,
  approval: '',
  idsInApproval: [],
} as const

const outcomeOf = ({ problems, notes }: Plan): keyof Outcomes =>
  problems.length > 0 ? 'refused' : notes.length > 0 ? 'lossy' : 'pass'

/** Returns the message of a problem whose code no rule of a row explains; it contains no value of the caller. */
const ownWords = (problem: Problem, { refuses = [] }: Action): string =>
  asksForNothing(problem) || refuses.some(({ code }) => code === problem.code) ? problem.message : ''

/** Notes the problems of a plan, or otherwise its losses and assumptions, and fields and values that are in no row or table. */
function notePlan(
  { request, problems, notes }: Plan,
  caller: RehearsedCaller,
  place: LinePlace,
  rehearsal: Rehearsal,
): void {
  const { tally, shownText } = rehearsal
  const { action } = request.compiled
  const mark = (table: Table, parts: readonly string[], example?: string) =>
    note(table, parts, place, caller.name, example)
  for (const field of new Set(request.fields.unknown)) mark(tally.unknown, [action.name, field])
  const said =
    problems.length > 0
      ? problems.map((problem) => ['refused', action.name, problem.field, problem.code, ownWords(problem, action)])
      : notes.map(({ name, code }) => [code, action.name, name, code])
  for (const parts of new Map(said.map((parts) => [parts.join('\t'), parts])).values())
    mark(tally.problems, parts, shownText(request.textOf(parts[2] ?? '')))
  for (const { name, code } of notes) {
    const row = code === 'assumed' ? action.request.find((one) => one.kind === 'lookup' && one.v2 === name) : undefined
    if (row?.kind !== 'lookup') continue
    const [[field = '', value] = []] = namesIn(
      request,
      row.sources.map(({ v1 }) => v1),
    )
    if (value !== undefined) mark(tally.vehicles, [value.toUpperCase(), field], shownText(value))
  }
}

/** Compares a recorded reply with the translation of the service's reply. */
function compareReply(
  plan: Plan,
  { replies, service }: RecordedCall,
  caller: RehearsedCaller,
  place: LinePlace,
  { tally, ignored }: Rehearsal,
): void {
  if (service === undefined || replies === undefined) return
  const { request, settings, own } = plan
  const { action, reply: translate } = request.compiled
  const native = answered(replies)
  const said = action.verb === 'approve' ? approvalReply(plan, service) : translate(service, { settings, own }).reply
  const translated = said && answered(JSON.stringify(said))
  if (!native || !translated) return
  for (const one of compareAnswers([native, native], translated, comparisonsOf(action.reply), ignored))
    noteCompared(tally.compared, action.name, one, place, caller.name)
}

/** Translates the reply to an approval; undefined if the gateway would not trust it. */
function approvalReply(plan: Plan, service: unknown) {
  try {
    return answerToBody(plan, service).answer.reply
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

/** Counts a compared field; differences are grouped by shape. */
export function noteCompared(
  table: Table,
  action: string,
  { field, verdict, native, translated }: ComparedField,
  place: LinePlace,
  caller: string,
): void {
  const example = verdict === 'differs' ? `${native || '(absent)'} → ${translated || '(absent)'}` : ''
  note(table, [action, field, verdict, example], place, caller, example)
}

function actionNameIn(call: RecordedCall, method: string): string | undefined {
  const value = fieldsIn(call, method).entries.find(([field]) => field.toLowerCase() === 'actionname')?.[1]
  return typeof value === 'string' ? value.trim() : undefined
}

/** Replaces a part of a path that may be personal. */
export const HIDDEN = '*'

/** Returns a path with only its lower-case words and script names; other parts are hidden. */
const shapeOfPath = (target: string): string =>
  (target.split('?', 1)[0] ?? '').replace(/[^/]+/g, (part) =>
    /^[a-z]{1,20}\d{0,2}$|^\w{1,40}\.php$/.test(part) ? part : HIDDEN,
  )

/** Returns the lines for `xref import` with the names of a shipment or a quote in a call and its reply. */
export function learn({ plan, call, caller }: RehearsedCall): string {
  const { request } = plan
  const { verb } = request.compiled.action
  if (verb === 'cancel') return ''
  const kind = verb === 'quote' ? 'quote' : 'shipment'
  const named = referenceOf(request)?.names.map(([, value]) => value) ?? []
  const shown = [call.shipmentId, answered(call.replies ?? '')?.get('ShipmentNumber'), ...named]
  const ofService = idAt(call.service, 'id') ?? idAt(call.service, 'shipment_id')
  const id = ofService ?? call.shipmentId ?? shown.find((value) => value !== undefined && isUuid(value))
  if (id === undefined || isMaskedId(id)) return ''
  const given = namesGivenIn(request)
  const number = idAt(call.service, 'number')
  const vin = kind === 'shipment' ? vinOf(request) : ''
  const at = call.at === undefined ? undefined : new Date(call.at).toISOString()
  const lines = (all: readonly string[], given_by: string) =>
    [...new Set(all)].map((name) => `${JSON.stringify({ tenant: caller.tenant, kind, name, vin, id, at, given_by })}\n`)
  const own = [...given, ...named].filter((name) => name !== id)
  return [...lines(own, 'caller'), ...lines(number === undefined ? [] : [number], 'service')].join('')
}

/** They take 20 MB at most. */
const LATEST_QUOTES = 100_000

const quoteKey = (caller: string, name: string): string => copyOf(`${caller}\n${name.toLowerCase()}`, KEY_CHARACTERS)
