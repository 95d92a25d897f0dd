import { accessSync, constants, statSync } from 'node:fs'
import { isIP, isIPv6 } from 'node:net'
import { z } from 'zod'
import { type BrownoutWindow, DEPRECATED_AT, ladderFrom, parseLocalTime, windowFrom } from '../legacy-headers.ts'
import { isNetwork } from '../networks.ts'
import { type SigningKey, signingKey } from '../webhook-signature.ts'
import { readAddress } from './postgres-address.ts'
import { AddressError, engineOf, pathOf } from './store-address.ts'

/*
 * The types of values in the environment and in the tenants file. No error repeats its value unless it says so, because the value may be a
 * secret.
 */

/**
 * A value that `read` makes from a text. If it returns undefined, the error is the variable's name and `message`; `fail` reports another
 * message.
 */
const value = <T>(read: (text: string, fail: (message: string) => undefined) => T | undefined, message: string) =>
  z.string().transform((text, ctx): T => {
    const fail = (told: string) => void ctx.issues.push({ code: 'custom', message: told, input: undefined })
    const made = read(text, fail)
    if (made !== undefined) return made
    if (ctx.issues.length === 0) fail(message)
    return z.NEVER
  })

/** One of the words. */
export const word = <const Word extends string>(...words: readonly [Word, ...Word[]]) =>
  z.enum(words, `must be ${words.join(', ').replace(/, ([^,]*)$/, ' or $1')}`)

/** `true` or `false`. */
export const yesOrNo = word('true', 'false').transform((text) => text === 'true')

/** A whole number within bounds. */
export const wholeNumber = (least: number, most: number) =>
  value((text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return number >= least && number <= most ? number : undefined
  }, `must be a whole number from ${least} to ${most}`)

/** A TCP port; 0 means any free one. */
export const port = wholeNumber(0, 65_535)

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** The longest duration: with a much longer one, a time plus a duration would no longer be a whole number of milliseconds. */
const LONGEST_DAYS = 36_500

/** A number of milliseconds, at most a day. */
export const milliseconds = wholeNumber(1, UNITS_MS.d)

/** A duration such as `15s`, in milliseconds. */
export const duration = value((text) => {
  const [, amount, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  const ms = Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]
  return ms <= LONGEST_DAYS * UNITS_MS.d ? ms : undefined
}, `must be a duration such as 500ms, 15s, 10m, 24h or 90d, at most ${LONGEST_DAYS}d`)

/** A number of whole days such as `30d` or `30`. */
export const days = (most: number) =>
  value((text) => {
    const amount = Number(/^(\d{1,5})d?$/.exec(text)?.[1])
    return amount >= 1 && amount <= most ? amount : undefined
  }, `must be a number of days such as 30d, at most ${most}d`)

const TO_THE_MINUTE = -1

/** An ISO 8601 date, with or without a time. `Date` alone would read 31 February as 3 March. */
export const day = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: TO_THE_MINUTE })],
    'must be an ISO 8601 date such as 2026-12-31',
  )
  .transform((text) => new Date(text))

/** The day on which version 1 ends. RFC 9745 does not allow a day before the deprecation. */
export const sunset = day.refine(
  (end) => end.getTime() >= DEPRECATED_AT,
  'must not be before 2026-01-01, when version 1 was deprecated (RFC 9745)',
)

/** Entries separated by commas. */
const entriesOf = (text: string) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)

/** Networks, or `off`. */
export const networks = value((text) => {
  const entries = entriesOf(text)
  return entries.join() === 'off' ? [] : entries.every(isNetwork) ? entries : undefined
}, 'must be off or a list of networks such as 10.0.0.0/8,192.0.2.7').transform((entries) =>
  entries.length === 0 ? undefined : entries,
)

const SHORTEST_BROWNOUT_MS = 60_000
const LONGEST_BROWNOUT_MS = 7 * UNITS_MS.d
const BROWNOUTS_FORM =
  'must list windows of 1m to 7d such as 2027-01-12T15:00Z/1h, and ladders such as 2027-01-12T09:00[America/New_York]/ladder'

