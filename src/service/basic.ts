import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'

/** The id and secret of a Basic credential. */
export interface BasicPair {
  readonly id: string
  readonly secret: string
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i

/** Reads a Basic credential (RFC 7617); undefined if the header holds none. */
export function basicPair(authorization: string | undefined): BasicPair | undefined {
  const encoded = BASIC.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  // Non-canonical Base64 could mean one client here and another one at the service.
  if (withoutPadding(bytes.toString('base64')) !== withoutPadding(encoded)) return undefined
  // UTF-8 would turn all ids that are not UTF-8 into the same id.
  const pair = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')
  const colon = pair.indexOf(':')
  return colon > 0 ? { id: pair.slice(0, colon), secret: pair.slice(colon + 1) } : undefined
}

/** Returns the client id that a call names. */
export const clientIdOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  basicPair(headers.authorization)?.id

const withoutPadding = (base64: string) => base64.replace(/=+$/, '')

/** Encodes an id and a secret as a Basic credential. */
export function basicOf(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}
