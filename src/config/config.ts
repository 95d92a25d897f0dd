import { z } from 'zod'
import { isNetwork } from '../networks.ts'
import { brownouts, sunset } from './brownout-values.ts'
import { certificateErrors } from './certificates.ts'
import { contradictions } from './contradictions.ts'
import { ConfigErrors } from './errors.ts'
import { lookupsFile } from './lookups.ts'
import {
  allowedHosts,
  basePaths,
  days,
  duration,
  file,
  host,
  list,
  milliseconds,
  newFile,
  port,
  serviceAddress,
  statuses,
  storeAddress,
  version2Word,
  webAddress,
  wholeNumber,
  yesOrNo,
} from './values.ts'
import { pathSecrets, pause, signingKeys } from './webhook-values.ts'

const schema = z.object({
  V2_BASE_URL: z.string('is required: set it to the address of the service').pipe(serviceAddress),
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
    .refine(
      (networks = []) => networks.every(isNetwork),
      'must be off or a list of networks such as 10.0.0.0/8,192.0.2.7',
    )
    .optional(),
  V2_CA_FILE: file.optional(),
  V2_CERT_FILE: file.optional(),
  V2_KEY_FILE: file.optional(),
  UPSTREAM_TIMEOUT_MS: milliseconds.prefault('15000'),
  UPSTREAM_CONNECTIONS: wholeNumber(1, 65_535).prefault('128'),

  HOST: host.default('0.0.0.0'),
  PORT: port.prefault('8080'),
  ADMIN_HOST: host.default('127.0.0.1'),
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
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
  LOG_ADDRESSES: z.enum(['all', 'refused', 'none'], 'must be all, refused or none').default('all'),
  LOG_USER_AGENTS: yesOrNo.prefault('true'),

  LEGACY_BASE_PATHS: basePaths.prefault('/,/quotes'),
  BODY_LIMIT_BYTES: wholeNumber(1, 1_073_741_824).prefault('262144'),
  ERROR_STATUS: z.enum(['as-is', 'ok'], 'must be ok or as-is').default('as-is'),
  SUNSET: sunset.optional(),
  MIGRATION_GUIDE_URL: webAddress.optional(),
  BROWNOUTS: brownouts.optional(),
  BROWNOUT_BOOKINGS: yesOrNo.prefault('false'),

  DEFAULT_TRANSPORT_TYPE: version2Word.default('open'),
  DEFAULT_VEHICLE_TYPE: version2Word.default('car'),
  SHIPMENT_NUMBER: z.enum(['caller', 'service'], 'must be caller or service').default('caller'),
  SEND_QUOTE_ID: yesOrNo.prefault('false'),
  APPROVAL_BOOKS: z.enum(['auto', 'no'], 'must be auto or no').default('auto'),
  LOOKUPS_FILE: lookupsFile.optional(),
  MAPPINGS_DIR: z.string().optional(),

  STORE_URL: storeAddress.prefault('sqlite:./data/transload.db'),
  STORE_CONNECTIONS: wholeNumber(2, 1_000).prefault('10'),
  QUOTE_MEMORY: duration.prefault('90d'),
  DEDUPE_WINDOW: duration.prefault('10m'),
  BOOKING_DAYS: wholeNumber(1, 3_650).prefault('400'),
  SCOREBOARD_DAYS: days.prefault('400d'),
  QUIET_DAYS: days.prefault('30d'),
  EMERGENCY_LOG_FILE: newFile.default('./data/emergency.ndjson'),
  BOOKING_REFUSED_STATUSES: statuses.prefault('4xx,503'),
  WEBHOOK_DAYS: wholeNumber(1, 3_650).prefault('30'),

  WEBHOOK_SECRET: pathSecrets.optional(),
  WEBHOOK_SIGNING_SECRET: signingKeys.optional(),
  WEBHOOK_CLIENT_ID: z.string().optional(),
  WEBHOOK_CLIENT_SECRET: z.string().optional(),
  SWEEP_INTERVAL: pause.prefault('10m'),
})

/** The checked configuration, frozen. */
export type Config = Readonly<z.output<typeof schema>>

/** The variables of a configuration with the texts they are set to. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The schema of each variable. */
export const configShape = schema.shape

/** The names of all variables; the documentation is generated from them. */
export const configNames = Object.keys(configShape)

/** Options of reading the configuration. */
export interface ConfigOptions {
  /**
   * Checks certificates and keys. A command beside a gateway that still uses its old ones turns this off.
   * @default true
   */
  readonly certificates?: boolean
}

/** Reads the configuration; throws `ConfigErrors` with all errors at once. An empty variable counts as unset. */
export function readConfig(env: NodeJS.ProcessEnv = process.env, { certificates = true }: ConfigOptions = {}): Config {
  const set = variablesSet(env)
  const parsed = schema.safeParse(set)
  const errors = [
    ...(parsed.error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.')} ${message}`),
    ...contradictions(
      set,
      validVariables(set, [
        ...(['HOST', 'PORT', 'ADMIN_HOST', 'ADMIN_PORT'] as const),
        ...(['QUOTE_MEMORY', 'BOOKING_DAYS', 'BODY_LIMIT_BYTES', 'BODIES_LIMIT_BYTES'] as const),
        ...(['QUIET_DAYS', 'SCOREBOARD_DAYS'] as const),
      ]),
    ),
    ...(certificates ? certificateErrors(set) : []),
  ]
  if (!parsed.success || errors.length > 0) throw new ConfigErrors(errors)
  return Object.freeze(parsed.data)
}

/** Reads the variables that are valid, even if others are not, in order to check the files that they name, too. */
export function readValidVariables(
  names: readonly (keyof Config)[],
  env: NodeJS.ProcessEnv = process.env,
): Partial<Config> {
  return validVariables(variablesSet(env), names)
}

function validVariables(set: Environment, names: readonly (keyof Config)[]): Partial<Config> {
  const read = names.map((name) => [name, schema.shape[name].safeParse(set[name]).data])
  return Object.fromEntries(read.filter(([, value]) => value !== undefined))
}

function variablesSet(env: NodeJS.ProcessEnv): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''))
}
