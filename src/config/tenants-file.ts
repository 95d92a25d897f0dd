import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { isNetwork } from '../networks.ts'
import { parseSecretHash } from '../secret-hash-form.ts'
import { serviceAddress, version2Word, webAddress } from './values.ts'

const secretRef = z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })], {
  error: 'must say where the secret is: {"env": "NAME"} or {"file": "/path"}',
})

const credential = z.strictObject({
  id: z
    .string()
    // Patterns go into the JSON Schema, where not everybody's know Unicode.
    .regex(/^[^:]+$/, 'must be a client id, which has no colon')
    .refine((id) => !/\p{Cc}/u.test(id), 'must be a client id, which has no control characters'),
  secret_hash: z
    .string()
    .refine((text) => parseSecretHash(text) !== undefined, 'must be a hash that `transload tenants hash` made')
    .describe('What `transload tenants hash` prints.'),
})

const network = z.string().refine(isNetwork, 'must be a network such as 192.0.2.0/24')

const tenant = z
  .strictObject({
    name: z.string().regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores'),
    credentials: z
      .array(credential)
      .default([])
      .describe('What its callers send as HTTP Basic authentication; several, so that they can be rotated.'),
    networks: z
      .array(network)
      .default([])
      .describe('Where its callers that send no credential come from, such as 192.0.2.0/24.'),
    v2: z
      .strictObject({
        client_id: z.string().min(1),
        client_secret: secretRef,
        base_url: z.string().pipe(serviceAddress).optional().describe('Instead of V2_BASE_URL.'),
        token: z.enum(['basic', 'oauth2', 'auto']).optional().describe('Instead of V2_TOKEN.'),
      })
      .describe('Its credential at the service.'),
    webhook_secret: secretRef.optional(),
    callback_url: z.string().pipe(webAddress).optional(),
    defaults: z
      .strictObject({ transport_type: version2Word.optional(), vehicle_type: version2Word.optional() })
      .default({})
      .describe('Instead of DEFAULT_TRANSPORT_TYPE and DEFAULT_VEHICLE_TYPE.'),
    error_status: z.enum(['ok', 'as-is']).optional().describe('Instead of ERROR_STATUS.'),
    shipment_number: z.enum(['caller', 'service']).optional().describe('Instead of SHIPMENT_NUMBER.'),
    actions: z.record(z.string(), z.string()).default({}).describe('More ActionNames: name → action.'),
    limits: z
      .strictObject({
        per_second: z.number().positive().optional().describe("Calls per second; a second's worth may come at once."),
        concurrent: z.int().positive().optional().describe('Calls at a time.'),
      })
      .default({}),
  })
  .meta({ anyOf: [{ required: ['credentials'] }, { required: ['networks'] }] })

/** The shape of the tenants file; `docs/tenants.schema.json` is generated from it. */
export const tenantsSchema = z.strictObject({
  $schema: z.string().optional().describe('For editors; means nothing to the gateway.'),
  tenants: z.array(tenant).min(1, 'must have at least one tenant'),
})

/** What can be read of a tenant with mistakes, so that one of them does not hide the others. */
const readable = z.object({
  name: tenant.shape.name.catch('(no name)'),
  credentials: z.array(credential.nullable().catch(null)).default([]).catch([null]),
  networks: z.array(network.nullable().catch(null)).default([]).catch([null]),
  v2: z.object({ client_secret: secretRef.optional().catch(undefined) }).catch({ client_secret: undefined }),
  webhook_secret: secretRef.optional().catch(undefined),
  actions: tenant.shape.actions.catch({}),
})
const readableTenants = z.object({ tenants: z.array(readable) })

type Readable = z.output<typeof readable>

/** A tenant as its file declares it, with the service's secret fetched from where the file says it is. */
export type Tenant = z.output<typeof tenant> & { readonly secret: string }

/** A tenants file with mistakes; every one of them, a line each. */
export class TenantsFileErrors extends Error {
  override readonly name = 'TenantsFileErrors'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`the tenants file has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}`)
    this.mistakes = mistakes
  }
}

/** Which actions there are, by their names. */
type Actions = Pick<ReadonlySet<string>, 'has'>

/** Reads and checks a tenants file; throws `TenantsFileErrors` with every mistake at once. */
export function readTenants(path: string, actions: Actions, env: NodeJS.ProcessEnv = process.env): readonly Tenant[] {
  const content = contentOf(path)
  const parsed = tenantsSchema.safeParse(content)
  const tenants = readableTenants.safeParse(content).data?.tenants ?? []
  const mistakes = [
    ...(parsed.error?.issues ?? []).map(inWords),
    ...inconsistencies(tenants),
    ...unknownActions(tenants, actions),
    ...tenants.flatMap((declared) => missingSecrets(declared, env)),
  ]
  if (!parsed.success || mistakes.length > 0) throw new TenantsFileErrors(mistakes.map((said) => `${path}: ${said}`))
  return parsed.data.tenants.map((declared) => ({
    ...declared,
    secret: fetchSecret(declared.v2.client_secret, env) ?? '',
  }))
}

function contentOf(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new TenantsFileErrors([`${path}: cannot be read: ${error instanceof Error ? error.message : error}`])
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    // The parser quotes what it stumbles over, which may be a secret that is in the wrong place.
    const where = /\(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '')?.[0]
    throw new TenantsFileErrors([`${path}: is no JSON${where === undefined ? '' : ` ${where}`}`])
  }
}

function inWords({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  const at = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
  return at === '' ? message : `${at.slice(1)}: ${message}`
}

function missingSecrets({ name, v2, webhook_secret }: Readable, env: NodeJS.ProcessEnv): string[] {
  const isMissing = (ref: z.output<typeof secretRef> | undefined) => ref && fetchSecret(ref, env) === undefined
  return [
    ...(isMissing(v2.client_secret) ? [`${name}: the secret of the service is not where v2.client_secret says`] : []),
    ...(isMissing(webhook_secret) ? [`${name}: the secret of the webhooks is not where webhook_secret says`] : []),
  ]
}

function inconsistencies(tenants: readonly Readable[]): string[] {
  const nobody = tenants.filter(({ credentials, networks }) => credentials.length === 0 && networks.length === 0)
  return [
    ...nobody.map(({ name }) => `${name}: has neither credentials nor networks, so that nobody is it`),
    ...twice(tenants.map(({ name }) => name)).map((name) => `${name}: two tenants have this name`),
    ...twice(tenants.flatMap(({ credentials }) => texts(credentials.map((one) => one?.secret_hash)))).map(
      () => 'two credentials have the same hash',
    ),
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
      .map(([synonym, action]) => `${name}: the ActionName ${synonym} means ${action}, which is no action`),
  )
}

function sharedBy<T>(tenants: readonly T[], of: (tenant: T) => readonly string[]): string[] {
  return twice(tenants.flatMap((one) => [...new Set(of(one))]))
}

function twice(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
}

/** A secret from where it is; undefined if it is not there. */
function fetchSecret(ref: z.output<typeof secretRef>, env: NodeJS.ProcessEnv): string | undefined {
  if ('env' in ref) return env[ref.env] || undefined
  try {
    return readFileSync(ref.file, 'utf8').replace(/\r?\n$/, '') || undefined
  } catch {
    return undefined
  }
}
