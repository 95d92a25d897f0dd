import { createHash, timingSafeEqual } from 'node:crypto'
import type { SigningKey } from '../webhook-signature.ts'

/** A tenant that receives the service's events. */
export interface EventRecipient {
  readonly tenant: string
  /** SHA-256 hashes of the secrets in the path of its events. */
  readonly secretHashes: readonly Buffer[]
  /** Empty if its events are not signed. */
  readonly signingKeys: readonly SigningKey[]
  /** True if its events are delivered to its own receiver. */
  readonly hasCallback: boolean
}

/** How a tenant receives events. */
export interface EventOptions {
  readonly secrets: readonly string[] | undefined
  readonly signingKeys: readonly SigningKey[] | undefined
  /** @default false */
  readonly hasCallback?: boolean
}

/** Returns the tenant as a recipient; none without a secret. */
export function recipientsOf(
  tenant: string,
  { secrets = [], signingKeys = [], hasCallback = false }: EventOptions,
): readonly EventRecipient[] {
  return secrets.length === 0 ? [] : [{ tenant, secretHashes: secrets.map(hash), signingKeys, hasCallback }]
}

/**
 * Finds the recipient of a secret. Hashes are compared, every one of them, each in constant time: how long it takes tells
 * nothing about the secrets.
 */
export function recipientOf(secret: string, recipients: readonly EventRecipient[]): EventRecipient | undefined {
  const wanted = hash(secret)
  let found: EventRecipient | undefined
  for (const recipient of recipients) {
    for (const known of recipient.secretHashes) if (timingSafeEqual(known, wanted)) found = recipient
  }
  return found
}

const hash = (secret: string): Buffer => createHash('sha256').update(secret).digest()
