import { createHmac, timingSafeEqual } from 'node:crypto'

/*
 * Signatures of Standard Webhooks (https://www.standardwebhooks.com): an HMAC-SHA256 of `id.timestamp.body`.
 */

/** The key of a `whsec_…` secret. */
export type SigningKey = Buffer

/** A delivery to be signed. */
interface SignedDelivery {
  readonly id: string
  /** In whole seconds since 1970. */
  readonly timestamp: number | string
  readonly body: string | Buffer
}

/** The headers of a signed delivery, by lower-case name. */
type SignatureHeaders = Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>

/** The headers of a delivery as they were received. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The result of a check. */
type SignatureVerdict = 'valid' | 'missing' | 'malformed' | 'too-old' | 'too-new' | 'wrong'

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/
const LEAST_KEY_BYTES = 24
const MOST_KEY_BYTES = 64

/** How far a delivery's timestamp may differ from the receiver's clock. */
const TOLERANCE_SECONDS = 300
const VERSION = 'v1'
const TIMESTAMP = /^\d{1,12}$/
const ID_LIMIT_CHARACTERS = 256
/** More signatures than any change of secrets needs; a delivery's further ones are not compared. */
const MOST_SIGNATURES = 16

/** Decodes a `whsec_…` secret; undefined if it is not one with a key of 24 to 64 bytes. */
export function signingKey(secret: string): SigningKey | undefined {
  const key = Buffer.from(SECRET.exec(secret)?.[1] ?? '', 'base64')
  return key.length >= LEAST_KEY_BYTES && key.length <= MOST_KEY_BYTES ? key : undefined
}

/** Signs a delivery with every key, because the receiver may have any of them. */
export function signatureHeaders(keys: readonly SigningKey[], signed: SignedDelivery): SignatureHeaders {
  return {
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
    'webhook-signature': keys.map((key) => `${VERSION},${digest(key, signed).toString('base64')}`).join(' '),
  }
}

/** Checks a received delivery: one of its signatures has to match one of the keys, and its timestamp the clock. */
export function verifySignature(
  keys: readonly SigningKey[],
  headers: ReceivedHeaders,
  body: Buffer,
  nowSeconds: number,
): SignatureVerdict {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (id === undefined || timestamp === undefined || signatures === undefined) return 'missing'
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return 'malformed'
  if (id === '' || id.length > ID_LIMIT_CHARACTERS || !TIMESTAMP.test(timestamp)) return 'malformed'
  const ageSeconds = nowSeconds - Number(timestamp)
  if (ageSeconds > TOLERANCE_SECONDS) return 'too-old'
  if (ageSeconds < -TOLERANCE_SECONDS) return 'too-new'
  const received = signaturesIn(signatures)
  // The digits as received, because the sender signed them.
  const expected = keys.map((key) => digest(key, { id, timestamp, body }))
  const isMatch = expected.some((right) =>
    received.some((one) => one.length === right.length && timingSafeEqual(one, right)),
  )
  return isMatch ? 'valid' : 'wrong'
}

function digest(key: SigningKey, { id, timestamp, body }: SignedDelivery): Buffer {
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
}

/** Returns the signatures with the known version; others belong to future schemes, or are asymmetric. */
function signaturesIn(header: string): readonly Buffer[] {
  return header
    .split(' ', MOST_SIGNATURES)
    .map((part) => part.split(',', 2))
    .filter(([version]) => version === VERSION)
    .map(([, signature = '']) => Buffer.from(signature, 'base64'))
}
