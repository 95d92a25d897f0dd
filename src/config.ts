import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** A configuration with mistakes; every one of them, a line each. */
export class ConfigMistakes extends Error {
  override readonly name = 'ConfigMistakes'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`the configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}`)
    this.mistakes = mistakes
  }
}

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const duration = z.string().transform((text, ctx) => {
  const [, amount, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  if (amount !== undefined) return Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]
  ctx.issues.push({ code: 'custom', message: 'must be a duration such as 500ms, 15s, 10m, 24h or 90d', input: text })
  return z.NEVER
})

const wholeNumber = (least: number, most: number) =>
  z.string().transform((text, ctx) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    ctx.issues.push({ code: 'custom', message: `must be a whole number from ${least} to ${most}`, input: text })
    return z.NEVER
  })

const yesOrNo = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true')

const port = wholeNumber(0, 65_535)
const milliseconds = wholeNumber(1, UNITS_MS.d)

const webAddress = z.string().transform((text, ctx) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  ctx.issues.push({ code: 'custom', message: 'must be an http or https address', input: text })
  return z.NEVER
})

const serviceAddress = webAddress.transform((url, ctx) => {
  if (url.username || url.password || url.search || url.hash) {
    const message = 'must be an address without a user name, a query or a fragment; credentials go into V2_CLIENT_ID'
    ctx.issues.push({ code: 'custom', message, input: url.origin })
    return z.NEVER
  }
  // A closing `/v2` is understood: paths begin with it already.
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '').replace(/\/v2$/, '') }
})

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean),
)

const basePaths = list.transform((paths, ctx) => {
  const wrong = paths.filter((path) => !/^\/[\w./-]*$/.test(path))
  if (paths.length > 0 && wrong.length === 0) return paths.map((path) => path.replace(/\/+$/, ''))
  ctx.issues.push({ code: 'custom', message: 'must list paths such as /,/quotes', input: paths })
  return z.NEVER
})

/** Tells whether a status is on the list. */
export type StatusSet = (status: number) => boolean

const statuses = list.transform((entries, ctx): StatusSet => {
  const wrong = entries.filter((entry) => !/^[1-5](xx|\d\d)$/.test(entry))
  if (entries.length === 0 || wrong.length > 0) {
    ctx.issues.push({ code: 'custom', message: 'must list statuses such as 4xx,503', input: entries })
    return z.NEVER
  }
  const patterns = entries.map((entry) => entry.replace('xx', ''))
  return (status) => patterns.some((pattern) => String(status).startsWith(pattern))
})

const day = z.string().transform((text, ctx) => {
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(at)) return new Date(at)
  ctx.issues.push({ code: 'custom', message: 'must be an ISO 8601 date such as 2026-12-31', input: text })
  return z.NEVER
})

/** The service's lists grow, so that only the form of a word can be checked. */
const version2Word = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must be a value of version 2 such as open or truck_ext')

const lookups = z.strictObject({
  vehicle_types: z.record(z.string(), z.string()).default({}),
  actions: z.record(z.string(), z.string()).default({}),
})

/** What an operator adds to the shipped lookup tables and action names. */
export type Lookups = z.output<typeof lookups>

const lookupsFile = z.string().transform((path, ctx): Lookups => {
  const complain = (message: string) => {
    ctx.issues.push({ code: 'custom', message, input: path })
    return z.NEVER
  }
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    return complain(`names a file that cannot be read as JSON: ${error instanceof Error ? error.message : error}`)
  }
  const parsed = lookups.safeParse(content)
  if (parsed.success) return parsed.data
  return complain(`names a file with mistakes: ${parsed.error.issues.map(inWords).join('; ')}`)
})

const schema = z.object({
  V2_BASE_URL: z.string('is required: the address of the service').pipe(serviceAddress),
  V2_QUOTE_METHOD: z.enum(['auto', 'POST', 'GET'], 'must be auto, POST or GET').default('auto'),
  V2_SHIPMENT_PATH: z
    .enum(['auto', '/v2/shipments', '/v2/shipment'], 'must be auto, /v2/shipments or /v2/shipment')
    .default('auto'),
  V2_CLIENT_ID: z.string().optional(),
  V2_CLIENT_SECRET: z.string().optional(),
  UPSTREAM_TIMEOUT_MS: milliseconds.prefault('15000'),
  UPSTREAM_CONNECTIONS: wholeNumber(1, 65_535).prefault('128'),

  HOST: z.string().default('0.0.0.0'),
  PORT: port.prefault('8080'),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port.prefault('9901'),
  MAX_IN_FLIGHT: wholeNumber(1, 1_000_000).prefault('1024'),
  SHUTDOWN_GRACE_MS: milliseconds.prefault('30000'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'must be a level of pino such as info')
    .default('info'),

  LEGACY_BASE_PATHS: basePaths.prefault('/,/quotes'),
  BODY_LIMIT_BYTES: wholeNumber(1, 1_073_741_824).prefault('262144'),
  ERROR_STATUS: z.enum(['as-is', 'ok'], 'must be ok or as-is').default('as-is'),
  SUNSET: day.optional(),
  MIGRATION_GUIDE_URL: webAddress.optional(),

  DEFAULT_TRANSPORT_TYPE: version2Word.default('open'),
  DEFAULT_VEHICLE_TYPE: version2Word.default('car'),
  SHIPMENT_NUMBER: z.enum(['caller', 'service'], 'must be caller or service').default('caller'),
  SEND_QUOTE_ID: yesOrNo.prefault('false'),
  LOOKUPS_FILE: lookupsFile.optional(),
  MAPPINGS_DIR: z.string().optional(),

  STORE_URL: z.string().default('sqlite:./data/transload.db'),
  QUOTE_MEMORY: duration.prefault('90d'),
  DEDUPE_WINDOW: duration.prefault('10m'),
  EMERGENCY_LOG_FILE: z.string().default('./data/emergency.ndjson'),
  BOOKING_REFUSED_STATUSES: statuses.prefault('4xx,503'),
})

/** Everything that an operator decides, checked as a whole and frozen. */
export type Config = Readonly<z.output<typeof schema>>

/** What the environment may say; the documentation is generated from it. */
export const configNames = Object.keys(schema.shape)

/** Reads the configuration; throws `ConfigMistakes` with every mistake at once. An empty variable counts as unset. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''))
  const parsed = schema.safeParse(set)
  const mistakes = [...(parsed.error?.issues ?? []).map(inWords), ...halfPairs(set)]
  if (!parsed.success || mistakes.length > 0) throw new ConfigMistakes(mistakes)
  return Object.freeze(parsed.data)
}

/** Names that make sense only together. */
const PAIRS = [['V2_CLIENT_ID', 'V2_CLIENT_SECRET']] as const

function halfPairs(set: Readonly<Record<string, unknown>>): string[] {
  return PAIRS.flatMap(([one, other]) => {
    if ((set[one] === undefined) === (set[other] === undefined)) return []
    return [
      set[one] === undefined ? `${one} is required, for ${other} is set` : `${other} is required, for ${one} is set`,
    ]
  })
}

function inWords({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join('.')} ${message}`
}
