import { readBody, readJsonValue, readQuery } from '../edge/body/read.ts'
import { freePart, isQuery, type ReadBody } from '../edge/body/receive.ts'
import { type GatewayError, gatewayError } from '../language/errors.ts'
import type { Catalog, Endpoint } from '../language/mapping/catalog.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import {
  type Entry,
  type FieldIndex,
  type Fields,
  type FlatBody,
  looseName,
  sortFields,
} from '../language/mapping/fields.ts'
import type { CallOutcome } from '../runtime/call.ts'
import type { SentName } from '../state/names/resolve.ts'

/** A version-1 request, classified. */
export interface Version1 {
  readonly generation: 1
  readonly compiled: CompiledAction
  readonly fields: Fields
  /** Returns the value of a documented field; undefined if it was not sent or is unusable. */
  readonly sent: (field: string) => string | undefined
  /** Returns the text of a documented field, even if it is unusable. */
  readonly textOf: (field: string) => string | undefined
}

/** A version-2 body on a legacy path. */
export interface Version2 {
  readonly generation: 2
  readonly text: string
  /** Parses the text on demand: the value may take thirty times its memory, and a waiting call does not need it yet. */
  readonly parse: () => unknown
  /** The fields of the query, one of which may name the shipment. */
  readonly query: readonly Entry[]
}

const LOWER_CASE = 0x61
const VERSION_2_KEYS = new Set([
  'customer',
  'pickup',
  'delivery',
  'vehicles',
  'vehicle_type',
  'transport_type',
  'external_id',
  'instructions',
])

/** Reads the flat fields of a request, from its body or its query. */
export const readFields: ReadBody<FlatBody> = (bytes, incoming, { request, outcome }) => {
  let body: FlatBody
  if (isQuery(incoming)) body = readQuery(queryOf(incoming.url ?? ''))
  else {
    try {
      body = readBody(bytes, incoming.headers['content-type'])
    } finally {
      // The fields are copies, so a waiting call does not need the bytes.
      freePart(bytes)
    }
  }
  outcome.own = textOf(body, 'ShipmentNumber') ?? ''
  if (request.recording) request.recording.body = body
  return body
}

/** Notes the version of a body, which decides the shape of its errors. A mixed one is answered like version 1. */
export function noteGeneration(body: FlatBody, outcome: CallOutcome, catalog: Catalog): void {
  try {
    outcome.isVersion2 = body.format === 'json' && isVersion2(body, catalog)
  } catch {
    // `classify` says what is wrong, once the caller is known.
  }
}

/** Decides the version of a request, and the action of a version-1 request. */
export function classify(
  body: FlatBody,
  endpoint: Endpoint,
  catalog: Catalog,
  synonyms: Readonly<Record<string, string>>,
  target = '',
): Version1 | Version2 {
  if (body.format === 'json' && isVersion2(body, catalog)) {
    const { text } = body
    return { generation: 2, text, parse: () => readJsonValue(text), query: readQuery(queryOf(target)).entries }
  }
  const actionName = textOf(body, 'ActionName')
  const compiled = endpoint.choose(actionName, synonyms)
  if (!compiled) throw actionUnknown(actionName ?? '', endpoint, synonyms)
  return version1(compiled, body.entries)
}

function actionUnknown(
  actionName: string,
  { path, actions, accepted }: Endpoint,
  synonyms: Readonly<Record<string, string>>,
): GatewayError {
  const own = Object.keys(synonyms).filter((name) => actions.some(({ action }) => action.name === synonyms[name]))
  return gatewayError('action-unknown', {
    path,
    name: PLAIN_NAME.test(actionName) ? ` (${actionName})` : '',
    names: [...accepted, ...own].join(', '),
  })
}

/** Returns the text after the first question mark; later ones belong to a value (RFC 3986, 3.4). */
function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? '' : target.slice(mark + 1)
}

/** A caller's name that a message may repeat. */
export const PLAIN_NAME = /^[\w .-]{1,64}$/

/** Returns those of the fields that were sent, with their values. */
export function namesIn({ compiled, fields: { values } }: Version1, fields: readonly string[]): readonly SentName[] {
  const names: SentName[] = []
  for (const field of fields) {
    const value = values[compiled.fields.slots.get(field) ?? -1]
    if (typeof value === 'string') names.push([field, value])
  }
  return names
}

/** Returns the fields that were sent with a value and have no place in version 2. */
export const placelessIn = ({ compiled, fields }: Version1): readonly string[] =>
  compiled.fields.names.filter((_, slot) => !compiled.hasPlace[slot] && fields.values[slot] !== undefined)

/** Returns the names that a call gives to its quote or shipment. */
export const namesGivenIn = (request: Version1): readonly string[] =>
  namesIn(request, request.compiled.action.givesNames ?? []).map(([, name]) => name)

/** Sorts sent fields into those of an action. */
export function version1(compiled: CompiledAction, entries: readonly Entry[]): Version1 {
  const fields = sortFields(compiled.fields, entries)
  const { slots, slotOf } = compiled.fields
  const sent = (field: string) => {
    const value = fields.values[slots.get(field) ?? -1]
    return typeof value === 'string' ? value : undefined
  }
  let texts: ReturnType<typeof textsOf> | undefined
  const textOf = (field: string) => {
    texts ??= textsOf(compiled.fields, entries)
    const text = texts[slots.get(field) ?? slotOf(field) ?? -1]
    return typeof text === 'string' ? text : undefined
  }
  return { generation: 1, compiled, fields, sent, textOf }
}

/** Returns the value of each slot as it was sent; null if it was sent with different values. */
function textsOf({ slotOf }: FieldIndex, entries: readonly Entry[]): readonly (Entry[1] | undefined)[] {
  const texts: (Entry[1] | undefined)[] = []
  for (const [name, value] of entries) {
    const slot = value === null ? undefined : slotOf(name)
    if (slot !== undefined) texts[slot] = texts[slot] === undefined || texts[slot] === value ? value : null
  }
  return texts
}

function isVersion2({ entries }: FlatBody, catalog: Catalog): boolean {
  // Version-2 keys are lower case, unlike those of nearly every version-1 body.
  let version2: Entry | undefined
  for (const entry of entries) {
    if (entry[0].charCodeAt(0) < LOWER_CASE || !VERSION_2_KEYS.has(entry[0])) continue
    // A version-2 key without a value counts only if no version-1 field has one.
    if (!version2 || (version2[1] === null && entry[1] !== null)) version2 = entry
  }
  if (!version2) return false
  const version1 = entries.filter(
    ([name]) => !VERSION_2_KEYS.has(name) && !COMMON_KEYS.has(name) && catalog.isVersion1(name),
  )
  if (version1.length === 0) return true
  const sent = version1.find(([, value]) => value !== null)
  if (!sent || version2[1] === null) return !sent
  throw gatewayError('generations-mixed', { version1: sent[0], version2: version2[0] })
}

/** Names that both versions use. */
const COMMON_KEYS = new Set(['id', 'number', 'shipment_id', 'quote_id', 'status'])

/** Returns the text of a field in any spelling, before the action is known. */
function textOf({ entries }: FlatBody, field: string): string | undefined {
  const wanted = looseName(field)
  for (const [name, value] of entries) {
    // A loose spelling is at most one character longer, so the length rules out most names.
    const extra = name.length - wanted.length
    if ((extra === 0 || extra === 1) && typeof value === 'string' && looseName(name) === wanted) return value
  }
  return undefined
}
