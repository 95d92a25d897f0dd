/** Unreserved characters are equal to their escapes (RFC 3986, 6.2.2.2); a slash is not. */
const BELOW_VERSION_2 = /^\/(?:v|%76)(?:2|%32)\//
/** Every server reads a path without any of these in the same way. */
const AMBIGUOUS = /[%\\#]|\/\./

const CONTROL = /\p{Cc}/u
/** The `%uXXXX` escape of old servers. */
const UNICODE_ESCAPE = /%u[\da-f]{4}/i
/** Some servers treat a backslash as a slash, and some cut off blanks and parameters of a segment (`;`). */
const DOT_SEGMENT = /[\\/]\s*\.{1,2}\s*(?:[\\/;?#]|$)/

/**
 * Returns true if a raw path is below `/v2/` for every server that may read it, in whatever order and however often it
 * decodes, splits and resolves the path.
 */
export function isBelowVersion2(path: string): boolean {
  if (!BELOW_VERSION_2.test(path)) return false
  if (!AMBIGUOUS.test(path)) return true
  if (path.includes('#')) return false
  // A slash, a dot or a control character in any reading is still one in the last.
  const last = fullyDecoded(path)
  if (last === undefined || CONTROL.test(last) || UNICODE_ESCAPE.test(last)) return false
  // Some servers read a full-width dot or slash as the ASCII one.
  return !DOT_SEGMENT.test(last) && !DOT_SEGMENT.test(last.normalize('NFKC'))
}

const PERCENT = 0x25
const HEX = 16

/**
 * A path of ASCII, decoded for as long as decoding changes it; undefined where the result is not UTF-8. One pass: to
 * decode `%2525252525…` level by level takes time that grows with the square of its length.
 */
export function fullyDecoded(path: string): string | undefined {
  const bytes: number[] = []
  for (let i = 0; i < path.length; i += 1) {
    bytes.push(path.charCodeAt(i))
    for (let byte = escapeAtEnd(bytes); byte !== undefined; byte = escapeAtEnd(bytes)) bytes.splice(-3, 3, byte)
  }
  try {
    return UTF_8.decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The byte that the last three characters escape; undefined if they are not an escape. */
function escapeAtEnd(bytes: readonly number[]): number | undefined {
  if (bytes.at(-3) !== PERCENT) return undefined
  const digits = String.fromCharCode(bytes.at(-2) ?? 0, bytes.at(-1) ?? 0)
  return /^[\da-f]{2}$/i.test(digits) ? Number.parseInt(digits, HEX) : undefined
}
