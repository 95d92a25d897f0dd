import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import { gunzip, inflate, inflateRaw, type ZlibOptions } from 'node:zlib'

/** Decodes the bytes of a body or of one of its values; never throws. */
export type Decode = (bytes: Buffer) => string

/** A body without its byte order mark, in an encoding that contains ASCII, with its decoder. */
interface BodyText {
  readonly bytes: Buffer
  readonly decode: Decode
}

const FIRST_HIGH_BYTE = 0x80
const WINDOWS_1252_80_TO_9F = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
const BYTES = 256
/** The character of each byte. */
const WINDOWS_1252 = Uint16Array.from(
  { length: BYTES },
  (_, byte) => WINDOWS_1252_80_TO_9F.charCodeAt(byte - FIRST_HIGH_BYTE) || byte,
)

// Not TextDecoder: several releases of Node 24 decode the bytes from 80 to 9F as ISO-8859-1.
function fromWindows1252(bytes: Buffer): string {
  const latin1 = bytes.toString('latin1')
  if (!/[\u0080-\u009f]/.test(latin1)) return latin1
  const characters = new Uint16Array(bytes.length)
  for (let at = 0; at < bytes.length; at += 1) characters[at] = WINDOWS_1252[bytes[at] ?? 0] ?? 0
  return Buffer.from(characters.buffer).toString('utf16le')
}

/** Decodes UTF-8, or Windows-1252 if the bytes are not UTF-8. */
export const decodeUnlabeled: Decode = (bytes) => (isUtf8(bytes) ? bytes.toString('utf8') : fromWindows1252(bytes))

/** Returns a reply's body as text: UTF-8, or Windows-1252 if it is not UTF-8, without a byte order mark. */
export function replyText(body: Buffer): string {
  return decodeUnlabeled(body).replace(/^\ufeff/, '')
}

/** Finds a body's encoding: by its byte order mark, its zero bytes, its `charset`, otherwise by trying. */
export function openText(bytes: Buffer, contentType: string | undefined): BodyText {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return { bytes: bytes.subarray(3), decode: decodeUnlabeled }
  }
  // Every readable body begins with an ASCII character: in UTF-16, one of its first two bytes is zero.
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return transcoded(bytes, strict('utf-16le'))
  if ((first === 0xfe && second === 0xff) || first === 0) return transcoded(bytes, strict('utf-16be'))

  const decode = decoderFor(contentType)
  return decode === decodeIso2022Jp ? transcoded(bytes, decode) : { bytes, decode }
}

function transcoded(bytes: Buffer, decode: Decode): BodyText {
  return { bytes: Buffer.from(decode(bytes), 'utf8'), decode: decodeUnlabeled }
}

// Its characters consist of ASCII bytes, including `&` and `=`: a form must be decoded before it is split.
const decodeIso2022Jp = strict('iso-2022-jp')

// The bytes identify these encodings; "ASCII" with high bytes is a wrong label.
const IGNORED = /^(?:utf-?8|utf-?16(?:le|be)?|(?:us-)?ascii)$/

const CHARSET = /;\s*charset\s*=\s*["']?([^\s;"']+)/i

// Stores only known labels, about 200, so callers cannot make it grow.
const decoders = new Map<string, Decode>([['iso-2022-jp', decodeIso2022Jp]])

/** Returns the decoder of a `Content-Type`'s `charset`. */
export function decoderFor(contentType: string | undefined): Decode {
  const label = contentType?.match(CHARSET)?.[1]?.toLowerCase()
  if (label === undefined || IGNORED.test(label)) return decodeUnlabeled
  const known = decoders.get(label)
  if (known !== undefined) return known
  try {
    const decode = strict(label)
    decoders.set(label, decode)
    return decode
  } catch {
    return decodeUnlabeled
  }
}

/** Decodes strictly. Bytes that are invalid in this encoding are decoded as if it had not been named. */
function strict(label: string): Decode {
  const decoder = new TextDecoder(label, { fatal: true })
  if (decoder.encoding === 'windows-1252') return fromWindows1252
  return (bytes) => {
    try {
      return decoder.decode(bytes)
    } catch {
      return decodeUnlabeled(bytes)
    }
  }
}

const ZLIB_METHOD_DEFLATE = 0x0800
const ZLIB_CHECK_DIVISOR = 31

/**
 * Reports whether bytes begin with a zlib header (RFC 1950, 2.2): the method in the low four bits of the first byte, both bytes a multiple
 * of 31.
 */
function hasZlibHeader(bytes: Buffer): boolean {
  if (bytes.length < 2) return false
  const header = bytes.readUInt16BE()
  return (header & 0x0f00) === ZLIB_METHOD_DEFLATE && header % ZLIB_CHECK_DIVISOR === 0
}

/** Inflates compressed bytes; rejects with a `RangeError` above the limit. */
export type Inflate = (bytes: Buffer, limits: ZlibOptions) => Promise<Buffer>

const zlib: Inflate = promisify(inflate)
const raw: Inflate = promisify(inflateRaw)

/** The functions that inflate a body, by its `Content-Encoding`. */
export const inflaters: ReadonlyMap<string, Inflate> = new Map<string, Inflate>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  // RFC 9110 defines "deflate" as zlib, but some senders omit the zlib wrapper.
  ['deflate', (bytes, limits) => (hasZlibHeader(bytes) ? zlib : raw)(bytes, limits)],
])
