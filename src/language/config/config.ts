import { resolve } from 'node:path'
import { z } from 'zod'
import { certificateErrors } from './certificates.ts'
import { ConfigErrors } from './errors.ts'
import { lookupsFile } from './lookups.ts'
import { engineOf, pathOf } from './store-address.ts'
import {
  allowedHosts,
  basePaths,
  brownouts,
  clientId,
  clientSecret,
  days,
  duration,
  file,
  host,
  milliseconds,
  networks,
  newFile,
  overlap,
  pathSecrets,
  port,
  serviceAddress,
  signingKeys,
  statuses,
  storeAddress,
  sunset,
  supportContact,
  version2Word,
  webAddress,
  wholeNumber,
  word,
  yesOrNo,
} from './values.ts'

/** The default place of the store. */
export const DEFAULT_STORE = 'sqlite:./data/transload.db'

/** Every variable, by its heading in the documentation, with its default as an operator writes it. */
const sections = {
  'The service': {
    V2_BASE_URL: z
      .string('is required: set it to the address of the service')
      .pipe(serviceAddress)
      .describe("Required. The service's production or stage address, with or without a path prefix and `/v2`."),
    V2_QUOTE_METHOD: word('auto', 'POST', 'GET')
      .default('auto')
      .describe(
        'The method for quotes: `POST`, `GET`, or `auto`, which uses `POST` until the service accepts only `GET`.',
      ),
    V2_SHIPMENT_PATH: word('auto', '/v2/shipments', '/v2/shipment')
      .default('auto')
      .describe(
        'The path for shipments: `/v2/shipments`, `/v2/shipment`, or `auto`, which uses the first until the service accepts only the second.',
      ),
    V2_CLIENT_ID: clientId
      .optional()
      .describe(
        "With `V2_CLIENT_SECRET`, the credential for all calls to the service (fixed mode, for a sidecar). Callers' credentials are ignored.",
      ),
    V2_CLIENT_SECRET: clientSecret.optional().describe('The secret of `V2_CLIENT_ID`.'),
    V2_TOKEN: word('basic', 'oauth2', 'auto')
      .default('basic')
      .describe(
        'How the gateway authenticates to the service: `basic`, `oauth2`, or `auto`, which uses `basic` until the service asks for a token.',
      ),
    V2_CA_FILE: file.optional().describe('A PEM file of additional certificate authorities to trust for the service.'),
    UPSTREAM_TIMEOUT_MS: milliseconds
      .prefault('15000')
      .describe('The timeout of a call, including all its requests to the service.'),
    UPSTREAM_CONNECTIONS: wholeNumber(1, 65_535)
      .prefault('128')
      .describe('Maximum connections to the service per credential.'),
  },
  'The callers': {
    TENANTS_FILE: z
      .string()
      .optional()
      .describe(
        'A JSON file of callers and their credentials at the service ([tenants mode](#tenants)). Not with `V2_CLIENT_ID`.',
      ),
    TRUST_PROXY: networks
      .prefault('off')
      .describe('Networks of proxies whose `X-Forwarded-For` is trusted, such as `10.0.0.0/8,192.0.2.7`, or `off`.'),
  },
  'The listeners': {
    HOST: host.default('0.0.0.0').describe('The address of the public listener.'),
    PORT: port.prefault('8080').describe('The port of the public listener; 0 picks a free port.'),
    ADMIN_HOST: host.default('127.0.0.1').describe('The address of the admin listener.'),
    ADMIN_PORT: port.prefault('9901').describe('The port of the admin listener; 0 turns it off.'),
    TLS_CERT_FILE: file
      .optional()
      .describe(
        "With `TLS_KEY_FILE`, the public listener's certificate in PEM, reloaded when it changes. Without it, the listener uses plain HTTP.",
      ),
    TLS_KEY_FILE: file.optional().describe("That certificate's key in PEM, without a passphrase."),
    TLS_MIN_VERSION: word('1.0', '1.1', '1.2', '1.3')
      .default('1.2')
      .describe('The oldest accepted TLS version. `1.0` and `1.1` are insecure; use them only for old callers.'),
    MAX_CONNECTIONS: wholeNumber(1, 1_000_000)
      .prefault('10000')
      .describe('Maximum connections from callers. More are closed at once.'),
    SOURCE_CONNECTIONS: wholeNumber(1, 1_000_000)
      .prefault('256')
      .describe(
        "Maximum connections from one address (IPv6: one /64 network). Behind a proxy in `TRUST_PROXY`, it limits each caller's concurrent requests.",
      ),
    MAX_IN_FLIGHT: wholeNumber(1, 1_000_000)
      .prefault('1024')
      .describe('Maximum calls in progress; more get 503. A call counts once its body has arrived.'),
    SOURCE_IN_FLIGHT: wholeNumber(1, 1_000_000)
      .optional()
      .describe(
        'The same for one address (IPv6: one /64 network); more get 429. The default is a quarter of `MAX_IN_FLIGHT`.',
      ),
    BODIES_LIMIT_BYTES: wholeNumber(1, 1_099_511_627_776)
      .prefault('67108864')
      .describe(
        'Maximum memory for all bodies in progress, at least `BODY_LIMIT_BYTES`; more get 503. One address can use a quarter; more get 429.',
      ),
    ALLOWED_HOSTS: allowedHosts
      .optional()
      .describe(
        'Additional host names for the admin listener, or for a gateway that requires no credential, such as `gateway.internal`. Behind a proxy that terminates TLS, use an origin such as `https://gateway.example.com`.',
      ),
    SHUTDOWN_GRACE_MS: milliseconds
      .prefault('30000')
      .describe('How long calls in progress can take to finish after SIGTERM.'),
    LOG_FORMAT: word('auto', 'json', 'text')
      .default('auto')
      .describe('`json`, `text` for people, or `auto`: text on a terminal, otherwise JSON.'),
    LOG_LEVEL: word('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')
      .default('info')
      .describe('The lowest level to log: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.'),
    RECORD_FILE: newFile
      .optional()
      .describe(
        'Records version-1 calls and their replies to this file, as [JSON lines](migration.md#rehearse-recorded-traffic). At 128 MiB, and at startup, it becomes `FILE.1`.',
      ),
    RECORD_VALUES: word('masked', 'plain')
      .default('masked')
      .describe(
        '`masked` replaces values with ones of the same shape; equal values stay equal within a file. `plain` records real values.',
      ),
    LOG_ADDRESSES: word('all', 'refused', 'none')
      .default('all')
      .describe("Log lines with the caller's address: `all`, `refused` (missing or wrong credentials only) or `none`."),
  },
  'The legacy calls': {
    LEGACY_BASE_PATHS: basePaths
      .prefault('/,/quotes')
      .describe('Prefixes of the legacy paths. Not `/v2`, `/dry-run`, `/check`, `/webhooks`, or paths below them.'),
    BODY_LIMIT_BYTES: wholeNumber(1, 1_073_741_824)
      .prefault('262144')
      .describe('Maximum body size after decompression; larger bodies get 413.'),
    ERROR_STATUS: word('ok', 'as-is')
      .default('as-is')
      .describe('`ok` sends every error on a legacy path with status 200, for callers that read nothing else.'),
    SUPPORT_CONTACT: supportContact
      .optional()
      .describe('Your contact for callers, such as `help@example.com`. Messages name it.'),
    SUNSET: sunset.optional().describe('The date on which version 1 ends, sent as a `Sunset` header (RFC 8594).'),
    RETIRED_FROM: sunset
      .optional()
      .describe(
        'The date or time from which every call on a legacy path gets 410; see [The end](migration.md#the-end).',
      ),
    WORKBENCH: word('on', 'off')
      .default('on')
      .describe('`off` disables the workbench at `/`, `/reference` and `/guide`.'),
    MIGRATION_GUIDE_URL: webAddress
      .optional()
      .describe(
        "The address of your migration guide, sent as a `Link` header. You can use the gateway's own `/guide`.",
      ),
    BROWNOUTS: brownouts
      .optional()
      .describe(
        'When legacy calls are refused as a test, such as `2027-01-12T15:00Z/1h`; see [Brownouts](migration.md#brownouts).',
      ),
    BROWNOUT_BOOKINGS: yesOrNo
      .prefault('false')
      .describe('`true` also refuses new bookings and approvals in a brownout.'),
  },
  'The translation': {
    DEFAULT_TRANSPORT_TYPE: version2Word.default('open').describe('The transport type for calls without one.'),
    DEFAULT_VEHICLE_TYPE: version2Word.default('car').describe('The vehicle type for quotes without a known one.'),
    SHIPMENT_NUMBER: word('caller', 'service')
      .default('caller')
      .describe("The number in responses: `caller` for the caller's own, if it sent one, or `service`."),
    SEND_QUOTE_ID: yesOrNo
      .prefault('false')
      .describe("`true` sends the remembered quote's id with every booking. After an approval, it is always sent."),
    APPROVAL_BOOKS: word('auto', 'no')
      .default('auto')
      .describe(
        '`auto` looks for the shipment of an approved quote before it books; `no` is for services where an approval makes no shipment.',
      ),
    LOOKUPS_FILE: lookupsFile
      .optional()
      .describe('A JSON file with more vehicle types and `ActionName`s; see [Lookups](#lookups).'),
    MAPPINGS_DIR: z
      .string()
      .optional()
      .describe('A folder with your own mapping modules; see [Writing a mapping](writing-a-mapping.md).'),
  },
  'The store': {
    STORE_URL: storeAddress
      .prefault(DEFAULT_STORE)
      .describe(
        'A path for the embedded store, `postgres://…` for several gateways, or `memory:` for tests; see [Store address](#store-address).',
      ),
    QUOTE_MEMORY: duration.prefault('90d').describe("How long a quote's facts are used for a later booking."),
    DEDUPE_WINDOW: duration
      .prefault('10m')
      .describe('How long two bookings with equal fields and no reference count as one.'),
    REPLAY_CHECK_AFTER: duration
      .prefault('10m')
      .describe(
        'When a booking older than this is repeated, the gateway reads its shipment first. If it was canceled, it is booked again.',
      ),
    BOOKING_DAYS: days(3_650)
      .prefault('400')
      .describe(
        'How many days finished bookings and unused numbers are kept, at least `QUOTE_MEMORY`; see [Old data](data.md#old-data).',
      ),
    BOOKING_REFUSED_STATUSES: statuses
      .prefault('4xx,503')
      .describe('Statuses of the service that prove that nothing was booked. Such a booking can be sent again.'),
    EMERGENCY_LOG_FILE: newFile
      .transform((path) => (path === 'off' ? undefined : path))
      .prefault('./data/emergency.ndjson')
      .describe(
        'Keeps what the store could not record, until it can. The file beside it says which store was used last; see [A changed store](data.md#a-changed-store). `off` turns off both.',
      ),
  },
  'Events of the service': {
    WEBHOOK_SECRET: pathSecrets
      .optional()
      .describe(
        'Accepts service events at `POST /webhooks/<secret>`. Use 16 to 256 letters, digits, dots, dashes, underscores or tildes, and two during a rotation. With `TENANTS_FILE`, each tenant has its own.',
      ),
    WEBHOOK_SIGNING_SECRET: signingKeys
      .optional()
      .describe(
        'The `whsec_…` secret with which the service signs events (Standard Webhooks); two during a rotation. Events without a valid signature are rejected.',
      ),
    WEBHOOK_CLIENT_ID: clientId
      .optional()
      .describe(
        'With `WEBHOOK_CLIENT_SECRET`, in client mode, the credential for reading the shipments of events and unknown bookings. Without it, events are only stored.',
      ),
    WEBHOOK_CLIENT_SECRET: clientSecret.optional().describe('The secret of `WEBHOOK_CLIENT_ID`.'),
  },
} as const

