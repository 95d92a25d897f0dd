import { accessSync, constants, statSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { z } from 'zod'
import { pathOf } from '../store/open.ts'

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration such as `15s`, in milliseconds. */
export const duration = z.string().transform((text, ctx) => {
  const [, amount, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  if (amount !== undefined) return Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]
  ctx.issues.push({ code: 'custom', message: 'must be a duration such as 500ms, 15s, 10m, 24h or 90d', input: text })
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

/** `true` or `false`. */
export const yesOrNo = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true')

/** A TCP port; 0 is any free one. */
export const port = wholeNumber(0, 65_535)

/** Whether two listeners of one port would stand in each other's way; which address a name has is not asked. */
export function overlap(host: string, other: string): boolean {
  const [one, two] = [spelled(host), spelled(other)]
  const coversOther = (all: string, single: string) => all === '[::]' || (all === '0.0.0.0' && !single.startsWith('['))
  return one === two || coversOther(one, two) || coversOther(two, one)
}

/** A host as all its spellings are read: `::` and `0:0::0` are one. */
function spelled(host: string): string {
  const authority = `http://${isIPv6(host) ? `[${host}]` : host}`
  return URL.canParse(authority) ? new URL(authority).hostname : host
}

/** A number of milliseconds, at most a day. */
export const milliseconds = wholeNumber(1, UNITS_MS.d)

/** An http or https address. */
export const webAddress = z.string().transform((text, ctx) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  ctx.issues.push({ code: 'custom', message: 'must be an http or https address', input: text })
  return z.NEVER
})

/** Where the service is: its origin, and the prefix that its paths are appended to. */
export const serviceAddress = webAddress.transform((url, ctx) => {
  if (url.username || url.password || url.search || url.hash) {
    const message = 'must be an address without a user name, a query or a fragment; credentials go into V2_CLIENT_ID'
    ctx.issues.push({ code: 'custom', message, input: url.origin })
    return z.NEVER
  }
  // A closing `/v2` is understood: paths begin with it already.
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '').replace(/\/+v2$/, '') }
})

/** The path of a file that can be read now. */
export const file = z.string().refine(canRead, 'names a file that cannot be read')

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return !isFolder(path)
  } catch {
    return false
  }
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Where `openStore` finds a store; a mistake does not repeat it, for it may hold a password. */
export const storeAddress = z.string().transform((text, ctx) => {
  const [, scheme = 'file'] = /^([a-z][a-z0-9+.-]+):/i.exec(text.trim()) ?? []
  const complain = (message: string) => {
    ctx.issues.push({ code: 'custom', message, input: scheme })
    return z.NEVER
  }
  const takes = STORES.get(scheme.toLowerCase())
  if (!takes?.(text.trim())) return complain('must be memory:, postgres://… or a path for a file')
  if (takes === namesFile && isFolder(pathOf(text.trim()))) return complain('names a folder, and must name a file')
  return text
})

const namesFile = (text: string) => !/[:/]$/.test(text)
const namesServer = (text: string) => URL.canParse(text)
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

/** Host names, and whole origins, in the spelling of browsers. */
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

const isOrigin = (text: string) => URL.canParse(text) && /^https?:\/\/[^/?#@]+\/?$/i.test(text)
const isHostName = (text: string) => /^[^\s/?#@:]+$/.test(text) && URL.canParse(`http://${text}`)

/** Path prefixes, without their closing slashes. */
export const basePaths = list.transform((paths, ctx) => {
  const wrong = paths.filter((path) => !/^\/[\w./-]*$/.test(path))
  if (paths.length > 0 && wrong.length === 0) return paths.map((path) => path.replace(/\/+$/, ''))
  ctx.issues.push({ code: 'custom', message: 'must list paths such as /,/quotes', input: paths })
  return z.NEVER
})

/** Tells whether a status is on the list. */
export type StatusSet = (status: number) => boolean

/** Statuses such as `4xx,503`. */
export const statuses = list.transform((entries, ctx): StatusSet => {
  const wrong = entries.filter((entry) => !/^[1-5](xx|\d\d)$/.test(entry))
  if (entries.length === 0 || wrong.length > 0) {
    ctx.issues.push({ code: 'custom', message: 'must list statuses such as 4xx,503', input: entries })
    return z.NEVER
  }
  const patterns = entries.map((entry) => entry.replace('xx', ''))
  return (status) => patterns.some((pattern) => String(status).startsWith(pattern))
})

const TO_THE_MINUTE = -1

/** An ISO 8601 date, alone or with a time. `Date` alone would take a 31st of February for the 3rd of March. */
export const day = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: TO_THE_MINUTE })],
    'must be an ISO 8601 date such as 2026-12-31',
  )
  .transform((text) => new Date(text))

/** The service's lists grow, so that only the form of a word can be checked. */
export const version2Word = z
  .string()
  .regex(/^[a-z][a-z0-9_]*$/, 'must be a value of version 2 such as open or truck_ext')
