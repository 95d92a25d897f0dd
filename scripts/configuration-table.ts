import { isDeepStrictEqual } from 'node:util'
import { configNames, readConfig } from '../src/config/config.ts'
import { table } from './table.ts'

interface Documented {
  /** As an operator writes it. */
  readonly default?: string
  readonly about: string
}

/** The description of each variable, in the order of the page. */
const groups: Readonly<Record<string, Readonly<Record<string, Documented>>>> = {
  'The service': {
    V2_BASE_URL: {
      about:
        'Required. The production or stage address of the service; a path prefix is kept, a closing `/v2` is understood.',
    },
    V2_QUOTE_METHOD: {
      default: 'auto',
      about:
        'How the gateway asks for quotes: `POST` with a body, `GET` with a query, or `auto`: `POST` until the service accepts only `GET`.',
    },
    V2_SHIPMENT_PATH: {
      default: 'auto',
      about:
        'The path of shipments: `/v2/shipments`, `/v2/shipment`, or `auto`: the first until the service accepts only the second.',
    },
    V2_CLIENT_ID: {
      about:
        'With `V2_CLIENT_SECRET`: the credential for all calls to the service, whatever the caller sent (fixed mode, for a sidecar).',
    },
    V2_CLIENT_SECRET: { about: 'The secret of `V2_CLIENT_ID`.' },
    V2_TOKEN: {
      default: 'basic',
      about:
        'How the gateway authenticates at the service: `basic`; `oauth2`: it exchanges the credential for a token; `auto`: `basic` until the service asks for a token.',
    },
    V2_CA_FILE: { about: 'More certificate authorities to trust for the service, in PEM.' },
    V2_CERT_FILE: { about: 'With `V2_KEY_FILE`: the client certificate of the gateway at the service, in PEM.' },
    V2_KEY_FILE: { about: 'The key of that certificate, in PEM, without a passphrase.' },
    UPSTREAM_TIMEOUT_MS: {
      default: '15000',
      about: 'The time limit of a call, with all its requests to the service.',
    },
    UPSTREAM_CONNECTIONS: { default: '128', about: 'The most connections to the service, for each credential.' },
  },
  'The callers': {
    TENANTS_FILE: {
      about:
        'A JSON file of the callers and their credentials at the service (tenants mode); see [below](#tenants). Not with `V2_CLIENT_ID`.',
    },
    TRUST_PROXY: {
      default: 'off',
      about: 'The networks of proxies whose `X-Forwarded-For` is trusted, such as `10.0.0.0/8,192.0.2.7`; `off`: none.',
    },
  },
  'The listeners': {
    HOST: { default: '0.0.0.0', about: 'The address of the public listener.' },
    PORT: { default: '8080', about: 'The port of the public listener; 0 is any free port.' },
    ADMIN_HOST: { default: '127.0.0.1', about: 'The address of the admin listener.' },
    ADMIN_PORT: {
      default: '9901',
      about: 'The port of the admin listener, different from `PORT`; 0 turns it off.',
    },
    TLS_CERT_FILE: {
      about:
        'With `TLS_KEY_FILE`: the certificate of the public listener, in PEM; read again when it changes. Without it: plain HTTP.',
    },
    TLS_KEY_FILE: { about: 'The key of that certificate, in PEM, without a passphrase.' },
    TLS_MIN_VERSION: {
      default: '1.2',
      about: 'The oldest accepted version of TLS; `1.0` and `1.1` are for old callers, and do not protect.',
    },
    WORKERS: {
      default: '1',
      about: 'Processes that share the ports and the store. The limits below are for each of them.',
    },
    MAX_CONNECTIONS: { default: '10000', about: 'The most connections of callers; one more is closed at once.' },
    SOURCE_CONNECTIONS: {
      default: '256',
      about:
        'Connections of one address (of IPv6: one /64 network) at most. Name proxies in `TRUST_PROXY`: their callers then count, each with so many requests at once.',
    },
    SOURCE_CALLS_PER_SECOND: {
      about:
        'Calls per second of one address (of IPv6: one /64 network) at most; one more is 429. Without it: no limit.',
    },
    MAX_IN_FLIGHT: {
      default: '1024',
      about:
        'Calls under way at most; one more is answered 503 at once. A call is under way once its body has arrived.',
    },
    SOURCE_IN_FLIGHT: {
      about:
        'Calls under way of one address (of IPv6: one /64 network) at most; one more is 429. Without it: a quarter of `MAX_IN_FLIGHT`.',
    },
    BODIES_LIMIT_BYTES: {
      default: '67108864',
      about:
        'How much memory the bodies that are received or worked on may take together; more is 503. One address may take a quarter of it; more is 429.',
    },
    ALLOWED_HOSTS: {
      about:
        'More names by which a gateway that asks for no credential, or its admin listener, may be reached, such as `gateway.internal`; for browsers behind a proxy that speaks TLS, whole origins such as `https://gateway.example.com`.',
    },
    SHUTDOWN_GRACE_MS: {
      default: '30000',
      about: 'How long calls under way may take after SIGTERM.',
    },
    LOG_LEVEL: {
      default: 'info',
      about:
        'The lowest level that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal`, or `silent` for none.',
    },
    LOG_ADDRESSES: {
      default: 'all',
      about:
        'Which lines have the source address of the call: `all`, `refused` (only those of a missing or refused credential), or `none`.',
    },
    LOG_USER_AGENTS: { default: 'true', about: '`false` leaves the `User-Agent` of calls out of the log.' },
  },
  'The legacy calls': {
    LEGACY_BASE_PATHS: { default: '/,/quotes', about: 'The prefixes under which the legacy paths are served.' },
    BODY_LIMIT_BYTES: {
      default: '262144',
      about: 'The largest body that is read, after inflation; a larger one is 413.',
    },
    ERROR_STATUS: {
      default: 'as-is',
      about: '`ok` sends every error on a legacy path with status 200, for callers that read no other replies.',
    },
    SUNSET: { about: 'The ISO 8601 date on which the legacy paths end, sent as a `Sunset` header (RFC 8594).' },
    MIGRATION_GUIDE_URL: { about: 'The address of a migration guide for callers, sent as a `Link` header.' },
    BROWNOUTS: {
      about:
        'When legacy calls are refused as a rehearsal: windows such as `2027-01-12T15:00Z/1h` and ladders such as `2027-01-12T09:00[America/New_York]/ladder`, separated by commas; see [Operations](operations.md#brownouts).',
    },
    BROWNOUT_BOOKINGS: { default: 'false', about: '`true` refuses new bookings and approvals in a brownout, too.' },
  },
  'The translation': {
    DEFAULT_TRANSPORT_TYPE: { default: 'open', about: 'The transport type of calls that state none.' },
    DEFAULT_VEHICLE_TYPE: { default: 'car', about: 'The vehicle type of quotes that state none that is known.' },
    SHIPMENT_NUMBER: {
      default: 'caller',
      about: "The number in replies: `caller`: the caller's own where it has one; `service`: always the service's.",
    },
    SEND_QUOTE_ID: { default: 'false', about: '`true` sends the id of the remembered quote with a booking.' },
    APPROVAL_BOOKS: {
      default: 'auto',
      about:
        'Whether the service makes an approved quote a shipment. `auto`: the gateway asks for that shipment before it books the quote; `no`: it never asks.',
    },
    LOOKUPS_FILE: { about: 'A JSON file with more vehicle types and `ActionName`s; see [below](#lookups).' },
    MAPPINGS_DIR: {
      about: 'A folder of mapping modules of your own; see [Writing a mapping](writing-a-mapping.md).',
    },
  },
  'The store': {
    STORE_URL: {
      default: 'sqlite:./data/transload.db',
      about:
        'A path for the embedded store, `postgres://…` for several gateways, or `memory:` for tests (one process; everything is lost at its end).',
    },
    STORE_CACHE_BYTES: {
      default: '16777216',
      about: 'The size of the cache of look-ups, for each process.',
    },
    QUOTE_MEMORY: { default: '90d', about: "How long a quote's facts are used for a later booking." },
    DEDUPE_WINDOW: {
      default: '10m',
      about: 'How long two bookings without a reference and with equal fields count as one.',
    },
    BOOKING_REFUSED_STATUSES: {
      default: '4xx,503',
      about: 'Statuses of the service that prove that nothing was booked: the booking may be sent again.',
    },
    EMERGENCY_LOG_FILE: {
      default: './data/emergency.ndjson',
      about:
        'A file for bookings that were made while the store could not record them; the gateway reads it back by itself.',
    },
  },
}

