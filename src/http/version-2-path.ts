/** Unreserved characters mean the same encoded (RFC 3986, 6.2.2.2); a slash does not. */
const BELOW_VERSION_2 = /^\/(?:v|%76)(?:2|%32)\//
/** Without any of these, a path reads the same everywhere. */
const AMBIGUOUS = /[%\\#]|\/\./

const CONTROL = /\p{Cc}/u
/** The way that some old servers write a character. */
const UNICODE_ESCAPE = /%u[\da-f]{4}/i
/** A backslash is a slash to some servers, parameters of a segment (`;`) are cut off by others, and so are blanks. */
const DOT_SEGMENT = /[\\/]\s*\.{1,2}\s*(?:[\\/;?#]|$)/

/**
 * Tells whether a raw path is below `/v2/` for every server that may read it, however often and in whatever order it
 * decodes, splits and resolves the path.
 */
export function isBelowVersion2(path: string): boolean {
  if (!BELOW_VERSION_2.test(path)) return false
  if (!AMBIGUOUS.test(path)) return true
  if (path.includes('#')) return false
  // What is a slash, a dot or a control character in any reading still is one in the last.
  const last = fullyDecoded(path)
  if (last === undefined || CONTROL.test(last) || UNICODE_ESCAPE.test(last)) return false
  // Some servers take a full-width dot or slash for the plain one.
  return !DOT_SEGMENT.test(last) && !DOT_SEGMENT.test(last.normalize('NFKC'))
}

const PERCENT = 0x25
const HEX = 16

/**
 * A path of ASCII, decoded for as long as decoding changes it; undefined where the result is not UTF-8. One pass: to decode
 * `%2525252525…` level by level takes time that grows with the square of its length.
 */
function fullyDecoded(path: string): string | undefined {
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

/** The byte that the last three characters escape; undefined where they are no escape. */
function escapeAtEnd(bytes: readonly number[]): number | undefined {
  if (bytes.at(-3) !== PERCENT) return undefined
  const digits = String.fromCharCode(bytes.at(-2) ?? 0, bytes.at(-1) ?? 0)
  return /^[\da-f]{2}$/i.test(digits) ? Number.parseInt(digits, HEX) : undefined
}
