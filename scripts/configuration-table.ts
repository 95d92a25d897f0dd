import { isDeepStrictEqual } from 'node:util'
import { configNames, readConfig } from '../src/config/config.ts'
import { table } from './table.ts'

interface Documented {
  /** As an operator would write it; undefined where there is none. */
  readonly default?: string
  readonly about: string
}

/** What an operator has to know of each variable, in the order in which it matters. */
const groups: Readonly<Record<string, Readonly<Record<string, Documented>>>> = {
  'The service': {
    V2_BASE_URL: {
      about:
        'Required. The production or stage address of the service; a path prefix is kept, a closing `/v2` is understood.',
    },
    V2_QUOTE_METHOD: {
      default: 'auto',
      about:
        'How quotes are asked for: `POST` with a body, `GET` with a query, or `auto`: the first until the service says that it only knows the other.',
    },
    V2_SHIPMENT_PATH: {
      default: 'auto',
      about: 'Where shipments are: `/v2/shipments`, `/v2/shipment`, or `auto`, as above.',
    },
    V2_CLIENT_ID: {
      about: 'With `V2_CLIENT_SECRET`: the credential that goes to the service whatever the caller sent (the sidecar).',
    },
    V2_CLIENT_SECRET: { about: 'See `V2_CLIENT_ID`; the two go together.' },
    V2_TOKEN: {
      default: 'basic',
      about:
        'How the service is told who asks: `basic`; `oauth2`: the credential is exchanged for a token; `auto`: `basic` until the service asks for a token.',
    },
    V2_CA_FILE: { about: 'Certificate authorities, in PEM, that vouch for the service besides the usual ones.' },
    V2_CERT_FILE: { about: 'With `V2_KEY_FILE`: the certificate that the gateway shows to the service, in PEM.' },
    V2_KEY_FILE: { about: 'The key of that certificate, in PEM, without a passphrase.' },
    UPSTREAM_TIMEOUT_MS: {
      default: '15000',
      about: 'How long a whole call to the service may take, further readings of its included.',
    },
    UPSTREAM_CONNECTIONS: { default: '128', about: 'Connections to the service at most, for each credential.' },
  },
  'The callers': {
    TENANTS_FILE: {
      about:
        'A JSON file that says who may call, and as whom at the service; see [below](#tenants). Not with `V2_CLIENT_ID`.',
    },
    TRUST_PROXY: {
      default: 'off',
      about:
        'The networks of proxies whose `X-Forwarded-For` is believed, such as `10.0.0.0/8,192.0.2.7`; `off`: none.',
    },
  },
  'The doors': {
    HOST: { default: '0.0.0.0', about: 'Where callers are served.' },
    PORT: { default: '8080', about: 'Where callers are served; 0 is any free port.' },
    ADMIN_HOST: { default: '127.0.0.1', about: 'Where operators are served.' },
    ADMIN_PORT: {
      default: '9901',
      about: 'Where operators are served; another than `PORT`; 0 turns the admin listener off.',
    },
    TLS_CERT_FILE: {
      about:
        'With `TLS_KEY_FILE`: the certificate for `https`, in PEM; read again when it changes. Without it: plain HTTP.',
    },
    TLS_KEY_FILE: { about: 'The key of that certificate, in PEM, without a passphrase.' },
    TLS_MIN_VERSION: {
      default: '1.2',
      about: 'The oldest TLS that is spoken; `1.0` is for callers that know no better, and protects nothing.',
    },
    WORKERS: { default: '1', about: 'Processes that share the ports and the store. The limits below are for each.' },
    MAX_CONNECTIONS: { default: '10000', about: 'Connections of callers at most; one more is closed at once.' },
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
      about: 'How long calls that are under way may take to end after SIGTERM.',
    },
    LOG_LEVEL: { default: 'info', about: 'The least level that is logged, of `trace` to `fatal`, or `silent`.' },
  },
  'The legacy calls': {
    LEGACY_BASE_PATHS: { default: '/,/quotes', about: 'The prefixes under which the legacy paths are served.' },
    BODY_LIMIT_BYTES: {
      default: '262144',
      about: 'The largest body that is read, after inflation; a larger one is 413.',
    },
    ERROR_STATUS: {
      default: 'as-is',
      about: '`ok` sends every error on a legacy path with status 200, for callers that read nothing else.',
    },
    SUNSET: { about: 'When the legacy paths will end, as an ISO 8601 date: sent as a `Sunset` header (RFC 8594).' },
    MIGRATION_GUIDE_URL: { about: 'Where callers can read how to move on: sent as a `Link` header.' },
  },
  'The translation': {
    DEFAULT_TRANSPORT_TYPE: { default: 'open', about: 'For calls that do not say how the vehicle travels.' },
    DEFAULT_VEHICLE_TYPE: { default: 'car', about: 'For quotes that do not say, in words that are known, what it is.' },
    SHIPMENT_NUMBER: {
      default: 'caller',
      about:
        "Whose number replies carry: `caller`: the caller's own where it has one; `service`: always the service's.",
    },
    SEND_QUOTE_ID: { default: 'false', about: '`true` sends the id of a remembered quote along with its booking.' },
    LOOKUPS_FILE: { about: 'A JSON file with more vehicle types and `ActionName`s; see [below](#lookups).' },
    MAPPINGS_DIR: {
      about: 'A folder of mapping modules of your own; see [Writing a mapping](writing-a-mapping.md).',
    },
  },
  'What is kept': {
    STORE_URL: {
      default: 'sqlite:./data/transload.db',
      about:
        'A path for the embedded store, `postgres://…` for several gateways, or `memory:`, which forgets and serves one process alone.',
    },
    STORE_CACHE_BYTES: {
      default: '16777216',
      about: 'How much memory the look-ups of each process may be kept in.',
    },
    QUOTE_MEMORY: { default: '90d', about: "How long a quote's facts help a later booking." },
    DEDUPE_WINDOW: {
      default: '10m',
      about: 'How long two bookings without a reference and with the same fields count as one.',
    },
    BOOKING_REFUSED_STATUSES: {
      default: '4xx,503',
      about: 'Which statuses of the service prove that nothing was booked, so that the booking may be sent again.',
    },
    EMERGENCY_LOG_FILE: {
      default: './data/emergency.ndjson',
      about: 'Where a booking that was made goes when the store cannot take it; read again by itself.',
    },
  },
}

