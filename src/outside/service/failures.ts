import {
  CHALLENGE,
  type ErrorCode,
  type GatewayError,
  gatewayError,
  perhapsBooked,
  RETRY_SOON,
  retryAfter,
} from '../../language/errors.ts'
import { type MessageName, serviceSays } from '../../language/messages.ts'
import { replyText } from '../../language/text/decode.ts'
import { isObject, isStructure, parseJson } from '../../language/text/json.ts'
import { oneLine, shownText } from '../../language/text/service-text.ts'
import { NoReply } from './exchange.ts'
import type { UpstreamReply } from './reply.ts'
import { timeAsked } from './retries.ts'

/** The messages of a call without a whole reply. */
const NO_REPLY = {
  unsent: 'service-unreachable',
  busy: 'overloaded/connections',
  withdrawn: 'interrupted',
  late: 'service-silent',
  lost: 'service-failed/lost',
  'too-large': 'service-unreadable/size',
} as const

/** Returns the error of a call without a whole reply. */
export function noReplyError(cause: NoReply): GatewayError {
  const { silence } = cause
  const passes = silence === 'busy' || silence === 'withdrawn'
  return gatewayError(NO_REPLY[silence], {}, { cause, ...(passes && retryAfter(1)) })
}

/**
 * Awaits the reply to a change that may be sent again. Without a whole reply, the error says that the change may have been made, so that
 * the caller does not take it for one that was not.
 */
export async function replyToChange(sent: Promise<UpstreamReply>): Promise<UpstreamReply> {
  try {
    return await sent
  } catch (cause) {
    if (!(cause instanceof NoReply)) throw cause
    const left = LEFT[cause.silence]
    throw left ? gatewayError(left.ofChange, {}, { cause }) : noReplyError(cause)
  }
}

/** Errors that prove that a change was not sent. */
export const NOT_SENT: ReadonlySet<ErrorCode> = new Set([
  'service-unreachable',
  'circuit-open',
  'overloaded',
  'interrupted',
  'login-failed',
  'login-refused',
])

/** Refusals that may mean that the change was made earlier. */
const MADE_PERHAPS = new Set([408, 409])

/** Reports whether a status proves that a change was not made. */
export const refusesChange = (status: number): boolean => status >= 400 && status < 500 && !MADE_PERHAPS.has(status)

/** The messages for changes that were sent: one for a change that may be sent again, one for any other. */
const LEFT = {
  unsent: undefined,
  busy: undefined,
  withdrawn: undefined,
  late: { ofChange: 'service-silent/change', perhapsDone: 'service-silent/perhaps-done' },
  lost: { ofChange: 'service-failed/change', perhapsDone: 'service-failed/perhaps-done' },
  'too-large': { ofChange: 'service-unreadable/size-change', perhapsDone: 'service-unreadable/size-perhaps-done' },
} as const

/**
 * Returns the error of a version-2 call that the caller wrote and that has no whole reply: nothing prevents a second try. It may book if it
 * creates or cancels a shipment.
 */
export function unansweredError(
  cause: unknown,
  { method, path, mayBook }: { readonly method: string; readonly path: string; readonly mayBook: boolean },
): GatewayError {
  const silence = cause instanceof NoReply ? cause.silence : 'lost'
  const name = SAFE_METHODS.has(method) || MAKES_NOTHING.test(path) ? undefined : LEFT[silence]?.perhapsDone
  // A cancellation may be sent again, unless the answer would be the same.
  if (name === undefined || (method === 'DELETE' && silence !== 'too-large')) {
    const error = noReplyError(cause instanceof NoReply ? cause : new NoReply(silence, { cause }))
    // A failed cancellation must not read like a cancellation.
    return mayBook && method === 'DELETE' ? perhapsBooked(error) : error
  }
  return gatewayError(name, {}, { cause, mayHaveBooked: mayBook })
}

export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Requests for a new quote or a token. */
export const MAKES_NOTHING = /^\/(v2\/quote|oauth2\/token)\/?(\?|$)/