/** Windows such as `2027-01-12T15:00Z/1h` and ladders such as `2027-01-12T09:00[America/New_York]/ladder`, or `none`. */
export const brownouts = value((text, fail): readonly BrownoutWindow[] | undefined => {
  const entries = entriesOf(text)
  if (entries.join() === 'none') return []
  const wrong = entries.filter((entry) => windowsOf(entry) === undefined)
  if (wrong.length > 0) return fail(`${BROWNOUTS_FORM}, not ${wrong.join()}`)
  const windows = entries.flatMap((entry) => windowsOf(entry) ?? []).sort((one, other) => one.start - other.start)
  const second = windows.find(({ start }, i) => start < (windows[i - 1]?.end ?? start))
  if (second) return fail(`has two windows at ${new Date(second.start).toISOString()}; leave one out`)
  return windows.length > 0 ? windows : undefined
}, BROWNOUTS_FORM)

/** Returns an entry's windows; undefined if it cannot be read. */
function windowsOf(entry: string): readonly BrownoutWindow[] | undefined {
  // A zone's name may contain a slash.
  const slash = entry.lastIndexOf('/')
  const start = parseLocalTime(entry.slice(0, slash))
  const length = entry.slice(slash + 1)
  if (!start) return undefined
  if (length === 'ladder') return ladderFrom(start)
  const { data: ms } = duration.safeParse(length)
  const fits = ms !== undefined && ms >= SHORTEST_BROWNOUT_MS && ms <= LONGEST_BROWNOUT_MS
  return fits ? [windowFrom(start, ms)] : undefined
}

/** Reports whether two hosts would use the same port. Names are compared literally; nothing is resolved. */
export function overlap(one: string, other: string): boolean {
  const [first, second] = [spelled(one), spelled(other)]
  const covers = (all: string, single: string) => all === '[::]' || (all === '0.0.0.0' && !single.startsWith('['))
  return first === second || covers(first, second) || covers(second, first)
}

/** Returns the canonical form of a host: `::` and `0:0::0` are the same. */
function spelled(text: string): string {
  const authority = `http://${isIPv6(text) ? `[${text}]` : text}`
  return URL.canParse(authority) ? new URL(authority).hostname : text
}

/** A listener's address, or a name for it. */
export const host = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || (/^[\w-]+(\.[\w-]+)*\.?$/.test(text) && URL.canParse(`http://${text}`)),
    'must be an address such as 127.0.0.1 or ::, or a name such as localhost, without a port',
  )

/** The id in a Basic credential, which ends at the first colon (RFC 7617). */
export const clientId = z
  .string()
  .min(1)
  .refine((id) => !/[:\p{Cc}]/u.test(id), 'must be a client id without a colon or control characters')

/** The secret in a Basic credential, which holds no control characters (RFC 7617). */
export const clientSecret = z
  .string()
  .refine((secret) => !/\p{Cc}/u.test(secret), 'must be a secret without line breaks or other control characters')

/** An http or https address. */
export const webAddress = value((text) => {
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}, 'must be an http or https address')

/** The service's address: its origin, and the prefix of all its paths. */
export const serviceAddress = webAddress
  .refine(
    (url) => !(url.username || url.password || url.search || url.hash),
    'must not have a user name, password, query or fragment',
  )
  // Every path begins with `/v2`, so a trailing `/v2` is redundant.
  .transform(({ origin, pathname }) => ({ origin, prefix: pathname.replace(/\/+$/, '').replace(/\/+v2$/, '') }))

