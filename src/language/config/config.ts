import { z } from 'zod'
import { certificateErrors } from './certificates.ts'
import { ConfigErrors } from './errors.ts'
import { lookupsFile } from './lookups.ts'
import {
  allowedHosts,
  basePaths,
  brownouts,
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

/** Where the store is if nothing says otherwise. */
export const DEFAULT_STORE = 'sqlite:./data/transload.db'

/** Every variable by the heading under which the documentation has it, with its default as an operator writes it. */
export const sections = {
  'The service': {
    V2_BASE_URL: z
      .string('is required: set it to the address of the service')
      .pipe(serviceAddress)
      .describe(
        'Required. The production or stage address of the service; a path prefix is kept; a `/v2` at the end makes no difference.',
      ),
    V2_QUOTE_METHOD: word('auto', 'POST', 'GET')
      .default('auto')
      .describe(
        'The method for quotes: `POST` with a body, `GET` with a query, or `auto`: `POST` until the service accepts only `GET`.',
      ),
    V2_SHIPMENT_PATH: word('auto', '/v2/shipments', '/v2/shipment')
      .default('auto')
      .describe(
        'The path of shipments: `/v2/shipments`, `/v2/shipment`, or `auto`: the first until the service accepts only the second.',
      ),
    V2_CLIENT_ID: z
      .string()
      .optional()
      .describe(
        'With `V2_CLIENT_SECRET`: the credential for all calls to the service; credentials of callers are ignored (fixed mode, for a sidecar).',
      ),
    V2_CLIENT_SECRET: z.string().optional().describe('The secret of `V2_CLIENT_ID`.'),
    V2_TOKEN: word('basic', 'oauth2', 'auto')
      .default('basic')
      .describe(
        'The authentication at the service: `basic`; `oauth2`: it exchanges the credential for a token; `auto`: `basic` until the service asks for a token.',
      ),
    V2_CA_FILE: file.optional().describe('More certificate authorities to trust for the service, in PEM.'),
    UPSTREAM_TIMEOUT_MS: milliseconds
      .prefault('15000')
      .describe('The time limit of a call, with all its requests to the service.'),
    UPSTREAM_CONNECTIONS: wholeNumber(1, 65_535)
      .prefault('128')
      .describe('The most connections to the service, for each credential.'),
  },
  'The callers': {
    TENANTS_FILE: z
      .string()
      .optional()
      .describe(
        'A JSON file of the callers and their credentials at the service (tenants mode); see [below](#tenants). Not with `V2_CLIENT_ID`.',
      ),
    TRUST_PROXY: networks
      .prefault('off')
      .describe(
        'The networks of proxies whose `X-Forwarded-For` is trusted, such as `10.0.0.0/8,192.0.2.7`; `off`: none.',
      ),
  },
  'The listeners': {
    HOST: host.default('0.0.0.0').describe('The address of the public listener.'),
    PORT: port.prefault('8080').describe('The port of the public listener; 0 is any free port.'),
    ADMIN_HOST: host.default('127.0.0.1').describe('The address of the admin listener.'),
    ADMIN_PORT: port
      .prefault('9901')
      .describe('The port of the admin listener, different from `PORT`; 0 turns it off.'),
    TLS_CERT_FILE: file
      .optional()
      .describe(
        'With `TLS_KEY_FILE`: the certificate of the public listener, in PEM; read again when it changes. Without it: plain HTTP.',
      ),
    TLS_KEY_FILE: file.optional().describe('The key of that certificate, in PEM, without a passphrase.'),
    TLS_MIN_VERSION: word('1.0', '1.1', '1.2', '1.3')
      .default('1.2')
      .describe('The oldest accepted version of TLS; `1.0` and `1.1` are for old callers, and are insecure.'),
    MAX_CONNECTIONS: wholeNumber(1, 1_000_000)
      .prefault('10000')
      .describe('The most connections of callers; one more is closed at once.'),
    SOURCE_CONNECTIONS: wholeNumber(1, 1_000_000)
      .prefault('256')
      .describe(
        'The most connections of one address (of IPv6: one /64 network). Name proxies in `TRUST_PROXY`: the limit then applies to the concurrent requests of each of their callers.',
      ),
    MAX_IN_FLIGHT: wholeNumber(1, 1_000_000)
      .prefault('1024')
      .describe(
        'The most calls under way; one more is answered 503 at once. A call is under way once its body has arrived.',
      ),
    SOURCE_IN_FLIGHT: wholeNumber(1, 1_000_000)
      .optional()
      .describe(
        'The most calls under way of one address (of IPv6: one /64 network); one more is 429. Without it: a quarter of `MAX_IN_FLIGHT`.',
      ),
    BODIES_LIMIT_BYTES: wholeNumber(1, 1_099_511_627_776)
      .prefault('67108864')
      .describe(
        'The most memory for all bodies that are being received or processed, at least `BODY_LIMIT_BYTES`; more is 503. One address may use a quarter of it; more is 429.',
      ),
    ALLOWED_HOSTS: allowedHosts
      .optional()
      .describe(
        'More host names under which callers may reach the admin listener, or a gateway that requires no credential, such as `gateway.internal`. For browsers behind a proxy that terminates TLS: whole origins such as `https://gateway.example.com`.',
      ),
    SHUTDOWN_GRACE_MS: milliseconds
      .prefault('30000')
      .describe('The time in which calls under way may finish after SIGTERM.'),
    LOG_FORMAT: word('auto', 'json', 'lines')
      .default('auto')
      .describe('`json`, `lines` for people, or `auto`: lines on a terminal, else JSON.'),
    LOG_LEVEL: word('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')
      .default('info')
      .describe(
        'The lowest level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal`, or `silent` for none.',
      ),
    RECORD_FILE: newFile
      .optional()
      .describe(
        'A file for version-1 calls and their replies, as [JSON lines](migration.md#rehearse-recorded-traffic); at 128 MiB it becomes `FILE.1`. Without it, nothing is recorded.',
      ),
    RECORD_VALUES: word('masked', 'plain')
      .default('masked')
      .describe(
        '`masked` records values of the same shape instead of those that were sent, equal ones for equal ones within a file; `plain` records them as they are.',
      ),
    LOG_ADDRESSES: word('all', 'refused', 'none')
      .default('all')
      .describe(
        'Which lines have the source address of the call: `all`, `refused` (only those of a missing or refused credential), or `none`.',
      ),
  },
  'The legacy calls': {
    LEGACY_BASE_PATHS: basePaths
      .prefault('/,/quotes')
      .describe('The prefixes under which the legacy paths are served; not `/v2` or `/dry-run`, nor below these.'),
    BODY_LIMIT_BYTES: wholeNumber(1, 1_073_741_824)
      .prefault('262144')
      .describe('The largest body that is read, after inflation; a larger one is 413.'),
    ERROR_STATUS: word('ok', 'as-is')
      .default('as-is')
      .describe('`ok` sends every error on a legacy path with status 200, for callers that read no other replies.'),
    SUPPORT_CONTACT: supportContact
      .optional()
      .describe('Whom a caller should ask, such as `help@example.com`; stands in the messages that ask for a person.'),
    SUNSET: sunset
      .optional()
      .describe('The ISO 8601 date on which the legacy paths end, sent as a `Sunset` header (RFC 8594).'),
    RETIRED_FROM: sunset
      .optional()
      .describe(
        'The ISO 8601 date or time from which every call on a legacy path is 410; see [The end](migration.md#the-end).',
      ),
    WORKBENCH: word('on', 'off')
      .default('on')
      .describe('`off` takes away the pages for visitors: the workbench at `/`, `/reference` and `/guide`.'),
    MIGRATION_GUIDE_URL: webAddress
      .optional()
      .describe(
        'The address of a migration guide for callers, sent as a `Link` header. The gateway has one at `/guide`, but does not know its own public address.',
      ),
    BROWNOUTS: brownouts
      .optional()
      .describe(
        'When legacy calls are refused as a rehearsal: windows such as `2027-01-12T15:00Z/1h` and ladders such as `2027-01-12T09:00[America/New_York]/ladder`, separated by commas; see [Brownouts](migration.md#brownouts).',
      ),
    BROWNOUT_BOOKINGS: yesOrNo
      .prefault('false')
      .describe('`true` refuses new bookings and approvals in a brownout, too.'),
  },
  'The translation': {
    DEFAULT_TRANSPORT_TYPE: version2Word.default('open').describe('The transport type of calls that state none.'),
    DEFAULT_VEHICLE_TYPE: version2Word.default('car').describe('The vehicle type of quotes that state no known one.'),
    SHIPMENT_NUMBER: word('caller', 'service')
      .default('caller')
      .describe("The number in replies. `caller`: the caller's own, if it sent one; `service`: always the service's."),
    SEND_QUOTE_ID: yesOrNo
      .prefault('false')
      .describe('`true` sends the id of the remembered quote with every booking; after an approval it is always sent.'),
    APPROVAL_BOOKS: word('auto', 'no')
      .default('auto')
      .describe(
        'For services that make a shipment of an approved quote. `auto`: before it books such a quote, the gateway asks the service for that shipment; `no`: it never asks.',
      ),
    LOOKUPS_FILE: lookupsFile
      .optional()
      .describe('A JSON file with more vehicle types and `ActionName`s; see [below](#lookups).'),
    MAPPINGS_DIR: z
      .string()
      .optional()
      .describe('A folder of mapping modules of your own; see [Writing a mapping](writing-a-mapping.md).'),
  },
  'The store': {
    STORE_URL: storeAddress
      .prefault('sqlite:./data/transload.db')
      .describe(
        'A path for the embedded store, `postgres://…` for several gateways, or `memory:` for tests (one process; everything is lost at its end); see [below](#address-of-the-store).',
      ),
    QUOTE_MEMORY: duration
      .prefault('90d')
      .describe('The time in which the facts of a quote are used for a later booking.'),
    DEDUPE_WINDOW: duration
      .prefault('10m')
      .describe('The time in which two bookings without a reference and with equal fields count as one.'),
    REPLAY_CHECK_AFTER: duration
      .prefault('10m')
      .describe(
        'How old a booking may be before its shipment is read when the booking is repeated; one that is canceled is then booked again.',
      ),
    BOOKING_DAYS: days(3_650)
      .prefault('400')
      .describe(
        'How many days finished bookings and unused numbers are kept; see [Old data](operations.md#old-data). At least as long as `QUOTE_MEMORY`.',
      ),
    BOOKING_REFUSED_STATUSES: statuses
      .prefault('4xx,503')
      .describe('Statuses of the service that prove that nothing was booked: the booking may be sent again.'),
    EMERGENCY_LOG_FILE: newFile
      .transform((path) => (path === 'off' ? undefined : path))
      .default('./data/emergency.ndjson')
      .describe(
        'A file for bookings that were made while the store could not record them; the gateway reads it back by itself. Beside it, a gateway keeps which store it used last; see [A changed store](operations.md#a-changed-store). `off`: neither.',
      ),
  },
  'Events of the service': {
    WEBHOOK_SECRET: pathSecrets
      .optional()
      .describe(
        'Opens `POST /webhooks/<secret>` for the events of the service, in client and fixed mode: 16 to 256 letters, digits, dots, dashes, underscores or tildes. Several, separated by commas, allow a change-over. With `TENANTS_FILE`, each tenant has its own.',
      ),
    WEBHOOK_SIGNING_SECRET: signingKeys
      .optional()
      .describe(
        'The `whsec_…` secret with which the service signs its events (Standard Webhooks); events without a valid signature are then refused. Several, separated by commas, allow a change-over.',
      ),
    WEBHOOK_CLIENT_ID: z
      .string()
      .optional()
      .describe(
        'With `WEBHOOK_CLIENT_SECRET`, in client mode: the credential with which the gateway reads the shipments of events and of unknown bookings. Without it, events are recorded only.',
      ),
    WEBHOOK_CLIENT_SECRET: z.string().optional().describe('The secret of `WEBHOOK_CLIENT_ID`.'),
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

/** Keeps, in a configuration and its copies, the variables that it was read from. */
const GIVEN = Symbol('variables')

/** The variables of a configuration with the texts they are set to. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The names of all variables. */
export const configNames = Object.keys(schema.shape)

/** Options of reading the configuration. */
interface ConfigOptions {
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
    ...contradictions(set, validVariables(set, COMPARED)),
    ...(certificates ? certificateErrors(set) : []),
  ]
  if (!parsed.success || errors.length > 0) throw new ConfigErrors(errors)
  return Object.freeze({ ...parsed.data, [GIVEN]: set })
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

/** A variable as it is in effect. */
export interface EffectiveVariable {
  readonly name: string
  /** As an operator writes it, without secrets; undefined if the variable is not set and has no default. */
  readonly value: string | undefined
  readonly from: 'environment' | 'default' | 'nowhere'
}

/** Returns every variable of the configuration with its value and where that is from; secrets are masked. */
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

/** Returns every variable with its text and its default. */
export const configTexts = (): readonly {
  readonly name: string
  readonly text: string
  readonly value: string | undefined
}[] =>
  Object.entries(schema.shape).map(([name, type]) => ({ name, text: type.description ?? '', value: defaultOf(type) }))

/** Returns the default of a variable, as an operator writes it. */
export function defaultOf(type: z.ZodType): string | undefined {
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

/** Variables that are set together or not at all. */
const PAIRS = [
  ['V2_CLIENT_ID', 'V2_CLIENT_SECRET'],
  ['WEBHOOK_CLIENT_ID', 'WEBHOOK_CLIENT_SECRET'],
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
] as const

/** The variables whose values are compared. */
const COMPARED = [
  ...(['HOST', 'PORT', 'ADMIN_HOST', 'ADMIN_PORT'] as const),
  ...(['QUOTE_MEMORY', 'BOOKING_DAYS', 'BODY_LIMIT_BYTES', 'BODIES_LIMIT_BYTES'] as const),
]
const DAY_MS = 86_400_000

/** Returns the errors of variables that contradict each other, of those that are set and those that are valid. */
function contradictions(set: Environment, valid: Partial<Config>): readonly string[] {
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT, QUOTE_MEMORY, BOOKING_DAYS, BODY_LIMIT_BYTES, BODIES_LIMIT_BYTES } = valid
  const has = (name: string) => set[name] !== undefined
  const hasTenants = has('TENANTS_FILE')
  const twoModes =
    'TENANTS_FILE and V2_CLIENT_ID are both set; remove one, because each tenant has a client id of its own'
  const ofTenants = (name: string, key: string) =>
    `TENANTS_FILE and ${name} are both set; remove ${name}, because each tenant has a ${key} of its own`
  const ofClients = (mode: string) =>
    `${mode} and WEBHOOK_CLIENT_ID are both set; remove WEBHOOK_CLIENT_ID, which serves client mode only`
  const rules: readonly (readonly [isBroken: boolean, error: string])[] = [
    ...PAIRS.flatMap(([one, other]) => [
      [has(one) && !has(other), `${other} is required because ${one} is set`] as const,
      [has(other) && !has(one), `${one} is required because ${other} is set`] as const,
    ]),
    [hasTenants && has('V2_CLIENT_ID'), twoModes],
    // A secret that opens nothing would hide a mistake.
    [hasTenants && has('WEBHOOK_SECRET'), ofTenants('WEBHOOK_SECRET', 'webhook_secret')],
    [hasTenants && has('WEBHOOK_SIGNING_SECRET'), ofTenants('WEBHOOK_SIGNING_SECRET', 'webhook_signing_secret')],
    [hasTenants && has('WEBHOOK_CLIENT_ID'), ofClients('TENANTS_FILE')],
    [has('V2_CLIENT_ID') && has('WEBHOOK_CLIENT_ID'), ofClients('V2_CLIENT_ID')],
    [
      !hasTenants && has('WEBHOOK_SIGNING_SECRET') && !has('WEBHOOK_SECRET'),
      'WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set',
    ],
    [
      set['BROWNOUT_BOOKINGS'] === 'true' && !has('BROWNOUTS') && !hasTenants,
      'BROWNOUT_BOOKINGS=true has no effect without BROWNOUTS',
    ],
    // A port of 0 is any free one, or turns the admin listener off.
    [
      !!PORT && PORT === ADMIN_PORT && HOST !== undefined && ADMIN_HOST !== undefined && overlap(HOST, ADMIN_HOST),
      `PORT and ADMIN_PORT are both ${PORT}; choose different ports`,
    ],
    // Pruning deletes a quote with its unused numbers, however long its memory is configured.
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
