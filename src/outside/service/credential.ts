import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { createBoundedCache } from '../../runtime/collections.ts'

/** The id and secret of a Basic credential. */
export interface BasicPair {
  readonly id: string
  readonly secret: string
  /** The client's name. Ids with different bytes have different names; no id contains a colon. */
  readonly client: string
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i

/** Reads a Basic credential (RFC 7617); undefined if the header holds none. */
export function basicPair(authorization: string | undefined): BasicPair | undefined {
  const encoded = BASIC.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  // Non-canonical Base64 could mean one client here and another one at the service.
  if (withoutPadding(bytes.toString('base64')) !== withoutPadding(encoded)) return undefined
  const colon = bytes.indexOf(':')
  if (colon <= 0) return undefined
  const idBytes = bytes.subarray(0, colon)
  const id = textOf(idBytes)
  return { id, secret: textOf(bytes.subarray(colon + 1)), client: isUtf8(idBytes) ? id : `latin1:${id}` }
}

/** Reads an id or a secret. UTF-8 would turn all texts that are not UTF-8 into the same text. */
export const textOf = (bytes: Buffer) => bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')

/**
 * Reports whether an id contains characters that not every store can hold and that RFC 7617 forbids. Latin-1's control characters are
 * printable in Windows-1252.
 */
export const hasControlCharacter = (id: string) => /(?![\u0080-\u009f])\p{Cc}/u.test(id)

/** Returns the client that a call names. */
export const clientIdOf = ({ headers }: IncomingMessage): string | undefined => basicPair(headers.authorization)?.client

const withoutPadding = (base64: string) => base64.replace(/=+$/, '')

/** Encodes an id and a secret as a Basic credential. */
export function basicOf(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

/** Returns the secret in a Basic credential; empty for a token. */
function secretOf(authorization: string): string {
  const [, encoded] = /^basic\s+(\S+)/i.exec(authorization) ?? []
  return Buffer.from(encoded ?? '', 'base64')
    .toString()
    .replace(/^[^:]*:/, '')
}

/**
 * Replaces a credential with asterisks in a reply that is passed on in parts. Lengths do not change. The beginning of a possible match is
 * held back until the next part.
 */
export interface CredentialMask {
  readonly text: (text: string) => string
  readonly bytes: (part: Buffer) => Buffer
  /** Returns the part still held back at the end of the body. */
  readonly rest: () => Buffer
}

/**
 * Makes a mask for the `Authorization` that a request was sent with. A refusal or failure may quote a Basic credential's secret by itself.
 * In other replies, the secret could be a word that occurs by chance, and stays.
 */
export function createCredentialMask(authorization: string, isSuccess: boolean): CredentialMask {
  const { whole, all } = needlesOf(authorization)
  const needles = isSuccess ? whole : all
  let held: Buffer = NOTHING
  return {
    text: (text) => needles.reduce((shown, needle) => maskedText(shown, needle), text),
    bytes: (part) => {
      const data = masked(held.length > 0 ? Buffer.concat([held, part]) : part, needles)
      const end = Math.min(data.length, ...needles.map((needle) => beginOf(needle, data)))
      held = data.subarray(end)
      return data.subarray(0, end)
    },
    rest: () => held,
  }
}

const NOTHING = Buffer.alloc(0)
const ASTERISK = '*'

/** A text that must stay secret, and its first byte. */
interface Needle {
  /** One character per byte, as in header lines. */
  readonly text: string
  readonly bytes: Buffer
  readonly first: number
}

interface Needles {
  /** The credential or token as it was sent. */
  readonly whole: readonly Needle[]
  /** The same, and the secret in the credential. */
  readonly all: readonly Needle[]
}

/** The needles of the latest credentials only, because tokens change. */
const known = createBoundedCache<string, Needles>(1_000)
/** A shorter text may be part of any word. */
const MIN_CHARACTERS = 6

function needlesOf(authorization: string): Needles {
  const found = known.get(authorization)
  if (found) return found
  const whole = spellings(authorization.replace(/^\S+\s+/, ''))
  const made = { whole, all: [...whole, ...spellings(secretOf(authorization))] }
  known.set(authorization, made)
  return made
}

/** Returns a secret as it is, as some JSON writers escape its slashes, and as part of an address. */
function spellings(secret: string): readonly Needle[] {
  const texts = new Set([secret, secret.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())])
  return [...texts]
    .filter((text) => text.length >= MIN_CHARACTERS)
    .map((text) => Buffer.from(text))
    .map((bytes) => ({ text: bytes.toString('latin1'), bytes, first: bytes[0] ?? 0 }))
}

const maskedText = (text: string, { text: secret }: Needle): string =>
  text.includes(secret) ? text.replaceAll(secret, ASTERISK.repeat(secret.length)) : text

function masked(data: Buffer, needles: readonly Needle[]): Buffer {
  let copy: Buffer | undefined
  for (const { bytes } of needles) {
    for (let at = data.indexOf(bytes); at !== -1; at = data.indexOf(bytes, at + bytes.length)) {
      // A copy, because the received bytes belong to the connection.
      copy ??= Buffer.from(data)
      copy.fill(ASTERISK, at, at + bytes.length)
    }
  }
  return copy ?? data
}

/** Returns the position at the end of the data where a needle may begin; the data's length if there is none. */
function beginOf({ bytes, first }: Needle, data: Buffer): number {
  let at = data.indexOf(first, Math.max(0, data.length - bytes.length + 1))
  while (at !== -1 && data.compare(bytes, 0, data.length - at, at) !== 0) at = data.indexOf(first, at + 1)
  return at === -1 ? data.length : at
}
