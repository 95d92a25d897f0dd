import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { serviceAddress, version2Word, webAddress } from './config-values.ts'
import { isSecretHash } from './secret-hash.ts'
import { isNetwork } from './source-address.ts'

const secretRef = z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })], {
  error: 'must say where the secret is: {"env": "NAME"} or {"file": "/path"}',
})

const tenant = z.strictObject({
  name: z.string().regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores'),
  credentials: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[^:\p{Cc}]+$/u, 'must be a client id, which has no colon'),
        secret_hash: z.string().refine(isSecretHash, 'must be a hash that `transload tenants hash` made'),
      }),
    )
    .default([]),
  networks: z.array(z.string().refine(isNetwork, 'must be a network such as 192.0.2.0/24')).default([]),
  v2: z.strictObject({
    client_id: z.string().min(1),
    client_secret: secretRef,
    base_url: z.string().pipe(serviceAddress).optional(),
    token: z.enum(['basic', 'oauth2', 'auto']).optional(),
  }),
  webhook_secret: secretRef.optional(),
  callback_url: z.string().pipe(webAddress).optional(),
  defaults: z
    .strictObject({ transport_type: version2Word.optional(), vehicle_type: version2Word.optional() })
    .default({}),
  error_status: z.enum(['ok', 'as-is']).optional(),
  shipment_number: z.enum(['caller', 'service']).optional(),
  actions: z.record(z.string(), z.string()).default({}),
  limits: z
    .strictObject({ per_second: z.number().positive().optional(), concurrent: z.int().positive().optional() })
    .default({}),
})

/** The shape of the tenants file; `docs/tenants.schema.json` is generated from it. */
export const tenantsSchema = z.strictObject({ tenants: z.array(tenant).min(1, 'must have at least one tenant') })

/** A tenant as its file declares it, with the service's secret fetched from where the file says it is. */
export type Tenant = z.output<typeof tenant> & { readonly secret: string }

/** A tenants file with mistakes; every one of them, a line each. */
export class TenantsMistakes extends Error {
  override readonly name = 'TenantsMistakes'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`the tenants file has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}`)
    this.mistakes = mistakes
  }
}

/** Reads and checks a tenants file; throws `TenantsMistakes` with every mistake at once. */
export function readTenants(
  path: string,
  actions: ReadonlySet<string>,
  env: NodeJS.ProcessEnv = process.env,
): readonly Tenant[] {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new TenantsMistakes([`${path}: cannot be read as JSON: ${error instanceof Error ? error.message : error}`])
  }
  const parsed = tenantsSchema.safeParse(content)
  if (!parsed.success) {
    throw new TenantsMistakes(parsed.error.issues.map(({ path: at, message }) => `${path}: ${inWords(at)}: ${message}`))
  }
  const { tenants } = parsed.data
  const mistakes = [...inconsistencies(tenants), ...unknownActions(tenants, actions)]
  const read = tenants.map((declared) => {
    const secret = fetchSecret(declared.v2.client_secret, env)
    if (secret === undefined)
      mistakes.push(`${declared.name}: the secret of the service is not where v2.client_secret says`)
    if (declared.webhook_secret && fetchSecret(declared.webhook_secret, env) === undefined) {
      mistakes.push(`${declared.name}: the secret of the webhooks is not where webhook_secret says`)
    }
    return { ...declared, secret: secret ?? '' }
  })
  if (mistakes.length > 0) throw new TenantsMistakes(mistakes.map((mistake) => `${path}: ${mistake}`))
  return read
}

function inWords(at: readonly PropertyKey[]): string {
  return at
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .slice(1)
}

function inconsistencies(tenants: readonly z.output<typeof tenant>[]): string[] {
  const nobody = tenants.filter(({ credentials, networks }) => credentials.length === 0 && networks.length === 0)
  return [
    ...nobody.map(({ name }) => `${name}: has neither credentials nor networks, so that nobody is it`),
    ...twice(tenants.map(({ name }) => name)).map((name) => `${name}: two tenants have this name`),
    ...twice(tenants.flatMap(({ credentials }) => credentials.map(({ secret_hash }) => secret_hash))).map(
      () => 'two credentials have the same hash',
    ),
    ...sharedBy(tenants, ({ credentials }) => credentials.map(({ id }) => id)).map(
      (id) => `two tenants accept the credential ${id}`,
    ),
    ...sharedBy(tenants, ({ networks }) => networks).map((network) => `two tenants have the network ${network}`),
  ]
}

function unknownActions(tenants: readonly z.output<typeof tenant>[], known: ReadonlySet<string>): string[] {
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