const schema = z.object({
  ...sections['The service'],
  ...sections['The callers'],
  ...sections['The listeners'],
  ...sections['The legacy calls'],
  ...sections['The translation'],
  ...sections['The store'],
  ...sections['Events of the service'],
})

/** The checked configuration, frozen. */
export type Config = Readonly<z.output<typeof schema>>

/** The key under which a configuration and its copies keep the variables that they were read from. */
const GIVEN = Symbol('variables')

/** A configuration's variables and the texts that they are set to. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The names of all variables. */
export const configNames = Object.keys(schema.shape)

/** Options for reading the configuration. */
interface ConfigOptions {
  /**
   * Checks certificates and keys. A command that runs beside a gateway with its old ones turns this off.
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
    ...contradictions(set, validVariables(set, COMPARED)),
    ...(certificates ? certificateErrors(set) : []),
  ]
  if (!parsed.success || errors.length > 0) throw new ConfigErrors(errors)
  return Object.freeze({ ...parsed.data, [GIVEN]: set })
}

/** Reads the valid variables, even if others are invalid, so that the files that they name can be checked, too. */
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

/** A variable's effective value. */
interface EffectiveVariable {
  readonly name: string
  /** The value as an operator writes it, without secrets; undefined if the variable is not set and has no default. */
  readonly value: string | undefined
  readonly from: 'environment' | 'default' | 'nowhere'
}

/** Returns every variable with its value and where that comes from; secrets are masked. */
export function effectiveVariables(source: Config | NodeJS.ProcessEnv): readonly EffectiveVariable[] {
  const set = isRead(source) ? source[GIVEN] : variablesSet(source as NodeJS.ProcessEnv)
  return Object.entries(schema.shape).map(([name, type]) => {
    const given = set[name]
    if (given !== undefined) return { name, value: masked(name, given), from: 'environment' }
    const value = defaultOf(type)
    return { name, value, from: value === undefined ? 'nowhere' : 'default' }
  })
}

const isRead = (source: object): source is { readonly [GIVEN]: Environment } => GIVEN in source

/** The settings that nearly every operator sets or looks at. */
const START_HERE = [
  'V2_BASE_URL',
  'V2_CLIENT_ID',
  'V2_CLIENT_SECRET',
  'TENANTS_FILE',
  'TRUST_PROXY',
  'HOST',
  'PORT',
  'STORE_URL',
  'EMERGENCY_LOG_FILE',
  'SUPPORT_CONTACT',
]

/** A variable as people read it. */
interface VariableText {
  readonly name: string
  readonly text: string
  /** The default. */
  readonly value: string | undefined
}

/** Returns every variable with its text and default, by headings: first what to start with, then what is rarely needed. */
export function configTexts(): ReadonlyMap<string, readonly VariableText[]> {
  const all = Object.entries(sections).flatMap(([title, variables]) =>
    Object.entries(variables).map(([name, type]: [string, z.ZodType]) => {
      const isFirst = START_HERE.includes(name)
      return { title: isFirst ? 'Start here' : title, name, text: type.description ?? '', value: defaultOf(type) }
    }),
  )
  const first = START_HERE.flatMap((name) => all.filter((one) => one.name === name))
  return Map.groupBy([...first, ...all.filter(({ name }) => !START_HERE.includes(name))], ({ title }) => title)
}

/** Returns a variable's default as an operator writes it. */
function defaultOf(type: z.ZodType): string | undefined {
  return type instanceof z.ZodDefault || type instanceof z.ZodPrefault ? String(type.def.defaultValue) : undefined
}

const MASK = '(hidden)'

/** Hides a secret, and the password in an address. */
function masked(name: string, value: string): string {
  if (/SECRET|PASSWORD|PASSPHRASE/.test(name)) return MASK
  return value
    .replace(/(:\/\/[^:/?#@]*:).*@/s, `$1${MASK}@`)
    .replace(/([?&][^=&#]*password[^=&#]*=)[^&#]*/gi, `$1${MASK}`)
}

/** Variables that must be set together or not at all. */
const PAIRS = [
  ['V2_CLIENT_ID', 'V2_CLIENT_SECRET'],
  ['WEBHOOK_CLIENT_ID', 'WEBHOOK_CLIENT_SECRET'],
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
] as const

const CLIENT_MODE_ONLY = 'remove WEBHOOK_CLIENT_ID, which works only in client mode'
/** Variables of which at most one may be set, with what to do. */
const APART = [
  ['TENANTS_FILE', 'V2_CLIENT_ID', 'remove one, because each tenant has its own client id'],
  // A secret that opens nothing would hide a mistake.
  ['TENANTS_FILE', 'WEBHOOK_SECRET', 'remove WEBHOOK_SECRET, because each tenant has its own webhook_secret'],
  [
    'TENANTS_FILE',
    'WEBHOOK_SIGNING_SECRET',
    'remove WEBHOOK_SIGNING_SECRET, because each tenant has its own webhook_signing_secret',
  ],
  ['TENANTS_FILE', 'WEBHOOK_CLIENT_ID', CLIENT_MODE_ONLY],
  ['V2_CLIENT_ID', 'WEBHOOK_CLIENT_ID', CLIENT_MODE_ONLY],
] as const

/** The files that the gateway reads. */
const READ = ['TENANTS_FILE', 'LOOKUPS_FILE', 'TLS_CERT_FILE', 'TLS_KEY_FILE', 'V2_CA_FILE'] as const

/** The variables whose values are compared. */
const COMPARED = [
  ...(['STORE_URL', 'EMERGENCY_LOG_FILE', 'RECORD_FILE'] as const),
  ...(['HOST', 'PORT', 'ADMIN_HOST', 'ADMIN_PORT'] as const),
  ...(['QUOTE_MEMORY', 'BOOKING_DAYS', 'BODY_LIMIT_BYTES', 'BODIES_LIMIT_BYTES'] as const),
]
const DAY_MS = 86_400_000

/** Returns the errors of variables that contradict each other, among the set ones and the valid ones. */
function contradictions(set: Environment, valid: Partial<Config>): readonly string[] {
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT, QUOTE_MEMORY, BOOKING_DAYS, BODY_LIMIT_BYTES, BODIES_LIMIT_BYTES } = valid
  const has = (name: string) => set[name] !== undefined
  const { STORE_URL = 'memory:', EMERGENCY_LOG_FILE, RECORD_FILE } = valid
  // The gateway writes, renames and removes them.
  const written = [
    ['STORE_URL', engineOf(STORE_URL) === 'file' ? pathOf(STORE_URL) : undefined],
    ['EMERGENCY_LOG_FILE', EMERGENCY_LOG_FILE],
    ['RECORD_FILE', RECORD_FILE],
  ] as const
  const files = [...written, ...READ.map((name) => [name, set[name]] as const)]
  const isSame = (one = '', other = '') => one !== '' && resolve(one) === resolve(other)
  const hasTenants = has('TENANTS_FILE')
  const rules: readonly (readonly [isBroken: boolean, error: string])[] = [
    ...PAIRS.flatMap(([one, other]) => [
      [has(one) && !has(other), `${other} is required because ${one} is set`] as const,
      [has(other) && !has(one), `${one} is required because ${other} is set`] as const,
    ]),
    ...APART.map(
      ([one, other, remedy]) => [has(one) && has(other), `${one} and ${other} are both set; ${remedy}`] as const,
    ),
    [
      !hasTenants && has('WEBHOOK_SIGNING_SECRET') && !has('WEBHOOK_SECRET'),
      'WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set',
    ],
    [
      set['BROWNOUT_BOOKINGS'] === 'true' && !has('BROWNOUTS') && !hasTenants,
      'BROWNOUT_BOOKINGS=true has no effect without BROWNOUTS',
    ],
    ...written.flatMap(([name, path], i) =>
      files
        .slice(i + 1)
        .map(([other, its]) => [isSame(path, its), `${name} and ${other} name the same file; choose two`] as const),
    ),
    // Port 0 means any free port, or turns the admin listener off.
    [
      !!PORT && PORT === ADMIN_PORT && HOST !== undefined && ADMIN_HOST !== undefined && overlap(HOST, ADMIN_HOST),
      `PORT and ADMIN_PORT are both ${PORT}; choose different ports`,
    ],
    // Pruning deletes a quote together with its unused numbers, however long its memory is.
    [
      QUOTE_MEMORY !== undefined && BOOKING_DAYS !== undefined && QUOTE_MEMORY > BOOKING_DAYS * DAY_MS,
      `QUOTE_MEMORY is longer than BOOKING_DAYS, which is ${BOOKING_DAYS}; keep bookings at least as long as quotes`,
    ],
    [
      BODY_LIMIT_BYTES !== undefined && BODIES_LIMIT_BYTES !== undefined && BODY_LIMIT_BYTES > BODIES_LIMIT_BYTES,
      `BODIES_LIMIT_BYTES is ${BODIES_LIMIT_BYTES}, less than BODY_LIMIT_BYTES, which is ${BODY_LIMIT_BYTES}; make room for several bodies`,
    ],
  ]
  return rules.flatMap(([isBroken, error]) => (isBroken ? [error] : []))
}
