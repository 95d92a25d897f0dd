import { z } from 'zod'
import { type SigningKey, signingKey } from '../webhook-signature.ts'
import { duration } from './values.ts'

/** The secrets in the paths of deliveries: only characters that every server on the way reads alike. */
const PATH_SECRET = /^[A-Za-z0-9._~-]{16,256}$/
const DOTS = /^\.+$/

const entriesOf = (text: string) => text.split(',').map((entry) => entry.trim())

/** The error of a text that holds no secret for a path. It does not repeat the text. */
export const PATH_SECRET_ERROR =
  'must be 16 to 256 letters, digits, dots, dashes, underscores or tildes; several are separated by commas'
/** The error of a text that holds no secret of Standard Webhooks. */
export const SIGNING_SECRET_ERROR = 'must be whsec_ and the Base64 of 24 to 64 bytes; several are separated by commas'

/** Reads the secrets of a path, several of them during a change-over; undefined if one is unusable. */
export function pathSecretsIn(text: string): readonly string[] | undefined {
  const secrets = entriesOf(text)
  return secrets.every((secret) => PATH_SECRET.test(secret) && !DOTS.test(secret)) ? secrets : undefined
}

/** Reads the keys of `whsec_…` secrets; undefined if one is unusable. */
export function signingKeysIn(text: string): readonly SigningKey[] | undefined {
  const keys = entriesOf(text).map(signingKey)
  return keys.every((key) => key !== undefined) ? keys : undefined
}

/** Makes the type of a variable whose errors do not repeat it. */
function secret<T>(read: (text: string) => T | undefined, message: string) {
  return z.string().transform((text, ctx) => {
    const value = read(text)
    if (value !== undefined) return value
    ctx.issues.push({ code: 'custom', message, input: undefined })
    return z.NEVER
  })
}

/** Secrets in the paths of deliveries. */
export const pathSecrets = secret(pathSecretsIn, PATH_SECRET_ERROR)

/** Secrets of Standard Webhooks, as keys. */
export const signingKeys = secret(signingKeysIn, SIGNING_SECRET_ERROR)

const SECOND_MS = 1000
const DAY_MS = 86_400_000

/** A duration from a second to a day: a timer that is set for longer than 24.8 days fires at once, again and again. */
export const pause = duration.refine((ms) => ms >= SECOND_MS && ms <= DAY_MS, 'must be from 1s to 1d')