/** Returns the error of an unsuccessful reply, with the service's own message, if there is one, in the caller's fields. */
export function refusal(
  { status, headers, body, isForeign }: UpstreamReply,
  nameFields?: (text: string) => string,
): GatewayError {
  if (isForeign) return notServed(status)
  const said = serviceSays(serviceMessage(body, nameFields))
  const asked = timeAsked(headers)
  const later = asked === undefined ? {} : { 'Retry-After': asked }
  if (status === 503) {
    const retry = { ...RETRY_SOON.headers, ...later }
    return gatewayError('service-unavailable', { serviceSays: said }, { serviceStatus: status, headers: retry })
  }
  if (status >= 400 && status < 500) {
    const headers = status === 401 ? { ...CHALLENGE.headers, ...later } : later
    const name = REFUSALS.get(status) ?? 'service-refused'
    return gatewayError(name, { serviceSays: said }, { status, serviceStatus: status, headers })
  }
  if (status >= 300 && status < 400) {
    return gatewayError('service-failed/redirect', { status }, { serviceStatus: status })
  }
  return gatewayError('service-failed', { status, serviceSays: said }, { serviceStatus: status })
}

/** Returns the error of a request that nothing at the address of the service answers. */
export const notServed = (serviceStatus: number): GatewayError =>
  gatewayError('service-refused/not-served', {}, { status: 502, serviceStatus })

/** Returns the error of a call with a credential that the service has just refused to another call. */
export function credentialRefused(): GatewayError {
  return refusal({ status: 401, headers: {}, body: Buffer.alloc(0) })
}

/** Statuses with their own message. */
const REFUSALS: ReadonlyMap<number, Extract<MessageName, `service-refused/4${string}`>> = new Map([
  [401, 'service-refused/401'],
  [403, 'service-refused/403'],
  [404, 'service-refused/404'],
  [429, 'service-refused/429'],
])

const MESSAGE_LIMIT_CHARACTERS = 300
/** The keys of messages in error bodies, most specific first, in lower case and without `_` and `-`. */
const KEYS = [
  'message',
  'errormessage',
  'errormsg',
  'errmsg',
  'defaultmessage',
  'usermessage',
  'detail',
  'errordescription',
  'description',
  'reason',
  'faultstring',
  'msg',
  'title',
  'statusmessage',
  'error',
]
/** The keys of nested messages, or of messages by field. */
const HOLDERS = [
  'err',
  'error',
  'errors',
  'errormessages',
  'validationerrors',
  'invalidparams',
  'issues',
  'messages',
  'fault',
  'fields',
  'violations',
  'details',
  'data',
]
/** The keys that name the field of an entry. */
const FIELDS = ['field', 'path', 'propertypath', 'instancepath', 'pointer', 'source', 'param', 'loc', 'target', 'name']
const DEPTH_LIMIT = 4

/**
 * Returns the service's own message from a refusal's body, if there is one; HTML is not quoted. `nameFields` replaces version-2 places with
 * the caller's fields.
 */