/** Returns tables of all environment variables; throws where they differ from the configuration. */
export function configurationTables(): string {
  const documented = Object.assign({}, ...Object.values(groups)) as Readonly<Record<string, Documented>>
  const missing = configNames.filter((name) => !Object.hasOwn(documented, name))
  const invented = Object.keys(documented).filter((name) => !configNames.includes(name))
  const wrong = Object.entries(documented).flatMap(([name, { default: text }]) => wrongDefault(name, text))
  const errors = [
    ...missing.map((name) => `${name} is not documented`),
    ...invented.map((name) => `${name} is documented and does not exist`),
    ...wrong,
  ]
  if (errors.length > 0) throw new Error(`scripts/configuration-table.ts: ${errors.join('; ')}`)

  return Object.entries(groups)
    .map(([title, variables]) => {
      const rows = Object.entries(variables).map(([name, { default: text, about }]) => [
        `\`${name}\``,
        text === undefined ? '' : `\`${text}\``,
        about,
      ])
      return `### ${title}\n\n${table(['Name', 'Default', ''], rows)}`
    })
    .join('\n')
}

const REQUIRED = { V2_BASE_URL: 'https://service.example.com' }

/** Checks that setting a variable to its documented default changes nothing. */
function wrongDefault(name: string, text: string | undefined): string[] {
  if (Object.hasOwn(REQUIRED, name)) return []
  const unset: Readonly<Record<string, unknown>> = readConfig(REQUIRED)
  const set: Readonly<Record<string, unknown>> = text === undefined ? {} : readConfig({ ...REQUIRED, [name]: text })
  return isDeepStrictEqual(comparable(unset[name]), comparable(set[name])) ? [] : [`the default of ${name} is wrong`]
}

const STATUSES = Array.from({ length: 500 }, (_, i) => 100 + i)

/** Makes values comparable: a set of statuses is a function, and is compared by its results. */
function comparable(value: unknown): unknown {
  return typeof value === 'function' ? STATUSES.map((status) => value(status)) : value
}
