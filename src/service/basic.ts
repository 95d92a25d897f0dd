import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'

/** The id and secret of a Basic credential. */
export interface BasicPair {
  readonly id: string
  readonly secret: string
  /** The name of the client. Ids of different bytes have different names; no id contains a colon. */
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

/** UTF-8 would turn all texts that are not UTF-8 into the same text. */
const textOf = (bytes: Buffer) => bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')

/** Returns true for an id that not every store can hold, and that RFC 7617 forbids. The controls of Latin-1 are signs in Windows-1252. */
export const hasControlCharacter = (id: string) => /(?![\u0080-\u009f])\p{Cc}/u.test(id)

/** Returns the client that a call names. */
export const clientIdOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  basicPair(headers.authorization)?.client

const withoutPadding = (base64: string) => base64.replace(/=+$/, '')

/** Encodes an id and a secret as a Basic credential. */
export function basicOf(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}
