import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { isNetwork, plainNetwork } from '../networks.ts'
import { repeated } from '../text/nearest.ts'
import type { SigningKey } from '../webhook-signature.ts'
import { ConfigErrors } from './errors.ts'
import { errorCodeOf, issueText, readJsonFile } from './json-file.ts'
import {
  brownouts,
  clientId,
  clientSecret,
  pathSecrets,
  serviceAddress,
  signingKeys,
  sunset,
  supportContact,
  version2Word,
  webAddress,
} from './values.ts'

/** A parsed PHC string, `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`. */
interface SecretHash {
  /** The logarithm of the number of rounds, to base 2. */
  readonly costLog2: number
  readonly block: number
  readonly parallel: number
  readonly salt: Buffer
  readonly hash: Buffer
}

const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/
/** The highest accepted cost: more expensive hashes would allow denial of service. */
const LIMITS = { costLog2: 17, block: 8, parallel: 4 } as const
const COST_BITS_PER_BLOCK = 16

/** Parses a hash; undefined if the text is not a hash, or its check would fail or cost too much. */
export function parseSecretHash(text: string): SecretHash | undefined {
  const [, cost = '0', blocks = '0', lanes = '0', salt = '', hash = ''] = FORM.exec(text) ?? []
  const [costLog2, block, parallel] = [Number(cost), Number(blocks), Number(lanes)]
  // With small blocks, scrypt allows fewer rounds (RFC 7914, section 2).
  const mostCost = Math.min(LIMITS.costLog2, COST_BITS_PER_BLOCK * block - 1)
  const isBearable =
    isBetween(costLog2, mostCost) && isBetween(block, LIMITS.block) && isBetween(parallel, LIMITS.parallel)
  if (!isBearable) return undefined
  return { costLog2, block, parallel, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
}

const isBetween = (value: number, most: number) => value >= 1 && value <= most

/** Where to find a secret: the tenants file itself holds none. */
const secretRef = z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })], {
  error: 'must say where the secret is, as {"env": "NAME"} or {"file": "/path"}; do not put the secret itself here',
})

type SecretRef = z.output<typeof secretRef>

/** Reads a secret if one is declared; undefined if none is, or if it cannot be read. */
function secretOf(ref: SecretRef | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const fetched = ref && fetchSecret(ref, env)
  return fetched && 'secret' in fetched ? fetched.secret : undefined
}

/** Reads a secret from the place that the file names, or returns the error. */
function fetchSecret(ref: SecretRef, env: NodeJS.ProcessEnv): { readonly secret: string } | { readonly error: string } {
  if ('env' in ref) {
    const secret = env[ref.env]
    return secret ? { secret } : { error: `the environment variable ${shown(ref.env)} is not set` }
  }
  try {
    // Windows editors begin a file with this mark.
    const secret = readFileSync(ref.file, 'utf8').replace(/^\ufeff|\r?\n$/g, '')
    return secret ? { secret } : { error: `the file ${shown(ref.file)} is empty` }
  } catch (error) {
    return { error: `the file ${shown(ref.file)} cannot be read (${errorCodeOf(error)})` }
  }
}

/** Shows a variable's name or a path, unless it may be the secret itself. */
const shown = (name: string) => (/^(?:[A-Z][A-Z0-9_]*|\.{0,2}\/.*)$/.test(name) ? name : 'that it names')

/** A secret that the gateway has made: 256 random bits need no slow hash. */
export const MADE_SECRET = /^tl_[A-Za-z0-9_-]{43}$/
/** The hash of such a secret. */
export const FAST_HASH = /^\$sha256\$([A-Za-z0-9+/]{43})$/

const credential = z.strictObject({
  id: z
    .string()
    // The pattern goes into the JSON Schema, and some validators do not support Unicode classes.
    .regex(/^[^:]+$/, 'must be a client id without a colon')
    .refine((id) => !/\p{Cc}/u.test(id), 'must be a client id without control characters'),
  secret_hash: z
    .string()
    .refine(
      (text) => FAST_HASH.test(text) || parseSecretHash(text) !== undefined,
      'must be a hash made by "transload tenants hash"',
    )
    .describe('The hash of the secret, made by `transload tenants hash`.'),
})

const network = z.string().refine(isNetwork, 'must be a network such as 192.0.2.0/24')