/** Host names and whole origins, as browsers write them. */
export const allowedHosts = value((text) => {
  const entries = entriesOf(text)
  const origins = entries.filter((entry) => /^https?:\/\//i.test(entry))
  const names = entries.filter((entry) => !origins.includes(entry))
  if (!origins.every(isOrigin) || !names.every(isHostName)) return undefined
  return {
    names: names.map((name) => new URL(`http://${name}`).hostname),
    origins: origins.map((origin) => new URL(origin).origin),
  }
}, 'must list names such as gateway.internal, or origins such as https://gateway.example.com')

const isOrigin = (text: string) => URL.canParse(text) && /^https?:\/\/[^/?#@*]+\/?$/i.test(text)
const isHostName = (text: string) => /^[^\s/?#@:*]+$/.test(text) && URL.canParse(`http://${text}`)

const PATHS_FORM = 'must be a list of paths such as /,/quotes'
/** A legacy path below these would hide calls that are passed through, or carry out what is only to be tried. */
const TAKEN = /^\/+(v2|dry-run|check|webhooks)(?:\/|$)/i

/** Path prefixes, without trailing slashes. */
export const basePaths = value((text, fail) => {
  const paths = entriesOf(text)
  const [taken] = paths.flatMap((path) => TAKEN.exec(path)?.[1]?.toLowerCase() ?? [])
  if (taken) return fail(`${PATHS_FORM}; paths under /${taken} are the gateway's own`)
  const arePaths = paths.length > 0 && paths.every((path) => /^(?:\/(?!\.\.?(?:\/|$))[\w.-]*)+$/.test(path))
  return arePaths ? paths.map((path) => path.replace(/\/+/g, '/').replace(/\/$/, '')) : undefined
}, PATHS_FORM)

/** Reports whether a status is in the list. */
export type StatusSet = (status: number) => boolean

/** Statuses of refusals, such as `4xx,503`: with any other status, a booking may have been made. */
export const statuses = value((text): StatusSet | undefined => {
  const entries = entriesOf(text)
  if (entries.length === 0 || !entries.every((entry) => /^[345](xx|\d\d)$/.test(entry))) return undefined
  const patterns = entries.map((entry) => entry.replace('xx', ''))
  return (status) => patterns.some((pattern) => String(status).startsWith(pattern))
}, 'must be a list of statuses from 300 to 599 such as 4xx,503')

/** The contact for callers, short enough for every message. */
export const supportContact = z.string().trim().min(1).max(100, 'must be at most 100 characters')

/** A version-2 value. Only its form is checked, because the service's lists grow. */
export const version2Word = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must be a version-2 value such as open or truck_ext')

/** The path of a readable file. */
export const file = z.string().refine(canRead, {
  // The content may be a private key.
  error: ({ input }) =>
    CONTENT.test(String(input))
      ? 'must be the path of a file, not its content'
      : `names ${input}, which cannot be read`,
})

const CONTENT = /-----BEGIN|\p{Cc}/u

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return !isFolder(path)
  } catch {
    return false
  }
}

const NAMES_FOLDER = 'names a folder; it must name a file'

/** The path of a file that may not exist yet. */
export const newFile = z.string().refine((path) => !path.endsWith('/') && !isFolder(path), NAMES_FOLDER)

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    // Node's permissions may hide the path.
    return false
  }
}

/** The address of a store, for `openStore`. */
export const storeAddress = value((sent, fail) => {
  const text = sent.trim()
  switch (engineOf(text)) {
    case 'memory':
      return sent
    case 'postgres':
      try {
        readAddress(text)
        return sent
      } catch (error) {
        if (error instanceof AddressError) return fail(error.mistake)
        throw error
      }
    case 'file':
      // Without its colon, a PostgreSQL address would be a path.
      if (/[:/]$|^postgres(?:ql)?\/\//i.test(text)) return undefined
      return isFolder(pathOf(text)) ? fail(NAMES_FOLDER) : sent
    default:
      return undefined
  }
}, 'must be a path, postgres://… or memory:')

/** Only characters that every server on the way reads the same. */
const PATH_SECRET = /^(?!\.+$)[A-Za-z0-9._~-]{16,256}$/

/** Secrets in the paths of deliveries; there are several during a change of secrets. */
export const pathSecrets = value((text): readonly string[] | undefined => {
  const secrets = text.split(',').map((entry) => entry.trim())
  return secrets.every((secret) => PATH_SECRET.test(secret)) ? secrets : undefined
}, 'must be 16 to 256 letters, digits, dots, dashes, underscores or tildes; several are separated by commas')

/** The keys of `whsec_…` secrets of Standard Webhooks. */
export const signingKeys = value((text): readonly SigningKey[] | undefined => {
  const keys = text.split(',').map((entry) => signingKey(entry.trim()))
  return keys.every((key) => key !== undefined) ? keys : undefined
}, 'must be whsec_ and the Base64 of 24 to 64 bytes; several are separated by commas')
