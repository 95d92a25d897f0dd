import { addField, type Entry, flatValue } from './flat.ts'
import type { Decode } from './text.ts'

// The first name must look like a name. Otherwise XML, or any text with a `=`, would be a form.
const FIRST_PAIR = /^[\s&]*[\p{L}\p{M}\p{N}_.\-*~%+[\]]+=/u

/** Tells whether a text begins with a `name=value` pair. */
export function looksLikeForm(text: string): boolean {
  return FIRST_PAIR.test(text)
}

/**
 * Reads the fields of `name=value` pairs joined by `&`.
 *
 * `bytes` holds one byte in each character. Escapes are bytes, too: the encoding of `%E9` is known only when all bytes
 * of its value are together, and may differ from that of another value.
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

// Not `decodeURIComponent`: it accepts UTF-8 only, and throws at `%zz`, which stays as it is here.
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