/** Every environment variable; throws where this table and the configuration differ. */
export function configurationTables(): string {
  const documented = Object.assign({}, ...Object.values(groups)) as Readonly<Record<string, Documented>>
  const missing = configNames.filter((name) => !Object.hasOwn(documented, name))
  const invented = Object.keys(documented).filter((name) => !configNames.includes(name))
  const wrong = Object.entries(documented).flatMap(([name, { default: text }]) => wrongDefault(name, text))
  const mistakes = [
    ...missing.map((name) => `${name} is not documented`),
    ...invented.map((name) => `${name} is documented and does not exist`),
    ...wrong,
  ]
  if (mistakes.length > 0) throw new Error(`scripts/configuration-table.ts: ${mistakes.join('; ')}`)

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

/** A documented default is one that changes nothing when it is written out. */
function wrongDefault(name: string, text: string | undefined): string[] {
  if (Object.hasOwn(REQUIRED, name)) return []
  const unset: Readonly<Record<string, unknown>> = readConfig(REQUIRED)
  const set: Readonly<Record<string, unknown>> = text === undefined ? {} : readConfig({ ...REQUIRED, [name]: text })
  return isDeepStrictEqual(comparable(unset[name]), comparable(set[name])) ? [] : [`the default of ${name} is wrong`]
}

const STATUSES = Array.from({ length: 500 }, (_, i) => 100 + i)

/** A set of statuses is a function, which can be compared only by what it answers. */
function comparable(value: unknown): unknown {
  return typeof value === 'function' ? STATUSES.map((status) => value(status)) : value
}
