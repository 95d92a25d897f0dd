import type { IncomingMessage } from 'node:http'
import { readBytes } from '../body/bytes.ts'
import type { FlatBody } from '../body/flat.ts'
import { readJsonValue } from '../body/json.ts'
import { readBody, readQuery } from '../body/read.ts'
import { GatewayError, gatewayError } from '../errors.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import { type Fields, looseName, sortFields } from '../mapping/fields.ts'
import type { Call } from '../observe/call.ts'

/** A version-1 request, classified. */
export interface Version1 {
  readonly generation: 1
  readonly compiled: CompiledAction
  readonly fields: Fields
  /** Returns the value of a documented field; undefined where it was not sent or cannot be used. */
  readonly sent: (field: string) => string | undefined
}

/** A body on a legacy path that is version 2 already. */
export interface Version2 {
  readonly generation: 2
  readonly text: string
  readonly body: unknown
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

/** Reads the flat fields of a legacy request, from its body or its query. */
export async function readRequest(incoming: IncomingMessage, call: Call, bodyLimitBytes: number): Promise<FlatBody> {
  const body =
    incoming.method === 'GET' || incoming.method === 'HEAD'
      ? readQuery(queryOf(incoming.url ?? ''))
      : readBody(await readBytes(incoming, bodyLimitBytes), incoming.headers['content-type'])
  call.own = textOf(body, 'ShipmentNumber') ?? ''
  return body
}

/** Decides the generation of a request, and the action of one that is version 1. */
export function classify(
  body: FlatBody,
  endpoint: Endpoint,
  call: Call,
  catalog: Catalog,
  synonyms: Readonly<Record<string, string>>,
): Version1 | Version2 {
  if (body.format === 'json' && isVersion2(body, catalog)) {
    return { generation: 2, text: body.text, body: readJsonValue(body.text) }
  }
  const actionName = textOf(body, 'ActionName')
  const compiled = endpoint.choose(actionName, synonyms)
  if (!compiled) {
    const sent = PLAIN_NAME.test(actionName ?? '') ? ` ${actionName}` : ''
    throw gatewayError('action-unknown', { path: endpoint.path, sent, names: endpoint.accepted.join(', ') })
  }
  const request = version1(compiled, body)
  call.action = compiled.action.name
  call.unknownFields = request.fields.unknown.length
  return request
}

/** An `ActionName` that can be repeated to its sender as it is. */
const PLAIN_NAME = /^[\w -]{1,64}$/

/** Returns what follows the first question mark; later ones belong to a value (RFC 3986, 3.4). */
function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? '' : target.slice(mark + 1)
}

/** Sorts the fields of a body into those of an action. */
export function version1(compiled: CompiledAction, { entries }: FlatBody): Version1 {
  const fields = sortFields(compiled.fields, entries)
  const sent = (field: string) => {
    const value = fields.values[compiled.fields.slotOf(field) ?? -1]
    return typeof value === 'string' ? value : undefined
  }
  return { generation: 1, compiled, fields, sent }
}

function isVersion2({ entries }: FlatBody, catalog: Catalog): boolean {
  // The keys of version 2 are in lower case, unlike those of nearly every version-1 body.
  const version2 = entries.find(([name]) => name.charCodeAt(0) >= LOWER_CASE && VERSION_2_KEYS.has(name))
  if (!version2) return false
  const version1 = entries.find(
    ([name]) => !VERSION_2_KEYS.has(name) && !COMMON_KEYS.has(name) && catalog.isVersion1(name),
  )
  if (!version1) return true
  throw new GatewayError(
    'generations-mixed',
    `The body mixes version 1 (such as ${version1[0]}) and version 2 (such as ${version2[0]}). Send one of the two.`,
  )
}

/** Names that both generations use. */
const COMMON_KEYS = new Set(['id', 'number', 'shipment_id', 'quote_id'])

/** Returns the text of a field in any spelling, before the action is known. */
function textOf({ entries }: FlatBody, field: string): string | undefined {
  const wanted = looseName(field)
  for (const [name, value] of entries) {
    // A loose spelling is at most one character longer, so most names are told apart by their length.
    const extra = name.length - wanted.length
    if ((extra === 0 || extra === 1) && typeof value === 'string' && looseName(name) === wanted) return value
  }
  return undefined
}
