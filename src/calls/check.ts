import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { requestShapes } from '../../mappings/service-shapes.ts'
import { missingCredential } from '../edge/callers/caller.ts'
import { legacyCaller } from '../edge/door.ts'
import { writeExplanation } from '../edge/explanation.ts'
import type { Answer } from '../language/answer.ts'
import { gatewayError } from '../language/errors.ts'
import type { Action } from '../language/mapping/action.ts'
import { listLeaves } from '../language/mapping/paths.ts'
import { fieldsOf, placesOf } from '../language/mapping/row-parts.ts'
import { isObject, JsonError, parseJson, scalarText } from '../language/text/json.ts'
import { isUuid } from '../language/text/service-text.ts'
import type { Call } from '../runtime/call.ts'
import { createFindings, type Findings, haveSameVehicle, LONGEST_SHOWN, shown } from './check-findings.ts'
import { type DryRun, FORMER_VIN, MAY_BE_FORMER, ONLY_IF_SAME, pathShownIn, VIN_PLACE } from './explain-plan.ts'
import type { CallRooms } from './verb.ts'

/** A request that a dry run has planned. */
interface PlannedRequest {
  readonly action: string
  /** Undefined if only the cross-reference or the service knows it. */
  readonly id: string | undefined
  /** The body, as JSON. */
  readonly text: string
  /** Places whose value the gateway assumed, may leave unchanged, or sends elsewhere: the new code may know better. */
  readonly open: readonly string[]
}

/** What is remembered for a caller: the requests of its dry runs, the latest first, and the last verdict. */
interface CheckRecord {
  readonly planned: readonly PlannedRequest[]
  readonly verdict: string | undefined
}

const NOTHING_KEPT: CheckRecord = { planned: [], verdict: undefined }
const KEPT_MS = 15 * 60_000
const MOST_CHARACTERS = 16 * 1024 * 1024
/** For all unverified callers together, so that they displace no others. */
const MOST_OF_STRANGERS = 4 * 1024 * 1024
const MOST_OF_CALLER = 512 * 1024

/**
 * Checks new code's version-2 requests against the old code's dry runs. Nothing is sent. What is remembered is limited, per caller and in
 * total.
 */
