import { addField, type Entry, flatValue } from './flat.ts'
import type { Decode } from './text.ts'

// The first name has to look like one, or every text with a `=` somewhere would be a form: XML, a stack trace.
const FIRST_PAIR = /^[\s&]*[\w.\-*~%+[\]]+=/

/** Whether a text reads as `name=value` pairs, as far as its first pair can tell. */
export function looksLikeForm(text: string): boolean {
  return FIRST_PAIR.test(text)
}

/**
 * The fields of `name=value` pairs joined by `&`.
 *
 * `bytes` stands for bytes, one character each, because escapes are bytes too: what `%E9` means is known only once
 * all bytes of its value are together, and may differ from the value beside it.
 */
export function readFormFields(bytes: string, decode: Decode): Entry[] {
  const fields: Entry[] = []
  for (const part of bytes.split('&')) {
    const equals = part.indexOf('=')
    const name = unescaped(equals === -1 ? part : part.slice(0, equals), decode)
    if (equals === -1 && flatValue(name) === null) continue
    addField(fields, name, equals === -1 ? null : flatValue(unescaped(part.slice(equals + 1), decode)))
  }
  return fields
}

const NEEDS_DECODING = /[%+\u0080-\u00ff]/

function unescaped(part: string, decode: Decode): string {
  return NEEDS_DECODING.test(part) ? decode(unescapedBytes(part)) : part
}

const PERCENT = 0x25
const PLUS = 0x2b
const BLANK = 0x20

// By hand, since `decodeURIComponent` takes UTF-8 only, and throws at a `%zz`, which here stays what it is.
function unescapedBytes(part: string): Buffer {
  const bytes = Buffer.allocUnsafe(part.length)
  let length = 0
  for (let at = 0; at < part.length; at++) {
    let byte = part.charCodeAt(at)
    if (byte === PLUS) byte = BLANK
    if (byte === PERCENT) {
      const escaped = hexDigit(part.charCodeAt(at + 1)) * 16 + hexDigit(part.charCodeAt(at + 2))
      if (!Number.isNaN(escaped)) {
        byte = escaped
        at += 2
      }
    }
    bytes[length++] = byte
  }
  return bytes.subarray(0, length)
}

const DIGIT_0 = 0x30
const LETTER_A = 0x61
const TO_LOWER_CASE = 0x20

function hexDigit(code: number): number {
  if (code >= DIGIT_0 && code < DIGIT_0 + 10) return code - DIGIT_0
  const lower = code | TO_LOWER_CASE
  return lower >= LETTER_A && lower < LETTER_A + 6 ? lower - LETTER_A + 10 : Number.NaN
}
