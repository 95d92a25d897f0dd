import type { IncomingHttpHeaders } from 'node:http'
import { replyText } from '../service/error-message.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { isStructure, parseJson, scalarText } from '../text/json.ts'
import { shownText } from '../text/service-text.ts'

/** A reply of the service, read as far as it can be. */
export interface Seen {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The parsed body; undefined if it is empty or no JSON. */
  readonly body: unknown
  readonly bytes: Buffer
}

/** Reads a reply; one that is not JSON has no body. */
export function seenReply({ status, headers, body }: UpstreamReply): Seen {
  return { status, headers, body: parsed(body), bytes: body }
}

function parsed(bytes: Buffer): unknown {
  try {
    return bytes.length === 0 ? undefined : parseJson(replyText(bytes))
  } catch {
    return undefined
  }
}

/** Returns true for 2xx. */
export const isDone = ({ status }: Seen): boolean => status >= 200 && status < 300
/** Returns true for a refusal of what was sent, which is neither a missing credential nor a limit. */
export const isRefused = ({ status }: Seen): boolean =>
  status >= 400 && status < 500 && ![401, 403, 404, 405, 429].includes(status)
/** Returns true if the service knows no such thing. */
export const isUnknown = ({ status }: Seen): boolean => status === 404 || status === 410

/** Returns the member of a body of any shape. */
export function member(body: unknown, ...names: readonly (string | number)[]): unknown {
  let value = body
  for (const name of names) {
    if (!isStructure(value) || !Object.hasOwn(value, name)) return undefined
    // A structure has members of any name; the name was looked for above.
    value = (value as Readonly<Record<string | number, unknown>>)[name]
  }
  return value
}

/** Returns a scalar as its text, and an empty text for anything else. */
export const textOf = (value: unknown): string => scalarText(value) ?? ''

/** Names the type of a value, as JSON does. */
export function typeName(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (JSON.isRawJSON(value)) return 'a number'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const MOST_NAMES = 12
const NAME_CHARACTERS = 40

/** Lists the members of a reply by name: names are no values, but come from the service, so they are bounded. */
export function namesIn(body: unknown): string {
  if (!isStructure(body) || Array.isArray(body)) return typeName(body)
  const names = Object.keys(body).map((name) => shownText(name, NAME_CHARACTERS))
  if (names.length === 0) return 'an empty object'
  const rest = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  return `an object with ${names.slice(0, MOST_NAMES).join(', ')}${rest}`
}

/** Describes a reply by its status and the type of its body. */
export function described(reply: Seen): string {
  const body = reply.bytes.length === 0 ? 'no body' : reply.body === undefined ? 'no JSON' : typeName(reply.body)
  return `${reply.status} with ${body}`
}

const FORM_CHARACTERS = 40

/** Returns the form of a date: its digits as 0, and its letters, except T and Z, as a. */
export function formOf(value: unknown): string {
  if (typeof value !== 'string') return typeName(value)
  return shownText(
    value
      .slice(0, FORM_CHARACTERS)
      .replace(/\d/g, '0')
      .replace(/(?![TZ])\p{L}/gu, 'a'),
    FORM_CHARACTERS,
  )
}