const tenant = z
  .strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
      .describe('Required. Do not change it: bookings and numbers belong to it.'),
    credentials: z
      .array(credential)
      .default([])
      .describe(
        "Its callers' HTTP Basic credentials: an `id` and a `secret_hash`; two during a rotation. `transload tenants add NAME` makes a secret and writes the entry; `transload tenants hash` hashes an existing one.",
      ),
    networks: z
      .array(network)
      .default([])
      .describe(
        'Networks of callers that send no credential, such as 192.0.2.0/24; the narrowest match wins. Set `credentials` or `networks`.',
      ),
    v2: z
      .strictObject({
        client_id: clientId,
        client_secret: secretRef,
        base_url: serviceAddress.optional().describe('Instead of V2_BASE_URL.'),
        token: z.enum(['basic', 'oauth2', 'auto']).optional().describe('Instead of V2_TOKEN.'),
      })
      .describe(
        'Required. Its credential at the service: `client_id`, and `client_secret` as `env` or `file`. Optional: `base_url` and `token`.',
      ),
    webhook_secret: secretRef
      .optional()
      .describe(
        'The secret in the path of its [events](operations.md#service-events), as `env` or `file`; 16 characters or more.',
      ),
    webhook_signing_secret: secretRef
      .optional()
      .describe('The `whsec_…` secret with which the service signs its events. Unsigned ones are rejected.'),
    callback_url: webAddress.optional().describe('The `https` address for its events.'),
    callback_format: z.enum(['json', 'form']).default('json').describe('The body of a delivery: `json` or `form`.'),
    callback_secrets: z
      .array(secretRef)
      .default([])
      .describe('The `whsec_…` secrets that sign its deliveries; two during a rotation.'),
    callback_allow_http: z.boolean().default(false).describe('`true` allows plain HTTP for `callback_url`.'),
    callback_networks: z
      .array(network)
      .default([])
      .describe('Private networks that `callback_url` may reach, such as 10.0.0.0/8.'),
    defaults: z
      .strictObject({ transport_type: version2Word.optional(), vehicle_type: version2Word.optional() })
      .default({})
      .describe('Instead of `DEFAULT_TRANSPORT_TYPE` and `DEFAULT_VEHICLE_TYPE`.'),
    error_status: z.enum(['ok', 'as-is']).optional().describe('Instead of `ERROR_STATUS`.'),
    support_contact: supportContact.optional().describe('Instead of `SUPPORT_CONTACT`.'),
    shipment_number: z.enum(['caller', 'service']).optional().describe('Instead of `SHIPMENT_NUMBER`.'),
    sunset: z.string().pipe(sunset).optional().describe('Instead of `SUNSET`.'),
    retired_from: z
      .string()
      .pipe(z.union([z.literal('never'), sunset], 'must be never or an ISO 8601 date from 2026-01-01 on'))
      .optional()
      .describe('Instead of `RETIRED_FROM`; `never` exempts the tenant.'),
    migration_guide_url: webAddress.optional().describe('Instead of `MIGRATION_GUIDE_URL`.'),
    brownouts: brownouts.optional().describe('Instead of `BROWNOUTS`; `none` for none.'),
    brownout_bookings: z.boolean().optional().describe('Instead of `BROWNOUT_BOOKINGS`.'),
    actions: z.record(z.string(), z.string()).default({}).describe('More `ActionName`s, each with its action.'),
    limits: z
      .strictObject({
        per_second: z.number().positive().optional().describe('Calls per second; up to that many can arrive at once.'),
        concurrent: z.int().positive().optional().describe('Calls in progress at the same time.'),
      })
      .default({})
      .describe('Calls `per_second`, and `concurrent` calls; more get 429.'),
  })
  .meta({ anyOf: [{ required: ['credentials'] }, { required: ['networks'] }] })

/** The shape of the tenants file; `docs/tenants.schema.json` is generated from it. */
export const tenantsSchema = z.strictObject({
  $schema: z.string().optional().describe('For editors; the gateway ignores it.'),
  tenants: z.array(tenant).min(1, 'must have at least one tenant: "transload tenants add NAME" makes one'),
})

/** The readable parts of a tenant with errors, because one error must not hide the others. */
const readable = z.object({
  name: tenant.shape.name.optional().catch(undefined),
  credentials: z.array(credential.nullable().catch(null)).default([]).catch([null]),
  networks: z.array(network.nullable().catch(null)).default([]).catch([null]),
  v2: z.object({ client_secret: secretRef.optional().catch(undefined) }).catch({ client_secret: undefined }),
  webhook_secret: secretRef.optional().catch(undefined),
  callback_url: tenant.shape.callback_url.catch(undefined),
  callback_allow_http: tenant.shape.callback_allow_http.catch(true),
  callback_secrets: z.array(secretRef.optional().catch(undefined)).default([]).catch([undefined]),
  webhook_signing_secret: secretRef.optional().catch(undefined),
  actions: tenant.shape.actions.catch({}),
})
const readableTenants = z.object({
  tenants: z
    .array(readable)
    .transform((all) => all.map(({ name, ...one }, i) => ({ ...one, name: name ?? `tenants[${i}]` }))),
})

