import { scalarText } from './json.ts'

/*
 * Cleans the service's strings. Every string that goes into a version-1 answer, a header, a log line or a terminal passes through here. No
 * string makes these functions throw.
 */

/** The longest id, in UTF-16 units. */
const ID_LIMIT = 256
/** The longest `Message` of an answer, in UTF-16 units. */
export const MESSAGE_LIMIT = 500
/** The longest other field of an answer, in UTF-16 units. */
export const FIELD_LIMIT = 4096
/** The longest value of a header before it is percent-encoded, in UTF-16 units. */
export const HEADER_LIMIT = 128

/** Latin text without control characters. Most strings are like this, and shown unchanged. */
const PLAIN = /^[\x20-\x7e\u00a1-\u024f]*$/
/** Control characters, and characters that some readers treat as line ends. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
/** Invisible characters that reorder the text around them. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** The first half of a surrogate pair. */
const HALF = /[\ud800-\udbff]$/
/** Longer text is cut before it is searched, because a reply may have megabytes. */
const SEARCH_FACTOR = 4

/** Returns a text on one line, without control characters, of bounded length. */
export function shownText(text: string, limit: number): string {
  if (text.length <= limit && PLAIN.test(text)) return text
  const line = text
    .slice(0, limit * SEARCH_FACTOR)
    .toWellFormed()
    .replace(DIRECTION, '')
    .replace(CONTROL, ' ')
    .trim()
  return line.length <= limit ? line : `${line.slice(0, limit - 1).replace(HALF, '')}…`
}

/** Returns a text of any length as a `Message`, in the one line that old parsers read. */
export const oneLine = (text: string): string => shownText(text.replace(/[\s\p{Cc}]{2,}/gu, ' ').trim(), MESSAGE_LIMIT)

/** Most header values, which need no encoding. */
const VISIBLE_ASCII = /^[\x21-\x7e]*$/

/** Returns a text as a header value, bounded and percent-encoded except for plain ASCII. */
export function headerText(text: string): string {
  const shown = shownText(text, HEADER_LIMIT)
  // Shown text is well-formed. `encodeURIComponent` would throw at an unpaired surrogate.
  return VISIBLE_ASCII.test(shown) ? shown : shown.replace(/[^\x21-\x7e]/gu, encodeURIComponent)
}

/** Returns the text of a header value that `headerText` made. */
export const textOfHeader = (value: string): string =>
  Buffer.from(
    value.replace(/%(20|[89A-F][0-9A-F])/g, (_, hex) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString()

/** Most ids. */
const ORDINARY_ID = /^\w[\w-]{0,63}$/

/** Returns an id from the service as text; undefined for a value that cannot be an id. */
export function serviceId(value: unknown): string | undefined {
  if (typeof value === 'string' && ORDINARY_ID.test(value)) return value
  if (typeof value !== 'string' && !isInteger(value)) return undefined
  const id = scalarText(value)?.trim() ?? ''
  const isUsable = id.length <= ID_LIMIT && id.isWellFormed() && !/\p{Cc}/u.test(id)
  return isUsable && !/^\.*$/.test(shownText(id, ID_LIMIT)) ? id : undefined
}

/** An id that may be part of a path; any other could span several segments. */
const PLAIN_ID = /^(?!\.+$)[A-Za-z0-9._-]{1,64}$/

/** Reports whether the service may be asked for a value as an id. */
export const isPlainId = (value: string): boolean => PLAIN_ID.test(value)

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Reports whether a value looks like one of the service's ids. */
export const isUuid = (value: string): boolean => UUID.test(value)

/** Returns the same key for an id however callers, events and replies spell it: only UUIDs have several spellings. */
export const thingKey = (id: string): string => (isUuid(id) ? id.toLowerCase() : id)

/** Reports whether two ids mean the same thing. */
export const isSameThing = (one: string, other: string): boolean => thingKey(one) === thingKey(other)

function isInteger(value: unknown): boolean {
  return Number.isInteger(value) || (JSON.isRawJSON(value) && /^-?\d+$/.test(value.rawJSON))
}

/**
 * Characters that a terminal or an editor interprets instead of showing: control characters (C0, DEL, C1), line and paragraph separators,
 * and marks that change the text direction. Unpaired surrogates cannot be encoded at all.
 */
export const OBEYED = /[\p{Cc}\p{Cs}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Writes a character as JSON does: `\u001b`. */
export const escapeSequence = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Most text, which needs no escapes. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

/** Returns text that is safe on a terminal: control characters become escape sequences. */
export const escapeControls = (text: string): string =>
  PRINTABLE_ASCII.test(text) ? text : text.replace(OBEYED, escapeSequence)

/** Returns lines that are safe on a terminal: the only control characters left are line breaks. */
export const printableLines = (text: string): string => text.split('\n').map(escapeControls).join('\n')

/** Returns JSON that is safe on a terminal. It stays valid and equivalent, with no line breaks but its own. */
export function printableJson(value: unknown, indent?: number): string {
  // JSON.stringify itself escapes C0, so the only remaining line breaks are those of the indentation.
  return printableLines(JSON.stringify(value, null, indent))
}

/** What forms and programs send for a value that is not known yet, without its signs. */
const NOT_KNOWN = /^(?:tb[da]|na|none|nil|null|undefined|unknown|not(?:known|available|applicable))?$/i

/** Most values begin like none of these words, which is quick to see. */
const BEGINS_OTHERWISE = /^[\da-mo-sv-z]/i

/** Reports whether a text stands for a value that is not known yet: such a word, or signs alone. */
export const isNotKnown = (text: string): boolean =>
  !BEGINS_OTHERWISE.test(text) && NOT_KNOWN.test(text.replace(/[^\p{L}\p{N}]+/gu, ''))

/** Seventeen capitals and digits, without I, O and Q, which look like digits. */
export const VIN = /^[A-HJ-NPR-Z0-9]{17}$/

/** A VIN, or one with a character too many or too few. */
export const LIKE_VIN = /^(?=.*\d).{15,18}$/

/**
 * Returns a VIN in capitals without blanks, and without punctuation if that leaves a VIN, such as the asterisks of a bar code. A VIN
 * among words is that one, if no other word is like a VIN.
 */
export function plainVin(text: string): string {
  if (VIN.test(text)) return text
  const plain = text.replace(/\s+/g, '').toUpperCase()
  const bare = plain.replace(/[^\p{L}\p{N}]+/gu, '')
  if (VIN.test(bare)) return bare
  const words = wordsLikeVins(text.toUpperCase())
  if (words.length > 1) return plain
  // It may have blanks in it.
  const [vin] =
    [words, wordsLikeVins(plain)].find(([one = '', another]) => VIN.test(one) && another === undefined) ?? []
  return vin ?? plain
}

const wordsLikeVins = (text: string): readonly string[] =>
  text.split(/[^\p{L}\p{N}]+/u).filter((word) => LIKE_VIN.test(word))

/** A number as spreadsheets show a long one: `2.14555E+09`, or with a decimal comma. */
const SHORTENED = /^\d+(?:[.,]\d+e\+?|e\+)\d+$/i

/** Reports whether a text is a number whose last digits are lost. */
export const isShortened = (text: string): boolean => SHORTENED.test(text)