export function serviceMessage(body: Buffer, nameFields = (text: string) => text): string | undefined {
  const text = replyText(body).trim()
  const value = /^(?:[{["]|null$)/.test(text) ? parsed(text) : text
  const searched: Searched = new Map()
  const known = messagesIn(value, searched, 0)
  const messages = known.length > 0 ? known : wordsIn(value, searched, 0, false)
  const line = nameFields(oneLine(withoutRepeats(messages).join('; ')))
  return line === '' ? undefined : shownText(line, MESSAGE_LIMIT_CHARACTERS)
}

/** More texts than any message shows: a refusal may have megabytes. */
const MOST_TEXTS = 50
/** The most objects and lists that are searched, and the most members of each. */
const MOST_SEARCHED = 1_000
const LONGEST_TEXT = 1_000

/** Drops texts that another text contains, because many services repeat a message's fields in a list. */
function withoutRepeats(all: readonly string[]): readonly string[] {
  const texts = all.slice(0, MOST_TEXTS).map((text) => text.slice(0, LONGEST_TEXT))
  const plain = texts.map((text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim(),
  )
  return texts.filter((_, i) => {
    const own = ` ${plain[i]} `
    return !plain.some((other, at) => at !== i && ` ${other} `.includes(own) && (other !== plain[i] || at < i))
  })
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

const MARKUP = /^<|<\/?(html|head|body|title|h[1-6]|p|b|br|hr|div|span|pre|center|a|table)\b/i

const membersOf = (value: object) => Object.entries(value).slice(0, MOST_SEARCHED)

/** The messages of the objects and lists that were searched, because several keys and holders lead to the same one. */
type Searched = Map<object, readonly string[]>

function messagesIn(value: unknown, searched: Searched, depth: number): readonly string[] {
  if (typeof value === 'string') return value.trim() === '' || MARKUP.test(value.trim()) ? [] : [value.trim()]
  if (typeof value !== 'object' || value === null || depth > DEPTH_LIMIT) return []
  const known = searched.get(value)
  if (known || searched.size === MOST_SEARCHED) return known ?? []
  searched.set(value, [])
  const found = Array.isArray(value)
    ? value.slice(0, MOST_SEARCHED).flatMap((entry) => messagesIn(entry, searched, depth + 1))
    : messagesOf(value, searched, depth)
  searched.set(value, found)
  return found
}

function messagesOf(value: object, searched: Searched, depth: number): readonly string[] {
  const body = new Map(membersOf(value).map(([key, entry]) => [key.toLowerCase().replace(/[_-]/g, ''), entry]))
  const held = (key: string, isHeld = true) => wordsIn(body.get(key), searched, depth + 1, isHeld)
  const first = (words: (key: string) => readonly string[]) =>
    KEYS.map((key) => words(key)).find(({ length }) => length > 0)
  const own = first((key) => messagesIn(body.get(key), searched, depth + 1)) ?? first(held) ?? []
  const field = FIELDS.map((key) => fieldName(key, body.get(key))).find((name) => name !== undefined)
  const named = own.map((message) =>
    field === undefined || message.includes(field) ? message : `${field}: ${message}`,
  )
  // A list under `data` contains records, not messages.
  return [...named, ...HOLDERS.flatMap((key) => held(key, key !== 'data' || !Array.isArray(body.get(key))))]
}

/** Returns the name of a field: a text, a JSON pointer, the steps of a path, or the source of JSON:API. */
function fieldName(key: string, value: unknown): string | undefined {
  if (isObject(value)) return fieldName('pointer', value['pointer'] ?? value['parameter'])
  const steps = Array.isArray(value) ? value.filter((step) => typeof step === 'string' || Number.isInteger(step)) : []
  const name =
    typeof value === 'string' ? value : (steps.length > 1 && steps[0] === 'body' ? steps.slice(1) : steps).join('.')
  return name === '' || NO_FIELD[key]?.test(name) ? undefined : name.replace(/^#?\//, '')
}

/** Values that are not fields: a request's path, an error's name, and a system's name. */
const NO_FIELD: Readonly<Record<string, RegExp>> = { path: /^\//, name: /^[^a-z]/, source: /^/ }

/**
 * Returns the texts in a value that has none of these keys, by field: `zip: is odd`. A single text beside a field counts as a message only
 * in the value of a key such as `errors`. Elsewhere, texts in a list count, and those in a wrapper: `{"response": {"message": "…"}}`.
 */
function wordsIn(value: unknown, searched: Searched, depth: number, isHeld: boolean, place = ''): readonly string[] {
  const said = isHeld || typeof value !== 'string' ? messagesIn(value, searched, depth) : []
  if (said.length > 0) {
    const isOfField = place !== '' && (isHeld || Array.isArray(value))
    return isOfField ? said.map((text) => `${place}: ${text}`) : said
  }
  if (!isStructure(value) || depth > DEPTH_LIMIT || searched.size === MOST_SEARCHED) return []
  const inner = place === '' ? '' : `${place}.`
  return membersOf(value).flatMap(([key, entry]) => {
    const at = inner === '' && Array.isArray(value) ? '' : inner + key
    const isText = isHeld && place === '' && key !== 'code' && key !== 'status'
    return wordsIn(entry, searched, depth + 1, isText, at)
  })
}