type Readable = z.output<typeof readableTenants>['tenants'][number]

const readableIn = (content: unknown): readonly Readable[] => readableTenants.safeParse(content).data?.tenants ?? []

type Secrets = Pick<Partial<Readable>, 'webhook_secret' | 'webhook_signing_secret' | 'callback_secrets'> &
  Pick<Readable, 'v2'>

/** Returns the secrets that a tenant may have. */
export function secretsOf({ v2, webhook_secret, webhook_signing_secret, callback_secrets = [] }: Secrets) {
  return [
    { place: 'v2.client_secret', ref: v2.client_secret, type: clientSecret },
    { place: 'webhook_secret', ref: webhook_secret, type: pathSecrets },
    { place: 'webhook_signing_secret', ref: webhook_signing_secret, type: signingKeys },
    ...callback_secrets.map((ref, i) => ({ place: `callback_secrets[${i}]`, ref, type: signingKeys })),
  ]
}

/** A declared tenant with its secrets. */
export type Tenant = z.output<typeof tenant> & {
  /** The secret of its credential at the service. */
  readonly secret: string
  /** The secrets in the paths of its events; empty if it receives none. */
  readonly webhookSecrets: readonly string[]
  /** The keys of signed events; empty if events are not signed. */
  readonly signingKeys: readonly SigningKey[]
  /** How events are delivered to it; undefined if none are. */
  readonly callback:
    | {
        readonly url: URL
        readonly format: 'json' | 'form'
        readonly keys: readonly SigningKey[]
        readonly networks: readonly string[]
      }
    | undefined
}

/** The part of the mappings that a tenants file depends on. */
interface Mappings {
  readonly synonymMistakes: (actions: Readonly<Record<string, string>>) => readonly string[]
}

/**
 * Reads and checks a tenants file; throws `ConfigErrors` with all errors at once. A command that runs beside a gateway may not have the
 * secrets; those that are missing are added to `lacking`.
 */
export function readTenants(
  path: string,
  mappings: Mappings,
  env: NodeJS.ProcessEnv = process.env,
  lacking?: string[],
): readonly Tenant[] {
  const content = contentOf(path)
  const parsed = tenantsSchema.safeParse(content)
  const tenants = readableIn(content)
  const misshapen = (parsed.error?.issues ?? []).map((issue) => {
    const [, at, ...inside] = issue.path
    const name = tenants[Number(at)]?.name
    return name === undefined ? placed(issue.path, issueText(issue)) : `${name}: ${placed(inside, issueText(issue))}`
  })
  const errors = [
    ...tenants.flatMap((one) => {
      const missing = lacking && ([] as string[])
      const mistakes = mistakesOf(one, mappings, env, missing)
      lacking?.push(...(missing ?? []).map((secret) => `${path}: ${one.name}: ${secret}`))
      return mistakes.map((mistake) => `${one.name}: ${mistake}`)
    }),
    ...sharedValues(tenants, env),
  ]
  if (!parsed.success || errors.length > 0) {
    throw new ConfigErrors([...misshapen, ...errors].map((error) => `${path}: ${error}`))
  }
  return parsed.data.tenants.map((declared) => {
    const { v2, webhook_secret, webhook_signing_secret, callback_secrets } = declared
    const { callback_url: url, callback_format: format, callback_networks: reachable } = declared
    const keysOf = (ref: SecretRef | undefined) => signingKeys.safeParse(secretOf(ref, env)).data ?? []
    return {
      ...declared,
      // Without errors, every secret is present.
      secret: secretOf(v2.client_secret, env) ?? '',
      webhookSecrets: pathSecretsOf(webhook_secret, env),
      signingKeys: keysOf(webhook_signing_secret),
      callback: url && { url, format, keys: callback_secrets.flatMap(keysOf), networks: reachable },
    }
  })
}

/** Reads the tenants' names from a file whose secrets may be available to the gateway only; throws `ConfigErrors`. */
export function readTenantNames(path: string): readonly string[] {
  return readableIn(contentOf(path)).map(({ name }) => name)
}

