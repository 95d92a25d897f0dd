import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamReply } from '../service/exchange.ts'
import { replyText } from '../service/failures.ts'
import { isStructure, parseJson, scalarText } from '../text/json.ts'
import { shownText } from '../text/service-text.ts'

/** The outcome of a check. An assumption that needs more than the operator allows is `not tried`. */
export type Verdict = 'confirmed' | 'contradicted' | 'cannot tell' | 'not tried'

/** The outcome of a check, with the reason. */
export interface Finding {
  readonly verdict: Verdict
  /** The reply in words of the gateway: statuses, types and forms, never a value of the service. */
  readonly seen: string
}

/** Decides by a condition, with what was seen in either case. */
export const decide = (isConfirmed: boolean, seen: string, otherwise = seen): Finding =>
  isConfirmed ? { verdict: 'confirmed', seen } : { verdict: 'contradicted', seen: otherwise }

/** The replies do not show if an assumption holds. */
export class CannotTell extends Error {
  override readonly name: string = 'CannotTell'
}

/** The service did not answer. */
export class NotAnswered extends CannotTell {
  override readonly name = 'NotAnswered'
}

/** A reply of the service, read as far as it can be. */
export interface Seen {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The parsed body; undefined if it is empty or no JSON. */
  readonly body: unknown
  readonly bytes: Buffer
}

/** Reads a reply; one that is not JSON has no body. */
export function seenReply({ status, headers, body: bytes }: UpstreamReply): Seen {
  let body: unknown
  try {
    body = bytes.length === 0 ? undefined : parseJson(replyText(bytes))
  } catch {
    body = undefined
  }
  return { status, headers, body, bytes }
}

/** Returns true for 2xx. */
export const isDone = ({ status }: Seen): boolean => status >= 200 && status < 300
/** Returns true for a refusal of what was sent, which is neither a missing credential nor a limit. */
export const isRefused = ({ status }: Seen): boolean =>
  status >= 400 && status < 500 && ![401, 403, 404, 405, 429].includes(status)
/** Returns true if the service knows no such thing. */
export const isUnknown = ({ status }: Seen): boolean => status === 404 || status === 410
/** Makes a test for some statuses. */
export const is =
  (...statuses: readonly number[]) =>
  ({ status }: Seen): boolean =>
    statuses.includes(status)

/** Returns a successful reply; any other one shows nothing about what follows from it. */
export function done(what: string, reply: Seen): Seen {
  if (isDone(reply)) return reply
  throw new CannotTell(`${what} is answered ${described(reply)}`)
}

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
/** Returns the text of a member of a reply. */
export const textIn = ({ body }: Seen, ...names: readonly (string | number)[]): string => textOf(member(body, ...names))

/** Names the type of a value, as JSON does. */
export function typeName(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (JSON.isRawJSON(value)) return 'a number'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const MOST_NAMES = 12
const SHOWN_CHARACTERS = 40

/** Lists the members of a reply by name: names are no values, but come from the service, so they are bounded. */
export function namesIn({ body }: Pick<Seen, 'body'>): string {
  if (!isStructure(body) || Array.isArray(body)) return typeName(body)
  const names = Object.keys(body).map((name) => shownText(name, SHOWN_CHARACTERS))
  if (names.length === 0) return 'an empty object'
  const rest = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  return `an object with ${names.slice(0, MOST_NAMES).join(', ')}${rest}`
}

/** Describes a reply by its status and the type of its body. */
export function described({ status, bytes, body }: Seen): string {
  return `${status} with ${bytes.length === 0 ? 'no body' : body === undefined ? 'no JSON' : typeName(body)}`
}

/** Returns the form of a date: its digits as 0, and its letters, except T and Z, as a. */
export function formOf(value: unknown): string {
  if (typeof value !== 'string') return typeName(value)
  const form = value.slice(0, SHOWN_CHARACTERS).replace(/\d/g, '0')
  return shownText(form.replace(/(?![TZ])\p{L}/gu, 'a'), SHOWN_CHARACTERS)
}
