import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { isNetwork } from '../networks.ts'
import { unfitCertificates } from './certificates.ts'
import {
  allowedHosts,
  basePaths,
  day,
  duration,
  file,
  list,
  milliseconds,
  overlap,
  port,
  serviceAddress,
  statuses,
  storeAddress,
  version2Word,
  webAddress,
  wholeNumber,
  yesOrNo,
} from './values.ts'

/** A configuration with mistakes; every one of them, a line each. */
export class ConfigErrors extends Error {
  override readonly name = 'ConfigErrors'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`the configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}`)
    this.mistakes = mistakes
  }
}

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
  V2_TOKEN: z.enum(['basic', 'oauth2', 'auto'], 'must be basic, oauth2 or auto').default('basic'),
  TENANTS_FILE: z.string().optional(),
  TRUST_PROXY: list
    .transform((networks) => (networks.join() === 'off' ? undefined : networks))
    .refine((networks = []) => networks.every(isNetwork), 'must be off or list networks such as 10.0.0.0/8,192.0.2.7')
    .optional(),
  V2_CA_FILE: file.optional(),
  V2_CERT_FILE: file.optional(),
  V2_KEY_FILE: file.optional(),
  UPSTREAM_TIMEOUT_MS: milliseconds.prefault('15000'),
  UPSTREAM_CONNECTIONS: wholeNumber(1, 65_535).prefault('128'),

  HOST: z.string().default('0.0.0.0'),
  PORT: port.prefault('8080'),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port.prefault('9901'),
  TLS_CERT_FILE: file.optional(),
  TLS_KEY_FILE: file.optional(),
  TLS_MIN_VERSION: z.enum(['1.0', '1.1', '1.2', '1.3'], 'must be 1.0, 1.1, 1.2 or 1.3').default('1.2'),
  WORKERS: wholeNumber(1, 256).prefault('1'),
  MAX_CONNECTIONS: wholeNumber(1, 1_000_000).prefault('10000'),
  SOURCE_CONNECTIONS: wholeNumber(1, 1_000_000).prefault('256'),
  SOURCE_CALLS_PER_SECOND: wholeNumber(1, 1_000_000).optional(),
  MAX_IN_FLIGHT: wholeNumber(1, 1_000_000).prefault('1024'),
  SOURCE_IN_FLIGHT: wholeNumber(1, 1_000_000).optional(),
  BODIES_LIMIT_BYTES: wholeNumber(1, 1_099_511_627_776).prefault('67108864'),
  ALLOWED_HOSTS: allowedHosts.optional(),
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

  STORE_URL: storeAddress.prefault('sqlite:./data/transload.db'),
  STORE_CACHE_BYTES: wholeNumber(0, 1_099_511_627_776).prefault('16777216'),
  QUOTE_MEMORY: duration.prefault('90d'),
  DEDUPE_WINDOW: duration.prefault('10m'),
  EMERGENCY_LOG_FILE: z.string().default('./data/emergency.ndjson'),
  BOOKING_REFUSED_STATUSES: statuses.prefault('4xx,503'),
})

/** Everything that an operator decides, checked as a whole and frozen. */
export type Config = Readonly<z.output<typeof schema>>

/** What the environment may say; the documentation is generated from it. */
export const configNames = Object.keys(schema.shape)

/** How the configuration is read. */
export interface ConfigOptions {
  /**
   * Whether certificates and keys have to be good: not for a command beside a gateway that goes on with its old ones.
   * @default true
   */
  readonly certificates?: boolean
}

/** Reads the configuration; throws `ConfigErrors` with every mistake at once. An empty variable counts as unset. */
export function readConfig(env: NodeJS.ProcessEnv = process.env, { certificates = true }: ConfigOptions = {}): Config {
  const set = setIn(env)
  const parsed = schema.safeParse(set)
  const mistakes = [
    ...(parsed.error?.issues ?? []).map(inWords),
    ...halfPairs(set),
    ...twoModes(set),
    ...nothingShared(set),
    ...oneDoor(set),
    ...(certificates ? unfitCertificates(set) : []),
  ]
  if (!parsed.success || mistakes.length > 0) throw new ConfigErrors(mistakes)
  return Object.freeze(parsed.data)
}

/** The values that are good by themselves, whatever is wrong with others: for looking on, not for starting. */
export function readEachAlone(env: NodeJS.ProcessEnv = process.env): Partial<Config> {
  const set = setIn(env)
  const read = Object.entries(schema.shape).map(([name, type]) => [name, type.safeParse(set[name]).data])
  return Object.fromEntries(read.filter(([, value]) => value !== undefined))
}

function setIn(env: NodeJS.ProcessEnv): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''))
}

/** Names that make sense only together. */
const PAIRS = [
  ['V2_CLIENT_ID', 'V2_CLIENT_SECRET'],
  ['V2_CERT_FILE', 'V2_KEY_FILE'],
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
] as const

function halfPairs(set: Readonly<Record<string, unknown>>): string[] {
  return PAIRS.flatMap(([one, other]) => {
    if ((set[one] === undefined) === (set[other] === undefined)) return []
    const [missing, given] = set[one] === undefined ? [one, other] : [other, one]
    return [`${missing} is required, for ${given} is set`]
  })
}

function twoModes(set: Readonly<Record<string, unknown>>): string[] {
  if (set['TENANTS_FILE'] === undefined || set['V2_CLIENT_ID'] === undefined) return []
  return ['TENANTS_FILE and V2_CLIENT_ID cannot both be set, for each tenant has a client id of its own']
}

/** What is kept in the memory of one process is not there for the others. */
function nothingShared(set: Readonly<Record<string, unknown>>): string[] {
  if (!/^\s*memory:/i.test(String(set['STORE_URL'])) || !(Number(set['WORKERS']) > 1)) return []
  return ['STORE_URL cannot be memory: with more than one of WORKERS, for they would not share it']
}

/** Two listeners that would stand in each other's way. A port of 0 is any free one, or none at all. */
function oneDoor(set: Readonly<Record<string, unknown>>): string[] {
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT } = schema.shape
  const port = PORT.safeParse(set['PORT']).data
  if (!port || port !== ADMIN_PORT.safeParse(set['ADMIN_PORT']).data) return []
  if (!overlap(HOST.parse(set['HOST']), ADMIN_HOST.parse(set['ADMIN_HOST']))) return []
  return [`ADMIN_PORT must be another than PORT, for HOST and ADMIN_HOST have port ${port} in common`]
}

function inWords({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join('.')} ${message}`
}
