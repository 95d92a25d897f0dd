/** A variable as the page describes it. */
export interface Documented {
  /** As an operator writes it. */
  readonly default?: string
  readonly about: string
}

/** The environment variables, in the order of the page. */
export const variables: Readonly<Record<string, Readonly<Record<string, Documented>>>> = {
  'The service': {
    V2_BASE_URL: {
      about:
        'Required. The production or stage address of the service; a path prefix is kept; a `/v2` at the end makes no difference.',
    },
    V2_QUOTE_METHOD: {
      default: 'auto',
      about:
        'The method for quotes: `POST` with a body, `GET` with a query, or `auto`: `POST` until the service accepts only `GET`.',
    },
    V2_SHIPMENT_PATH: {
      default: 'auto',
      about:
        'The path of shipments: `/v2/shipments`, `/v2/shipment`, or `auto`: the first until the service accepts only the second.',
    },
    V2_CLIENT_ID: {
      about:
        'With `V2_CLIENT_SECRET`: the credential for all calls to the service; credentials of callers are ignored (fixed mode, for a sidecar).',
    },
    V2_CLIENT_SECRET: { about: 'The secret of `V2_CLIENT_ID`.' },
    V2_TOKEN: {
      default: 'basic',
      about:
        'The authentication at the service: `basic`; `oauth2`: it exchanges the credential for a token; `auto`: `basic` until the service asks for a token.',
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
      about: 'The oldest accepted version of TLS; `1.0` and `1.1` are for old callers, and are insecure.',
    },
    WORKERS: {
      default: '1',
      about: 'Processes that share the ports and the store. The limits below are for each of them.',
    },
    MAX_CONNECTIONS: { default: '10000', about: 'The most connections of callers; one more is closed at once.' },
    SOURCE_CONNECTIONS: {
      default: '256',
      about:
        'The most connections of one address (of IPv6: one /64 network). Name proxies in `TRUST_PROXY`: the limit then applies to the concurrent requests of each of their callers.',
    },
    SOURCE_CALLS_PER_SECOND: {
      about:
        'The most calls per second of one address (of IPv6: one /64 network); one more is 429. Without it: no limit.',
    },
    MAX_IN_FLIGHT: {
      default: '1024',
      about:
        'The most calls under way; one more is answered 503 at once. A call is under way once its body has arrived.',
    },
    SOURCE_IN_FLIGHT: {
      about:
        'The most calls under way of one address (of IPv6: one /64 network); one more is 429. Without it: a quarter of `MAX_IN_FLIGHT`.',
    },
    BODIES_LIMIT_BYTES: {
      default: '67108864',
      about:
        'The most memory for all bodies that are being received or processed, at least `BODY_LIMIT_BYTES`; more is 503. One address may use a quarter of it; more is 429.',
    },
    ALLOWED_HOSTS: {
      about:
        'More host names under which callers may reach the admin listener, or a gateway that requires no credential, such as `gateway.internal`. For browsers behind a proxy that terminates TLS: whole origins such as `https://gateway.example.com`.',
    },
    SHUTDOWN_GRACE_MS: {
      default: '30000',
      about: 'The time in which calls under way may finish after SIGTERM.',
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
    LEGACY_BASE_PATHS: {
      default: '/,/quotes',
      about: 'The prefixes under which the legacy paths are served; not `/v2` or `/dry-run`, nor below these.',
    },
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
    DEFAULT_VEHICLE_TYPE: { default: 'car', about: 'The vehicle type of quotes that state no known one.' },
    SHIPMENT_NUMBER: {
      default: 'caller',
      about: "The number in replies. `caller`: the caller's own, if it sent one; `service`: always the service's.",
    },
    SEND_QUOTE_ID: { default: 'false', about: '`true` sends the id of the remembered quote with a booking.' },
    APPROVAL_BOOKS: {
      default: 'auto',
      about:
        'For services that make a shipment of an approved quote. `auto`: before it books such a quote, the gateway asks the service for that shipment; `no`: it never asks.',
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
        'A path for the embedded store, `postgres://…` for several gateways (several servers are separated by commas), or `memory:` for tests (one process; everything is lost at its end); see [below](#address-of-the-store).',
    },
    STORE_CONNECTIONS: {
      default: '10',
      about:
        'The most connections to PostgreSQL, for each process, besides one that stays open; see [Sizing](sizing.md#connections).',
    },
    QUOTE_MEMORY: { default: '90d', about: 'The time in which the facts of a quote are used for a later booking.' },
    DEDUPE_WINDOW: {
      default: '10m',
      about: 'The time in which two bookings without a reference and with equal fields count as one.',
    },
    BOOKING_DAYS: {
      default: '400',
      about:
        'How many days finished bookings and unused numbers are kept; see [Old data](operations.md#old-data). At least as long as `QUOTE_MEMORY`.',
    },
    SCOREBOARD_DAYS: {
      default: '400d',
      about: 'How long the counts of calls are kept: see [See the migration](operations.md#see-the-migration).',
    },
    QUIET_DAYS: {
      default: '30d',
      about: 'How long a caller sends no version-1 call before version 1 is safe to switch off for it.',
    },
    BOOKING_REFUSED_STATUSES: {
      default: '4xx,503',
      about: 'Statuses of the service that prove that nothing was booked: the booking may be sent again.',
    },
    WEBHOOK_DAYS: {
      default: '30',
      about:
        'How many days events are kept once they are delivered, skipped or recorded only. Others are kept until then.',
    },
    EMERGENCY_LOG_FILE: {
      default: './data/emergency.ndjson',
      about:
        'A file for bookings that were made while the store could not record them; the gateway reads it back by itself.',
    },
  },
  'Events of the service': {
    WEBHOOK_SECRET: {
      about:
        'Opens `POST /webhooks/<secret>` for the events of the service, in client and fixed mode: 16 to 256 letters, digits, dots, dashes, underscores or tildes. Several, separated by commas, allow a change-over. With `TENANTS_FILE`, each tenant has its own.',
    },
    WEBHOOK_SIGNING_SECRET: {
      about:
        'The `whsec_…` secret with which the service signs its events (Standard Webhooks); events without a valid signature are then refused. Several, separated by commas, allow a change-over.',
    },
    WEBHOOK_CLIENT_ID: {
      about:
        'With `WEBHOOK_CLIENT_SECRET`, in client mode: the credential with which the gateway reads the shipments of events and of unknown bookings. Without it, events are recorded only.',
    },
    WEBHOOK_CLIENT_SECRET: { about: 'The secret of `WEBHOOK_CLIENT_ID`.' },
    SWEEP_INTERVAL: {
      default: '10m',
      about: 'The pause between two searches for the shipments of unknown bookings, from `1s` to `1d`.',
    },
  },
}
