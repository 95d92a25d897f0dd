import { decodeUnlabeled } from '../body/text.ts'
import { oneLine } from '../errors.ts'
import { parseJson } from '../text/json.ts'

const MESSAGE_LIMIT_CHARACTERS = 300
/** The keys of messages in error bodies, most specific first, in lower case and without `_` and `-`. */
const KEYS = [
  'message',
  'errormessage',
  'defaultmessage',
  'detail',
  'errordescription',
  'description',
  'reason',
  'faultstring',
  'msg',
  'title',
]
/** The keys of nested messages, or of messages by field. */
const HOLDERS = [
  'error',
  'errors',
  'errormessages',
  'issues',
  'messages',
  'fault',
  'fields',
  'violations',
  'details',
  'data',
]
/** The keys that name the field of an entry. */
const FIELDS = ['field', 'path', 'propertypath', 'param', 'loc']
const DEPTH_LIMIT = 4

/** Returns the body of a reply as text: UTF-8, or Windows-1252 if it is not UTF-8, without a byte order mark. */
export function replyText(body: Buffer): string {
  return decodeUnlabeled(body).replace(/^\ufeff/, '')
}

/**
 * Returns the service's own message in the body of a refusal, if there is one; HTML is not quoted. `nameFields`
 * replaces version-2 places by the caller's fields.
 */
export function serviceMessage(body: Buffer, nameFields = (text: string) => text): string | undefined {
  const text = replyText(body).trim()
  const value = /^[{["]/.test(text) ? parsed(text) : text
  const known = messagesIn(value)
  const messages = known.length > 0 ? known : listedWords(value)
  const line = nameFields(oneLine(withoutRepeats(messages).join('; ')))
  if (line === '') return undefined
  return line.length > MESSAGE_LIMIT_CHARACTERS
    ? `${line.slice(0, MESSAGE_LIMIT_CHARACTERS - 1).replace(HALF, '')}…`
    : line
}

/** Longer than any message shows: a refusal may have megabytes. */
const MOST_TEXTS = 50
const LONGEST_TEXT = 1_000

/** Drops texts that another text contains: many services repeat the fields of a message in a list. */
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

/** The first half of a surrogate pair. */
const HALF = /[\ud800-\udbff]$/

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

const MARKUP = /^<|<\/?(html|head|body|title|h[1-6]|p|b|br|hr|div|span|pre|center|a|table)\b/i

function messagesIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return value.trim() === '' || MARKUP.test(value.trim()) ? [] : [value.trim()]
  if (typeof value !== 'object' || value === null || depth > DEPTH_LIMIT) return []
  if (Array.isArray(value)) return value.flatMap((entry) => messagesIn(entry, depth + 1))
  const body = new Map(Object.entries(value).map(([key, entry]) => [key.toLowerCase().replace(/[_-]/g, ''), entry]))
  const own = KEYS.map((key) => messagesIn(body.get(key), depth + 1)).find((messages) => messages.length > 0) ?? []
  const field = FIELDS.map((key) => fieldName(body.get(key))).find((name) => name !== undefined)
  const named = own.map((message) =>
    field === undefined || message.includes(field) ? message : `${field}: ${message}`,
  )
  const held = HOLDERS.flatMap((key) => heldWords(body.get(key), depth + 1))
  return [...named, ...held]
}

/** Returns the name of a field: a text, or the steps of a path; what begins with `/` is the path of the request. */
function fieldName(value: unknown): string | undefined {
  const steps = Array.isArray(value) ? value.filter((step) => typeof step === 'string' || isIndex(step)) : []
  const name =
    typeof value === 'string' ? value : (steps.length > 1 && steps[0] === 'body' ? steps.slice(1) : steps).join('.')
  return name === '' || name.startsWith('/') ? undefined : name
}

const isIndex = (step: unknown) => Number.isInteger(step)

/** Returns the texts of `{"zipcode": ["…"]}`, without any key of those above. Only a list marks a text as a message. */
function listedWords(value: unknown, place = '', depth = 0): string[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_LIMIT) return []
  if (!Array.isArray(value)) {
    const inner = place === '' ? '' : `${place}.`
    return Object.entries(value).flatMap(([field, entry]) => listedWords(entry, inner + field, depth + 1))
  }
  return value.flatMap((entry) =>
    typeof entry === 'string' ? messagesIn(entry).map((said) => `${place}: ${said}`) : [],
  )
}

/** Returns the texts in a value such as that of `errors`: texts, entries with messages, or lists of texts by field. */
function heldWords(value: unknown, depth: number): string[] {
  const messages = messagesIn(value, depth)
  if (messages.length > 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return messages
  return Object.entries(value).flatMap(([field, entry]) =>
    field === 'code' || field === 'status' ? [] : messagesIn(entry, depth + 1).map((said) => `${field}: ${said}`),
  )
}
