import { z } from 'zod'
import { isNetwork } from '../networks.ts'
import { type SigningKey, signingKey } from '../webhook-signature.ts'
import { secretRef } from './secret-ref.ts'
import { webAddress } from './values.ts'

/** How events are delivered to a tenant. */
export interface CallbackSettings {
  readonly url: URL
  readonly format: 'json' | 'form'
  readonly keys: readonly SigningKey[]
  readonly networks: readonly string[]
}

/** The keys of a tenant that concern its callback. */
export const callbackKeys = {
  callback_url: z.string().pipe(webAddress).optional().describe('The address to which its events are delivered.'),
  callback_format: z
    .enum(['json', 'form'])
    .default('json')
    .describe('The body of a delivery: a JSON object or form fields.'),
  callback_secrets: z
    .array(secretRef)
    .default([])
    .describe('The whsec_… secrets that sign its deliveries; several at a time allow a change-over.'),
  callback_allow_http: z.boolean().default(false).describe('Lets callback_url be plain HTTP.'),
  callback_networks: z
    .array(z.string().refine(isNetwork, 'must be a network such as 192.0.2.0/24'))
    .default([])
    .describe('Networks that are not public to which callback_url may lead, such as 10.0.0.0/8.'),
}

interface Declared {
  readonly callback_url?: URL | undefined
  readonly callback_format: 'json' | 'form'
  readonly callback_allow_http: boolean
  readonly callback_networks: readonly string[]
}

/** Returns the mistakes of a callback; `secrets` are those that could be read. They are never repeated. */
export function callbackMistakes(
  { callback_url: url, callback_allow_http: allowHttp }: Partial<Declared>,
  secrets: readonly string[],
): readonly string[] {
  return [
    ...(url?.protocol === 'http:' && !allowHttp
      ? ['callback_url must be an https address, or callback_allow_http must be true']
      : []),
    ...(url !== undefined && url.hash !== '' ? ['callback_url must have no fragment'] : []),
    ...(url !== undefined && ![url.username, url.password].every(isEncoded)
      ? ['callback_url must have a percent-encoded user name and password']
      : []),
    ...(secrets.some((secret) => signingKey(secret) === undefined)
      ? ['callback_secrets must be whsec_ and the Base64 of 24 to 64 bytes each']
      : []),
    ...(url === undefined && secrets.length > 0
      ? ['callback_secrets sign nothing, because there is no callback_url']
      : []),
  ]
}

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

/** Returns the callback of a tenant without mistakes; undefined if it has none. */
export function callbackOf(
  { callback_url: url, callback_format: format, callback_networks: networks }: Declared,
  secrets: readonly string[],
): CallbackSettings | undefined {
  return url && { url, format, keys: secrets.flatMap((secret) => signingKey(secret) ?? []), networks }
}