export function createChecks({ catalog, callers }: CallRooms) {
  const cacheOf = (maxSize: number) =>
    new LRUCache<string, CheckRecord>({ ttl: KEPT_MS, maxSize, sizeCalculation: charactersOf })
  const known = cacheOf(MOST_CHARACTERS)
  const strangers = cacheOf(MOST_OF_STRANGERS)
  const keptOf = (owner: string) => known.get(owner) ?? strangers.get(owner) ?? NOTHING_KEPT
  const actions = [...catalog.actions.values()].map(({ action }) => action)
  const rows = actions.flatMap(({ request }) => request)
  const setByService = new Set(rows.flatMap((row) => (row.kind === 'v2Only' && row.setByService ? [row.v2] : [])))
  /** Returns what version 2 has for a field of version 1; undefined for any other name. */
  function meaning(name: string): string | undefined {
    const own = rows.filter((row) => fieldsOf(row).includes(name))
    const [place] = own.flatMap(placesOf)
    return place === undefined ? own.flatMap((row) => ('why' in row ? [row.why] : []))[0] : `version 2 has ${place}`
  }

  function keep(owner: string, isVerified: boolean, { planned, verdict }: CheckRecord): void {
    const some = [...planned]
    while (charactersOf({ planned: some, verdict }) > MOST_OF_CALLER) some.pop()
    const kept = isVerified || known.has(owner) ? known : strangers
    kept.set(owner, { planned: some, verdict })
  }

  const isVerified = async (incoming: IncomingMessage, { request }: Call) =>
    callers.mode !== 'client' || (await callers.verified(incoming, request.share)) !== undefined

  /** In client mode nobody has verified the credential, so it is its own owner: no other credential sees what it left. */
  async function ownerOf(incoming: IncomingMessage, call: Call): Promise<string> {
    if (callers.mode === 'client') {
      if (!incoming.headers.authorization) throw missingCredential(incoming)
      return hash('sha256', incoming.headers.authorization)
    }
    return (await legacyCaller(callers)(incoming, call)(undefined)).tenant
  }

  /** Returns the action that a request asks for and the id in its path. A path in another spelling counts as the one that it is meant for. */
  function endpointOf(method: string, path: string, found: Findings): Endpoint {
    const at = (spelling: string) => actions.filter(({ service }) => idIn(spelling, service.path) !== undefined)
    let spelled = path
    let served = at(spelled)
    if (served.length === 0) {
      spelled = path.toLowerCase().replace(/\/+/g, '/').replace(/\/$/, '').replace('/quotes', '/quote')
      served = at(spelled)
      const all = [...new Set(actions.map(({ service }) => service.path))].join(', ')
      found.refuse(404, 'path', path, served[0]?.service.path, `version 2 has ${served[0]?.service.path ?? all}`)
    }
    const action = served.find((one) => one.service.method === method || (method === 'GET' && isNewQuote(one)))
    const methods = served.map(({ service }) => service.method).join(', ')
    if (served.length > 0 && !action) found.refuse(405, 'method', method, methods, `this path takes ${methods}`)
    return { action, id: action && idIn(spelled, action.service.path) }
  }

  function verdictOn(incoming: IncomingMessage, path: string, bytes: Buffer, owner: string) {
    const found = createFindings(setByService, meaning)
    const { action, id } = endpointOf(incoming.method ?? '', path, found)
    const theirs = action && bodyOf(incoming, action, bytes, found)
    const candidates = action ? keptOf(owner).planned.filter((one) => isSameRequest(one, action, id, theirs)) : []
    // One reference often covers several vehicles, each with a booking of its own.
    const ofVehicle = action?.verb === 'book' && candidates.find(({ text }) => haveSameVehicle(parseJson(text), theirs))
    const planned = ofVehicle || candidates[0]
    const notChecked: string[] = []
    if (id !== undefined && id !== '' && planned?.id !== id) {
      // An id in another form counts only if the dry run has it from the service.
      if (!isUuid(id)) found.refuse(404, 'path', id, undefined, NO_ID)
      const isUnknown = planned
        ? `whether ${shown(id)} is the id of what the dry run named`
        : `whether the service knows the id ${shown(id)}`
      notChecked.push(isUnknown)
    }
    if (action && isObject(theirs)) {
      const ours = planned && parseJson(planned.text)
      found.compare(theirs, ours, requestShapes[action.name] ?? { kind: 'any' }, '', action, planned?.open ?? [])
      if (planned?.open.includes(VIN_PLACE) && !haveSameVehicle(ours, theirs)) notChecked.push(WHICH_VEHICLE)
      if (action.verb === 'update' && action.family === 'shipment')
        notChecked.push(lostBy(theirs, action.example.reply, setByService))
    }
    const reference = isObject(theirs) ? scalarText(theirs['external_id']) : undefined
    return { action, id, reference, planned, ...found.all(), notChecked }
  }

  return {
    /** Keeps the request of a dry run for later checks of the same caller. */
    remember(incoming: IncomingMessage, call: Call, { ok, action, request, fields, unused }: DryRun): void {
      const { authorization } = incoming.headers
      const owner = callers.mode === 'client' ? authorization && hash('sha256', authorization) : call.caller.tenant
      const declared = catalog.actions.get(action)?.action
      if (!ok || owner === undefined || !declared) return
      const [path = '', query] = pathShownIn(request.url).split('?')
      const id = path.includes('{') ? undefined : idIn(path, declared.service.path)
      const text = JSON.stringify(request.body ?? Object.fromEntries(new URLSearchParams(query)))
      // A former VIN selects the vehicle but is not sent, so nothing shows which one it is.
      const isSelected = unused.some(({ why }) => why === FORMER_VIN)
      const open = fields.flatMap(({ to, assumed, warning }) =>
        assumed !== undefined ||
        warning === ONLY_IF_SAME ||
        warning?.endsWith(MAY_BE_FORMER) ||
        (isSelected && to.startsWith('vehicles['))
          ? [to]
          : [],
      )
      const { planned, verdict } = keptOf(owner)
      keep(owner, call.caller.tenant !== undefined, { planned: [{ action, id, text, open }, ...planned], verdict })
    },

    /** Answers a request as the service would, with an example; `path` is the one that the service would get. */
    async check(incoming: IncomingMessage, path: string, bytes: Buffer, call: Call): Promise<Answer> {
      const owner = await ownerOf(incoming, call)
      call.request.use = 'dry-run'
      const { action, id, reference, planned, status, lists, more, notChecked } = verdictOn(
        incoming,
        path,
        bytes,
        owner,
      )
      call.outcome.action = action?.name
      const isReady = Object.values(lists).every(({ length }) => length === 0)
      const check = isReady ? 'ready' : 'differs'
      const verdict = writeExplanation({
        check,
        action: action?.name ?? '',
        request: { method: incoming.method, path: shown(path) },
        comparedWith: planned ? 'the last dry run of this request' : 'the declared shapes alone',
        ...lists,
        more,
        notChecked,
      })
      keep(owner, await isVerified(incoming, call), { ...keptOf(owner), verdict })
      const [first] = lists.differences
      const body =
        status === 200
          ? exampleOf(action, id, reference)
          : { message: `${first?.reason}. Nothing was sent; read /check/last.` }
      return {
        status,
        headers: { 'Transload-Check': check, 'Cache-Control': 'no-store' },
        body: JSON.stringify(body),
      }
    },

    /** Returns the verdict on the last request of this caller. */
    async last(incoming: IncomingMessage, call: Call): Promise<Answer> {
      const { verdict } = keptOf(await ownerOf(incoming, call))
      if (verdict === undefined) throw gatewayError('path-unknown/check', {})
      return { status: 200, headers: { 'Cache-Control': 'no-store' }, body: verdict }
    },
  }
}

