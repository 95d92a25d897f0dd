import { accessSync, constants, statSync } from 'node:fs'
import { isIP, isIPv6 } from 'node:net'
import { z } from 'zod'
import { pathOf } from '../store/open.ts'
import { readAddress } from '../store/postgres/address.ts'
import { AddressError } from '../store/postgres/errors.ts'

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** The longest duration. Sums of a time and a much longer one are no whole numbers of milliseconds any more. */
const LONGEST_DAYS = 36_500

/** A duration such as `15s`, in milliseconds. */
export const duration = z.string().transform((text, ctx) => {
  const [, amount, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  const ms = Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]
  if (ms <= LONGEST_DAYS * UNITS_MS.d) return ms
  const message = `must be a duration such as 500ms, 15s, 10m, 24h or 90d, at most ${LONGEST_DAYS}d`
  ctx.issues.push({ code: 'custom', message, input: text })
  return z.NEVER
})

/** A number of whole days such as `30d`. */
export const days = z.string().transform((text, ctx) => {
  const [, amount] = /^(\d{1,5})d$/.exec(text) ?? []
  if (Number(amount) >= 1) return Number(amount)
  ctx.issues.push({ code: 'custom', message: 'must be a number of days such as 30d', input: text })
  return z.NEVER
})

/** A whole number within bounds. */
export const wholeNumber = (least: number, most: number) =>
  z.string().transform((text, ctx) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    ctx.issues.push({ code: 'custom', message: `must be a whole number from ${least} to ${most}`, input: text })
    return z.NEVER
  })

/** A share from 0 to 1, such as `0.1`. */
export const share = z
  .string()
  .regex(/^(0|1|[01]?\.\d{1,6})$/, 'must be a share from 0 to 1 such as 0.1')
  .transform(Number)
  .refine((value) => value <= 1, 'must be a share from 0 to 1 such as 0.1')

/** `true` or `false`. */
export const yesOrNo = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true')

/** A TCP port; 0 means any free one. */
export const port = wholeNumber(0, 65_535)

/** Returns true if two hosts use the same port. Names are compared literally; nothing is resolved. */
export function overlap(host: string, other: string): boolean {
  const [one, two] = [spelled(host), spelled(other)]
  const coversOther = (all: string, single: string) => all === '[::]' || (all === '0.0.0.0' && !single.startsWith('['))
  return one === two || coversOther(one, two) || coversOther(two, one)
}

/** Returns the canonical form of a host: `::` and `0:0::0` are the same. */
function spelled(host: string): string {
  const authority = `http://${isIPv6(host) ? `[${host}]` : host}`
  return URL.canParse(authority) ? new URL(authority).hostname : host
}

/** The address of a listener, or a name of it. */
export const host = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || (/^[\w-]+(\.[\w-]+)*\.?$/.test(text) && URL.canParse(`http://${text}`)),
    'must be an address such as 127.0.0.1 or ::, or a name such as localhost, without a port',
  )

/** A number of milliseconds, at most a day. */
export const milliseconds = wholeNumber(1, UNITS_MS.d)

/** An http or https address. */
export const webAddress = z.string().transform((text, ctx) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  ctx.issues.push({ code: 'custom', message: 'must be an http or https address', input: text })
  return z.NEVER
})

/** The address of the service: its origin, and the prefix of all its paths. */
export const serviceAddress = webAddress.transform((url, ctx) => {
  if (url.username || url.password || url.search || url.hash) {
    const message = 'must have no user name, password, query or fragment'
    ctx.issues.push({ code: 'custom', message, input: url.origin })
    return z.NEVER
  }
  // Every path begins with `/v2`, so a trailing `/v2` is redundant.
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '').replace(/\/+v2$/, '') }
})

/** The path of a readable file. */
export const file = z.string().refine(canRead, {
  error: ({ input }) => `names ${String(input)}, which cannot be read`,
})

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return !isFolder(path)
  } catch {
    return false
  }
}

/** The path of a file that may not exist yet. */
export const newFile = z
  .string()
  .refine((path) => !path.endsWith('/') && !isKnownFolder(path), 'names a folder; it must name a file')

