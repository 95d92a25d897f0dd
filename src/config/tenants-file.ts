import { z } from 'zod'
import { isNetwork } from '../networks.ts'
import type { SigningKey } from '../webhook-signature.ts'
import { brownouts, sunset } from './brownout-values.ts'
import { type CallbackSettings, callbackKeys, callbackMistakes, callbackOf } from './callback.ts'
import { ConfigErrors } from './errors.ts'
import { issueText } from './issues.ts'
import { readJsonFile } from './json-file.ts'
import { parseSecretHash } from './secret-hash-form.ts'
import { fetchSecret, secretOf, secretRef } from './secret-ref.ts'
import { serviceAddress, version2Word, webAddress } from './values.ts'
import { PATH_SECRET_ERROR, pathSecretsIn, SIGNING_SECRET_ERROR, signingKeysIn } from './webhook-values.ts'

const credential = z.strictObject({
  id: z
    .string()
    // The pattern goes into the JSON Schema, and some validators lack Unicode classes.
    .regex(/^[^:]+$/, 'must be a client id without a colon')
    .refine((id) => !/\p{Cc}/u.test(id), 'must be a client id without control characters'),
  secret_hash: z
    .string()
    .refine((text) => parseSecretHash(text) !== undefined, 'must be a hash made by `transload tenants hash`')
    .describe('The hash of the secret, made by `transload tenants hash`.'),
})

const network = z.string().refine(isNetwork, 'must be a network such as 192.0.2.0/24')

const tenant = z
  .strictObject({
    name: z.string().regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores'),
    credentials: z
      .array(credential)
      .default([])
      .describe('The HTTP Basic credentials of its callers; several at a time allow rotation.'),
    networks: z
      .array(network)
      .default([])
      .describe('The networks of its callers that send no credential, such as 192.0.2.0/24.'),
    v2: z
      .strictObject({
        client_id: z.string().min(1),
        client_secret: secretRef,
        base_url: z.string().pipe(serviceAddress).optional().describe('Instead of V2_BASE_URL.'),
        token: z.enum(['basic', 'oauth2', 'auto']).optional().describe('Instead of V2_TOKEN.'),
      })
      .describe('Its credential at the service.'),
    webhook_secret: secretRef
      .optional()
      .describe('The last segment of the path /webhooks/… of its events, 16 characters or more.'),
    webhook_signing_secret: secretRef
      .optional()
      .describe('The whsec_… secret with which the service signs its events; unsigned ones are then refused.'),
    ...callbackKeys,
    defaults: z
      .strictObject({ transport_type: version2Word.optional(), vehicle_type: version2Word.optional() })
      .default({})
      .describe('Instead of DEFAULT_TRANSPORT_TYPE and DEFAULT_VEHICLE_TYPE.'),
    error_status: z.enum(['ok', 'as-is']).optional().describe('Instead of ERROR_STATUS.'),
    shipment_number: z.enum(['caller', 'service']).optional().describe('Instead of SHIPMENT_NUMBER.'),
    sunset: z.string().pipe(sunset).optional().describe('Instead of SUNSET.'),
    migration_guide_url: z.string().pipe(webAddress).optional().describe('Instead of MIGRATION_GUIDE_URL.'),
    brownouts: z.string().pipe(brownouts).optional().describe('Instead of BROWNOUTS; `none` for none.'),
    brownout_bookings: z.boolean().optional().describe('Instead of BROWNOUT_BOOKINGS.'),
    actions: z.record(z.string(), z.string()).default({}).describe('More ActionNames: name → action.'),
    limits: z
      .strictObject({
        per_second: z.number().positive().optional().describe('Calls per second; up to that many may come at once.'),
        concurrent: z.int().positive().optional().describe('Calls under way at the same time.'),
      })
      .default({}),
  })
  .meta({ anyOf: [{ required: ['credentials'] }, { required: ['networks'] }] })