/** Returns the secret files that a tenants file names; none if it cannot be read. */
export function secretFilesOf(path: string): readonly string[] {
  const file = readJsonFile(path)
  const secrets = 'error' in file ? [] : readableIn(file.content).flatMap(secretsOf)
  return secrets.flatMap(({ ref }) => (ref && 'file' in ref ? [ref.file] : []))
}

function contentOf(path: string): unknown {
  const file = readJsonFile(path)
  if ('error' in file) throw new ConfigErrors([`the tenants file ${path} ${file.error}`])
  return file.content
}

/** Returns an error after its place: `v2.base_url: must be …`. */
function placed(keys: readonly PropertyKey[], message: string): string {
  const place = keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return place === '' ? message : `${place.slice(1)}: ${message}`
}

/** Returns the mistakes within one tenant, beyond its shape. */
function mistakesOf(
  declared: Readable,
  mappings: Mappings,
  env: NodeJS.ProcessEnv,
  lacking: string[] | undefined,
): readonly string[] {
  const {
    credentials,
    networks: own,
    webhook_secret,
    webhook_signing_secret,
    callback_secrets,
    callback_url: url,
  } = declared
  const rules: readonly (readonly [isBroken: boolean, mistake: string])[] = [
    [credentials.length === 0 && own.length === 0, 'needs credentials or networks; without them, no call can match it'],
    [!!webhook_signing_secret && !webhook_secret, 'needs a webhook_secret, because it has a webhook_signing_secret'],
    [
      url?.protocol === 'http:' && !declared.callback_allow_http,
      'callback_url must be an https address, or callback_allow_http must be true',
    ],
    [url !== undefined && url.hash !== '', 'callback_url must not have a fragment'],
    [
      url !== undefined && ![url.username, url.password].every(isEncoded),
      'callback_url must have a percent-encoded user name and password',
    ],
    [
      url === undefined && callback_secrets.some((ref) => secretOf(ref, env) !== undefined),
      'callback_secrets sign nothing, because there is no callback_url',
    ],
  ]
  return [
    ...rules.flatMap(([isBroken, mistake]) => (isBroken ? [mistake] : [])),
    ...mappings.synonymMistakes(declared.actions),
    ...secretsOf(declared).flatMap((secret) => secretMistake(secret, env, lacking)),
  ]
}

/** Returns the mistake of a secret that cannot be read or does not serve its purpose. */
function secretMistake(
  { place, ref, type }: ReturnType<typeof secretsOf>[number],
  env: NodeJS.ProcessEnv,
  lacking: string[] | undefined,
): readonly string[] {
  if (ref === undefined) return []
  const fetched = fetchSecret(ref, env)
  if ('error' in fetched) {
    const mistake = `${place}: ${fetched.error}`
    lacking?.push(mistake)
    return lacking ? [] : [mistake]
  }
  const [issue] = type.safeParse(fetched.secret).error?.issues ?? []
  return issue ? [`${place} ${issue.message}`] : []
}

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

/** Returns the mistakes of values that several tenants or several credentials share. */
function sharedValues(tenants: readonly Readable[], env: NodeJS.ProcessEnv): readonly string[] {
  const ids = tenants.map(({ credentials }) => credentials.flatMap((one) => one?.id ?? []))
  const hashes = tenants.flatMap(({ credentials }) => credentials.flatMap((one) => one?.secret_hash ?? []))
  return [
    ...repeated(tenants.map(({ name }) => name)).map((name) => `${name}: two tenants have this name`),
    ...repeated(hashes).map(() => 'two credentials have the same hash; hash each secret separately'),
    ...shared(ids).map((id) => `two tenants accept the credential ${id}`),
    ...shared(tenants.map((one) => one.networks.flatMap((own) => (own === null ? [] : plainNetwork(own))))).map(
      (own) => `two tenants have the network ${own}`,
    ),
    ...shared(tenants.map((one) => pathSecretsOf(one.webhook_secret, env))).map(
      () => 'two tenants have the same webhook_secret',
    ),
  ]
}

const pathSecretsOf = (ref: SecretRef | undefined, env: NodeJS.ProcessEnv): readonly string[] =>
  pathSecrets.safeParse(secretOf(ref, env)).data ?? []

/** Returns the values that more than one tenant has. */
const shared = (values: readonly (readonly string[])[]) => repeated(values.flatMap((own) => [...new Set(own)]))