/** Tells if a path is a folder; false also where Node's permissions hide it. */
function isKnownFolder(path: string): boolean {
  try {
    return isFolder(path)
  } catch {
    return false
  }
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** The address of a store, for `openStore`. An error does not repeat it, because it may hold a password. */
export const storeAddress = z.string().transform((text, ctx) => {
  const [, scheme = 'file'] = /^([a-z][a-z0-9+.-]+):/i.exec(text.trim()) ?? []
  const fail = (message: string) => {
    ctx.issues.push({ code: 'custom', message, input: scheme })
    return z.NEVER
  }
  const isAddress = STORES.get(scheme.toLowerCase())
  if (isAddress === namesServer) {
    const mistake = mistakeInAddress(text.trim())
    if (mistake !== undefined) return fail(mistake)
  } else if (!isAddress?.(text.trim())) return fail('must be a path, postgres://… or memory:')
  if (isAddress === namesFile && isFolder(pathOf(text.trim()))) return fail('names a folder; it must name a file')
  return text
})

function mistakeInAddress(text: string): string | undefined {
  try {
    readAddress(text)
    return undefined
  } catch (error) {
    if (error instanceof AddressError) return error.mistake
    throw error
  }
}

const namesFile = (text: string) => !/[:/]$/.test(text)
const namesServer = (text: string) => mistakeInAddress(text) === undefined
const STORES: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['memory', () => true],
  ['postgres', namesServer],
  ['postgresql', namesServer],
  ['sqlite', namesFile],
  ['file', namesFile],
])

/** Entries separated by commas. */
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean),
)

/** Host names and whole origins, as browsers write them. */
export const allowedHosts = list.transform((entries, ctx) => {
  const origins = entries.filter((entry) => /^https?:\/\//i.test(entry))
  const names = entries.filter((entry) => !origins.includes(entry))
  if (origins.every(isOrigin) && names.every(isHostName)) {
    return {
      names: names.map((name) => new URL(`http://${name}`).hostname),
      origins: origins.map((origin) => new URL(origin).origin),
    }
  }
  const message = 'must list names such as gateway.internal, or origins such as https://gateway.example.com'
  ctx.issues.push({ code: 'custom', message, input: entries })
  return z.NEVER
})

const isOrigin = (text: string) => URL.canParse(text) && /^https?:\/\/[^/?#@*]+\/?$/i.test(text)
const isHostName = (text: string) => /^[^\s/?#@:*]+$/.test(text) && URL.canParse(`http://${text}`)

/** Path prefixes, without trailing slashes. */
export const basePaths = list.transform((paths, ctx) => {
  const wrong = paths.filter((path) => !/^\/[\w./-]*$/.test(path))
  const [taken] = paths.flatMap((path) => TAKEN.exec(path)?.slice(1) ?? [])
  if (paths.length > 0 && wrong.length === 0 && taken === undefined)
    return paths.map((path) => path.replace(/\/+$/, ''))
  const form = 'must be a list of paths such as /,/quotes'
  const message = taken === undefined ? form : `${form}; paths under /${taken.toLowerCase()} are the gateway's own`
  ctx.issues.push({ code: 'custom', message, input: paths })
  return z.NEVER
})

/** A legacy path below these would hide calls that are passed through, or carry out a dry run. */
const TAKEN = /^\/+(v2|dry-run)(?:\/|$)/i

/** Tells whether a status is in the list. */
export type StatusSet = (status: number) => boolean

/** Statuses of refusals, such as `4xx,503`: any other reply may be that to a booking that was made. */
export const statuses = list.transform((entries, ctx): StatusSet => {
  const wrong = entries.filter((entry) => !/^[345](xx|\d\d)$/.test(entry))
  if (entries.length === 0 || wrong.length > 0) {
    const message = 'must be a list of statuses from 300 to 599 such as 4xx,503'
    ctx.issues.push({ code: 'custom', message, input: entries })
    return z.NEVER
  }
  const patterns = entries.map((entry) => entry.replace('xx', ''))
  return (status) => patterns.some((pattern) => String(status).startsWith(pattern))
})

const TO_THE_MINUTE = -1

/** An ISO 8601 date, with or without a time. `Date` alone would read 31 February as 3 March. */
export const day = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: TO_THE_MINUTE })],
    'must be an ISO 8601 date such as 2026-12-31',
  )
  .transform((text) => new Date(text))

/** A value of version 2. Only its form is checked, because the service's lists grow. */
export const version2Word = z
  .string()
  .regex(/^[a-z][a-z0-9_]*$/, 'must be a value of version 2 such as open or truck_ext')