/** The shape of the tenants file; `docs/tenants.schema.json` is generated from it. */
export const tenantsSchema = z.strictObject({
  $schema: z.string().optional().describe('For editors; the gateway ignores it.'),
  tenants: z.array(tenant).min(1, 'must have at least one tenant'),
})

/** The readable parts of a tenant with errors: one error must not hide the others. */
const readable = z.object({
  name: tenant.shape.name.catch('(no name)'),
  credentials: z.array(credential.nullable().catch(null)).default([]).catch([null]),
  networks: z.array(network.nullable().catch(null)).default([]).catch([null]),
  v2: z.object({ client_secret: secretRef.optional().catch(undefined) }).catch({ client_secret: undefined }),
  webhook_secret: secretRef.optional().catch(undefined),
  callback_url: tenant.shape.callback_url.catch(undefined),
  callback_allow_http: tenant.shape.callback_allow_http.catch(true),
  callback_secrets: z.array(secretRef.nullable().catch(null)).default([]).catch([null]),
  webhook_signing_secret: secretRef.optional().catch(undefined),
  actions: tenant.shape.actions.catch({}),
})
const readableTenants = z.object({ tenants: z.array(readable) })

type Readable = z.output<typeof readable>

/** A declared tenant, with its secrets resolved from where the file points. */
export type Tenant = z.output<typeof tenant> & {
  /** Of its credential at the service. */
  readonly secret: string
  /** In the paths of its events; empty if it receives none. */
  readonly webhookSecrets: readonly string[]
  /** Of signed events; empty if events are not signed. */
  readonly signingKeys: readonly SigningKey[]
  /** Undefined if events are not delivered to it. */
  readonly callback: CallbackSettings | undefined
}

/** The names of the actions. */
type Actions = Pick<ReadonlySet<string>, 'has'>

/** Reads and checks a tenants file; throws `ConfigErrors` with all errors at once. */
export function readTenants(path: string, actions: Actions, env: NodeJS.ProcessEnv = process.env): readonly Tenant[] {
  const file = readJsonFile(path)
  if ('error' in file) throw new ConfigErrors([`the tenants file ${path} ${file.error}`])
  const parsed = tenantsSchema.safeParse(file.content)
  const tenants = readableTenants.safeParse(file.content).data?.tenants ?? []
  const misshapen = (parsed.error?.issues ?? []).map(
    (issue) => `${path}:${file.placeOf(issue)}: ${placed(issue.path, issueText(issue))}`,
  )
  const errors = [
    ...tenants.filter(isUnreachable).map(({ name }) => `${name}: needs credentials or networks; no call can match it`),
    ...sharedValues(tenants),
    ...unknownActions(tenants, actions),
    ...tenants.flatMap((declared) => missingSecrets(declared, env)),
    ...unusableSecrets(tenants, env),
    ...tenants.flatMap((declared) =>
      callbackMistakes(declared, callbackSecrets(declared, env)).map((mistake) => `${declared.name}: ${mistake}`),
    ),
  ]
  if (!parsed.success || errors.length > 0) {
    throw new ConfigErrors([...misshapen, ...errors.map((error) => `${path}: ${error}`)])
  }
  return parsed.data.tenants.map((declared) => {
    // Without errors, every secret is present.
    const secret = secretOf(declared.v2.client_secret, env) ?? ''
    const webhookSecrets = pathSecretsIn(secretOf(declared.webhook_secret, env) ?? '') ?? []
    const signingKeys = signingKeysIn(secretOf(declared.webhook_signing_secret, env) ?? '') ?? []
    const callback = callbackOf(declared, callbackSecrets(declared, env))
    return { ...declared, secret, webhookSecrets, signingKeys, callback }
  })
}

/** Reads the names of the tenants in a file, which may lack secrets that only the gateway has; throws `ConfigErrors`. */
export function readTenantNames(path: string): readonly string[] {
  const file = readJsonFile(path)
  if ('error' in file) throw new ConfigErrors([`the tenants file ${path} ${file.error}`])
  return (readableTenants.safeParse(file.content).data?.tenants ?? []).map(({ name }) => name)
}

