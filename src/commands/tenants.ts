import { text } from 'node:stream/consumers'
import { hashSecret } from '../callers/tenants.ts'
import { readConfig } from '../config/config.ts'
import { ConfigErrors } from '../config/errors.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants, type Tenant } from '../config/tenants-file.ts'
import { CommandFailed } from './failures.ts'
import { withoutService } from './open-store.ts'
import { print, printJson, prompt } from './output.ts'

/** Reads the secret from standard input, because arguments appear in the shell's history and in the process list. */
export async function hash(): Promise<number> {
  prompt('Type the secret, then Enter and Ctrl-D: ')
  const secret = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (secret === '') throw new CommandFailed('standard input is empty; send the secret there')
  print(await hashSecret(secret))
  return 0
}

/** Checks a tenants file. */
export async function check(file: string | undefined): Promise<number> {
  const { length } = await tenantsIn(file)
  print(`The tenants file is valid: ${length} ${length === 1 ? 'tenant' : 'tenants'}.`)
  return 0
}

/** Lists the tenants of a file. */
export async function list(file: string | undefined, { json = false }: { readonly json?: boolean }): Promise<number> {
  const found = await tenantsIn(file)
  if (json) for (const tenant of found) printJson(publicView(tenant))
  else print(...found.map(lineOf))
  return 0
}

async function tenantsIn(file: string | undefined): Promise<readonly Tenant[]> {
  // A tenants file can be prepared beside a gateway in fixed mode, which does not allow one.
  const fixed = { V2_CLIENT_ID: undefined, V2_CLIENT_SECRET: undefined }
  const config = readConfig({ ...withoutService(), ...fixed, ...(file !== undefined && { TENANTS_FILE: file }) })
  if (config.TENANTS_FILE === undefined) throw new ConfigErrors(['TENANTS_FILE is not set, and no FILE is given'])
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  return readTenants(config.TENANTS_FILE, new Set(catalog.actions.keys()))
}

/** Returns a tenant without its secrets. */
function publicView({ name, credentials, networks, v2 }: Tenant) {
  return {
    name,
    credentials: credentials.map(({ id }) => id),
    networks,
    client_id: v2.client_id,
    ...(v2.base_url && { base_url: v2.base_url.origin + v2.base_url.prefix }),
  }
}

function lineOf(tenant: Tenant): string {
  const { name, credentials, networks, client_id, base_url = '(V2_BASE_URL)' } = publicView(tenant)
  return [
    name,
    `credentials: ${credentials.join(', ') || '-'}`,
    `networks: ${networks.join(', ') || '-'}`,
    `service: ${client_id} at ${base_url}`,
  ].join('  ')
}