function charactersOf({ planned, verdict = '' }: CheckRecord): number {
  return planned.reduce((sum, { text }) => sum + text.length + LONGEST_SHOWN, verdict.length + LONGEST_SHOWN)
}

/** What a request asks for, as far as its path and method tell. */
interface Endpoint {
  readonly action: Action | undefined
  /** Empty if the action's path has none. */
  readonly id: string | undefined
}

/** A new quote may also be asked for by a query. */
const isNewQuote = ({ verb, target }: Action): boolean => verb === 'quote' && !target

/** Returns a request's body, or the query in place of one; undefined if there is none to check. */
function bodyOf(
  { method = '', url = '', headers }: IncomingMessage,
  action: Action,
  bytes: Buffer,
  found: Findings,
): unknown {
  if (method === 'GET' && isNewQuote(action)) return Object.fromEntries(new URLSearchParams(url.split('?')[1]))
  if (method === 'GET' || method === 'DELETE' || (action.verb === 'approve' && bytes.length === 0)) return undefined
  const type = headers['content-type'] ?? ''
  if (!/^application\/json\b/i.test(type)) found.note('Content-Type', type, 'application/json', 'the body is JSON')
  if (!isUtf8(bytes)) found.note('body', undefined, undefined, 'the body is JSON in UTF-8')
  const body = jsonIn(bytes)
  if (!isObject(body)) {
    const fault = bytes.length === 0 ? ', and this one is empty' : body === undefined ? ', and this is not JSON' : ''
    const beginning = body ?? bytes.toString('utf8', 0, LONGEST_SHOWN)
    found.refuse(400, 'body', beginning, undefined, `the body is a JSON object${fault}`)
  }
  return body
}

function jsonIn(bytes: Buffer): unknown {
  try {
    return parseJson(bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/**
 * Returns the id in a path that matches a template, empty if the template has none; undefined for another path. Accepts `/shipment` and
 * `/shipments`.
 */
function idIn(path: string, template: string): string | undefined {
  const pattern = template.replace(/\{\w+\}/, '([^/]+)').replace('/shipments', '/shipments?')
  const match = RegExp(`^${pattern}$`).exec(path)
  return match ? (match[1] ?? '') : undefined
}

function isSameRequest(planned: PlannedRequest, action: Action, id: string | undefined, theirs: unknown): boolean {
  if (planned.action !== action.name || (planned.id ?? id) !== id) return false
  if (action.verb !== 'book') return true
  const reference = (body: unknown) => (isObject(body) ? scalarText(body['external_id'])?.trim() : undefined)
  return reference(parseJson(planned.text)) === reference(theirs)
}

/** The id in examples, which no program mistakes for one of its own. */
const EXAMPLE_ID = '00000000-0000-4000-8000-000000000000'

/** Returns the declared example of the service's reply, with the id and the reference of the request. */
function exampleOf(action: Action | undefined, id: string | undefined, reference = 'EXAMPLE'): unknown {
  const reply = action?.example.reply
  if (!isObject(reply)) return {}
  const own = { id: id || EXAMPLE_ID, shipment_id: id || EXAMPLE_ID, number: 'EXAMPLE', external_id: shown(reference) }
  return { ...reply, ...Object.fromEntries(Object.entries(own).filter(([name]) => name in reply)) }
}

/** Says what an update may lose. The shipment is not known here, so this lists what shipments in general may show. */
function lostBy(theirs: Readonly<Record<string, unknown>>, example: unknown, ofService: ReadonlySet<string>): string {
  const left = listLeaves(example).listed.flatMap(([path]) => {
    if (ofService.has(path)) return []
    const isSent = path
      .split(/\.|\[(\d+)\]/)
      .filter(Boolean)
      .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], theirs)
    return isSent === undefined || isSent === null ? [path] : []
  })
  const more = left.length > 0 ? `; a shipment may also have ${left.join(', ')}` : ''
  return `what else the shipment has, which this request would delete${more}`
}

const NO_ID =
  'the path has the UUID that the service returned as the id of the shipment or quote, not a number or a reference'
const WHICH_VEHICLE = "which vehicle the dry run's VinNo selects, and its fields"