/** Returns an error behind its place: `tenants[0].name: must be …`. */
function placed(keys: readonly PropertyKey[], message: string): string {
  const place = keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return place === '' ? message : `${place.slice(1)}: ${message}`
}

function missingSecrets(
  { name, v2, webhook_secret, webhook_signing_secret, callback_secrets }: Readable,
  env: NodeJS.ProcessEnv,
): string[] {
  const ofCallback = callback_secrets.map((ref, i) => [`callback_secrets[${i}]`, ref] as const)
  const places = { 'v2.client_secret': v2.client_secret, webhook_secret, webhook_signing_secret }
  return [...Object.entries(places), ...ofCallback].flatMap(([place, ref]) => {
    const fetched = ref && fetchSecret(ref, env)
    return fetched && 'error' in fetched ? [`${name}: ${place}: ${fetched.error}`] : []
  })
}

/** Returns the errors of secrets that are present and do not serve their purpose. */
function unusableSecrets(tenants: readonly Readable[], env: NodeJS.ProcessEnv): string[] {
  const ofPaths = tenants.map(({ name, webhook_secret }) => ({ name, text: secretOf(webhook_secret, env) }))
  return [
    ...ofPaths.flatMap(({ name, text }) =>
      text === undefined || pathSecretsIn(text) ? [] : [`${name}: webhook_secret ${PATH_SECRET_ERROR}`],
    ),
    ...tenants.flatMap(({ name, webhook_signing_secret }) => {
      const text = secretOf(webhook_signing_secret, env)
      return text === undefined || signingKeysIn(text)
        ? []
        : [`${name}: webhook_signing_secret ${SIGNING_SECRET_ERROR}`]
    }),
    ...tenants
      .filter(({ webhook_secret, webhook_signing_secret }) => webhook_signing_secret && !webhook_secret)
      .map(({ name }) => `${name}: needs a webhook_secret, because it has a webhook_signing_secret`),
    ...duplicates(ofPaths.flatMap(({ text }) => [...new Set(pathSecretsIn(text ?? ''))])).map(
      () => 'two tenants have the same webhook_secret',
    ),
  ]
}

const isUnreachable = ({ credentials, networks }: Readable) => credentials.length === 0 && networks.length === 0

function sharedValues(tenants: readonly Readable[]): string[] {
  const hashes = tenants.flatMap(({ credentials }) => texts(credentials.map((one) => one?.secret_hash)))
  return [
    ...duplicates(tenants.map(({ name }) => name)).map((name) => `${name}: two tenants have this name`),
    ...duplicates(hashes).map(() => 'two credentials have the same hash; hash each secret by itself'),
    ...sharedBy(tenants, ({ credentials }) => texts(credentials.map((one) => one?.id))).map(
      (id) => `two tenants accept the credential ${id}`,
    ),
    ...sharedBy(tenants, ({ networks }) => texts(networks)).map((shared) => `two tenants have the network ${shared}`),
  ]
}

const texts = (values: readonly (string | null | undefined)[]) => values.filter((value) => typeof value === 'string')

function unknownActions(tenants: readonly Readable[], known: Actions): string[] {
  return tenants.flatMap(({ name, actions }) =>
    Object.entries(actions)
      .filter(([, action]) => !known.has(action))
      .map(([synonym, action]) => `${name}: the ActionName ${synonym} means ${action}, which is not an action`),
  )
}

function sharedBy<T>(tenants: readonly T[], of: (tenant: T) => readonly string[]): string[] {
  return duplicates(tenants.flatMap((one) => [...new Set(of(one))]))
}

function duplicates(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
}

/** Returns the secrets of a callback that can be read. */
function callbackSecrets({ callback_secrets }: Pick<Readable, 'callback_secrets'>, env: NodeJS.ProcessEnv): string[] {
  return callback_secrets.flatMap((ref) => secretOf(ref ?? undefined, env) ?? [])
}
