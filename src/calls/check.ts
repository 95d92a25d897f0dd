import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { DATE, requestShapes, type Shape } from '../../mappings/service-shapes.ts'
import { missingCredential } from '../edge/callers/caller.ts'
import { legacyCaller } from '../edge/door.ts'
import { writeExplanation } from '../edge/explanation.ts'
import type { Answer } from '../language/answer.ts'
import { gatewayError } from '../language/errors.ts'
import type { Action } from '../language/mapping/action.ts'
import { listLeaves } from '../language/mapping/paths.ts'
import { fieldsOf, placesOf } from '../language/mapping/row-parts.ts'
import { isObject, isStructure, JsonError, parseJson, scalarText } from '../language/text/json.ts'
import { suggestion } from '../language/text/nearest.ts'
import { isUuid } from '../language/text/service-text.ts'
import type { Call } from '../runtime/call.ts'
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
const MOST_ROWS = 100
const LONGEST_SHOWN = 256
const LONGEST_NAME = 64

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

  function verdictOn({ method = '', url = '', headers }: IncomingMessage, path: string, bytes: Buffer, owner: string) {
    const found = createFindings(setByService, meaning)
    let status = 200
    const refused = (because: number, place: string, theirs: unknown, ours: unknown, reason: string) => {
      status = because
      found.note(place, theirs, ours, reason)
    }
    const at = (spelling: string) => actions.filter(({ service }) => idIn(spelling, service.path) !== undefined)
    let spelled = path
    let served = at(spelled)
    if (served.length === 0) {
      spelled = path.toLowerCase().replace(/\/+/g, '/').replace(/\/$/, '').replace('/quotes', '/quote')
      served = at(spelled)
      const all = [...new Set(actions.map(({ service }) => service.path))].join(', ')
      refused(404, 'path', path, served[0]?.service.path, `version 2 has ${served[0]?.service.path ?? all}`)
    }
    const asksByQuery = ({ verb, target }: Action) => method === 'GET' && verb === 'quote' && !target
    const action = served.find((one) => one.service.method === method || asksByQuery(one))
    const methods = served.map(({ service }) => service.method).join(', ')
    if (served.length > 0 && !action) refused(405, 'method', method, methods, `this path takes ${methods}`)

    let theirs: unknown
    if (action && asksByQuery(action)) theirs = Object.fromEntries(new URLSearchParams(url.split('?')[1]))
    else if (action && method !== 'GET' && method !== 'DELETE' && !(action.verb === 'approve' && bytes.length === 0)) {
      const type = headers['content-type'] ?? ''
      if (!/^application\/json\b/i.test(type)) found.note('Content-Type', type, 'application/json', 'the body is JSON')
      if (!isUtf8(bytes)) found.note('body', undefined, undefined, 'the body is JSON in UTF-8')
      try {
        theirs = parseJson(bytes.toString('utf8'))
      } catch (error) {
        if (!(error instanceof JsonError)) throw error
      }
      if (!isObject(theirs)) {
        const fault =
          bytes.length === 0 ? ', and this one is empty' : theirs === undefined ? ', and this is not JSON' : ''
        const beginning = theirs ?? bytes.toString('utf8', 0, LONGEST_SHOWN)
        refused(400, 'body', beginning, undefined, `the body is a JSON object${fault}`)
      }
    }
    const id = action && idIn(spelled, action.service.path)
    const isNamed = id !== undefined && id !== ''
    const candidates = action ? keptOf(owner).planned.filter((one) => isSameRequest(one, action, id, theirs)) : []
    // One reference often covers several vehicles, each with a booking of its own.
    const ofVehicle = action?.verb === 'book' && candidates.find(({ text }) => haveSameVehicle(parseJson(text), theirs))
    const planned = ofVehicle || candidates[0]
    // An id in another form counts only if the dry run has it from the service.
    if (isNamed && !isUuid(id) && planned?.id !== id) refused(404, 'path', id, undefined, NO_ID)
    const unknownId = planned
      ? `whether ${shown(id)} is the id of what the dry run named`
      : `whether the service knows the id ${shown(id)}`
    const notChecked = isNamed && planned?.id !== id ? [unknownId] : []
    if (action && isObject(theirs)) {
      const ours = planned && parseJson(planned.text)
      found.compare(theirs, ours, requestShapes[action.name] ?? { kind: 'any' }, '', action, planned?.open ?? [])
      if (planned?.open.includes(VIN_PLACE) && !haveSameVehicle(ours, theirs)) notChecked.push(WHICH_VEHICLE)
      if (action.verb === 'update' && action.family === 'shipment')
        notChecked.push(lostBy(theirs, action.example.reply, setByService))
    }
    const reference = isObject(theirs) ? scalarText(theirs['external_id']) : undefined
    return { action, id, reference, status, planned, found: found.all(), notChecked }
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
      const { action, id, reference, status, planned, found, notChecked } = verdictOn(incoming, path, bytes, owner)
      call.outcome.action = action?.name
      const { more, ...lists } = found
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

/** A difference; `ours` is the value that the gateway would send. */
interface Difference {
  readonly path: string
  readonly theirs?: unknown
  readonly ours?: unknown
  readonly reason: string
}

const NO_ID =
  'the path has the UUID that the service returned as the id of the shipment or quote, not a number or a reference'
const WHICH_VEHICLE = "which vehicle the dry run's VinNo selects, and its fields"
const NEEDED = 'the gateway always sends it'
const RECOGNIZED = `${NEEDED}; without it, a booking that is sent twice cannot be recognized`
const SENT = 'the gateway sends it'
const WHOLE = 'PUT replaces the whole shipment: read it, change it, and send all of it, with the ids of its parts'
const OTHER_VALUE = 'the gateway sends a different value'

/** Collects where a request differs from its shape and from what the gateway would send. */
function createFindings(setByService: ReadonlySet<string>, meaning: (name: string) => string | undefined) {
  const lists = { differences: [] as Difference[], unknown: [] as Difference[], missing: [] as Difference[] }
  let rows = 0
  /** Makes no text beyond the limit. */
  const add = (list: Difference[], row: () => Difference): void => {
    rows += 1
    if (rows <= MOST_ROWS) list.push(row())
  }
  const note = (path: string, theirs: unknown, ours: unknown, reason: string): void =>
    add(lists.differences, () => ({ path, theirs: shown(theirs), ours: shown(ours), reason }))

  function compare(
    theirs: unknown,
    ours: unknown,
    shape: Shape,
    path: string,
    action: Action,
    open: readonly string[],
  ): void {
    if (isSame(theirs, ours)) return
    const fault = faultOf(theirs, shape)
    if (fault !== undefined) note(path, theirs, ours, `${path.split('.').at(-1)} ${fault}`)
    else if (shape.kind === 'object' && isObject(theirs)) {
      const { members, required, oneOf } = shape
      const has = (name: string) => Object.hasOwn(theirs, name) && isGiven(theirs[name])
      if (oneOf.length > 0 && !oneOf.some(has))
        add(lists.missing, () => ({
          path: below(path, oneOf[0] ?? ''),
          reason: `${action.verb === 'update' ? `${WHOLE}; a` : 'a'} place has its ${oneOf.join(' or ')}`,
        }))
      for (const name in theirs) {
        if (!Object.hasOwn(members, name)) {
          add(lists.unknown, () => ({ path: below(path, name), reason: whyUnknown(path, name, members, action) }))
        }
      }
      for (const [name, member] of Object.entries(members)) {
        const sent = Object.hasOwn(theirs, name) ? theirs[name] : undefined
        const planned = isObject(ours) ? ours[name] : undefined
        // A new quote or booking may leave out what the gateway itself leaves out: not every caller sends a reference.
        const isNeeded =
          required.includes(name) && (action.verb === 'update' || !isObject(ours) || planned !== undefined)
        if (isGiven(sent, isNeeded && action.verb !== 'update'))
          compare(sent, planned, member, below(path, name), action, open)
        else if (isNeeded || (planned !== undefined && !open.includes(declared(below(path, name))))) {
          const needed = name === 'external_id' ? RECOGNIZED : NEEDED
          const why = action.verb === 'update' ? WHOLE : isNeeded ? needed : SENT
          add(lists.missing, () => ({ path: below(path, name), ours: shown(planned), reason: why }))
        }
      }
    } else if (shape.kind === 'list' && Array.isArray(theirs)) {
      const planned = Array.isArray(ours) ? ours.slice(0, MOST_ROWS) : []
      // The entries of a list have one shape. An update's first entry exists already and has an id; later ones may be new.
      const later = shape.of.kind === 'object' ? { ...shape.of, required: [] } : shape.of
      if (theirs.length === 0) note(path, theirs, ours, `${path} has at least one entry`)
      if (theirs.length > MOST_ROWS) note(path, theirs, ours, `${path} has more entries than are checked`)
      const entries = theirs.slice(0, MOST_ROWS)
      // A VIN says which vehicle is meant, wherever it stands; without VINs, the position does.
      const isPaired = planned.some((one) => entries.some((entry) => isSameVehicle(one, entry)))
      const byPlace = open.includes(VIN_PLACE) ? [] : planned
      const vins = new Set<unknown>()
      for (const [at, entry] of entries.entries()) {
        const own = isPaired ? planned.find((one) => isSameVehicle(one, entry)) : byPlace[at]
        const vin = action.verb === 'book' && isObject(entry) && isGiven(entry['vin'], true) && entry['vin']
        if (vin && vins.has(vin)) note(`${path}[${at}]`, entry, undefined, 'the list has this vehicle twice')
        vins.add(vin)
        compare(entry, own, at === 0 ? shape.of : later, `${path}[${at}]`, action, open)
      }
    } else if (ours !== undefined && !open.includes(declared(path))) note(path, theirs, ours, OTHER_VALUE)
  }

  function whyUnknown(path: string, name: string, members: object, { target }: Action): string {
    const isId = /^(?:id|quote_id|shipment_id)$/.test(name)
    if (isId && target && path === '') return 'the id stands in the path'
    if (isId || setByService.has(declared(below(path, name)))) return `only the service sets ${shown(name)}`
    const old = meaning(name)
    if (old !== undefined) return `this is a version-1 name: ${old}`
    const near = suggestion(name, Object.keys(members))
    // `vehicle_type` of a vehicle is its `type`, and `phone` of a place its `contact_phone`.
    const part = Object.keys(members).find((one) => name.endsWith(`_${one}`) || one.endsWith(`_${name}`))
    return `version 2 has no such field here${near || (part === undefined ? '' : `; did you mean ${part}?`)}`
  }

  return { note, compare, all: () => ({ ...lists, more: Math.max(0, rows - MOST_ROWS) }) }
}

/** Returns a path as declarations and dry runs write it. */
const declared = (path: string): string => path.replace(/\[\d+\]/g, '[0]')

const haveSameVehicle = (one: unknown, other: unknown): boolean => {
  const [ours, theirs] = [one, other].map((body) => (isObject(body) ? body['vehicles'] : undefined))
  return (
    Array.isArray(ours) &&
    Array.isArray(theirs) &&
    theirs.slice(0, MOST_ROWS).some((entry) => isSameVehicle(ours[0], entry))
  )
}

const isSameVehicle = (one: unknown, other: unknown): boolean =>
  isObject(one) && isObject(other) && isGiven(one['vin'], true) && isSame(one['vin'], other['vin'])

/** Reports whether a member has a value; a needed one must not be blank. */
const isGiven = (value: unknown, isNeeded = false): boolean =>
  value !== undefined && value !== null && !(isNeeded && typeof value === 'string' && value.trim() === '')

const below = (path: string, name: string): string => {
  const short = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name
  return path === '' ? short : `${path}.${short}`
}

/** Returns a stranger's value, shortened for a verdict. */
function shown(value: unknown): unknown {
  if (isStructure(value)) return Array.isArray(value) ? '(a list)' : '(an object)'
  return typeof value === 'string' && value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value
}

/** Reports whether two values are equal, in any spelling of numbers. */
function isSame(one: unknown, other: unknown): boolean {
  if (isNumber(one) && isNumber(other)) return Number(scalarText(one)) === Number(scalarText(other))
  if (typeof one === 'string' && typeof other === 'string') return one.trim() === other.trim()
  return one === other
}

const isNumber = (value: unknown) => typeof value === 'number' || JSON.isRawJSON(value)

/** Says how a value that does not fit its shape should look, as the end of a sentence that begins with its name. */
function faultOf(value: unknown, shape: Shape): string | undefined {
  switch (shape.kind) {
    case 'any':
      return undefined
    case 'object':
      return isObject(value) ? undefined : 'is an object'
    case 'list':
      return Array.isArray(value) ? undefined : 'is a list'
    case 'flag':
      return typeof value === 'boolean' ? undefined : 'is true or false'
    case 'choice':
      return value === '' || (typeof value === 'string' && shape.values.includes(value))
        ? undefined
        : `is one of ${shape.values.join(', ')}`
    case 'date':
      return typeof value === 'string' && (value === '' || DATE.test(value))
        ? undefined
        : 'has a time and an offset without a colon: 2026-03-01T08:00:00-0500'
    case 'text':
      if (typeof value !== 'string') return 'is a string'
      return !shape.form || shape.form.pattern.test(value.trim()) ? undefined : shape.form.says
    case 'number':
      if (!isNumber(value)) return shape.form?.says ?? 'is a number'
      return !shape.form || shape.form.pattern.test(String(Number(scalarText(value)))) ? undefined : shape.form.says
    default:
      return shape satisfies never
  }
}
