import { text } from 'node:stream/consumers'
import { hashSecret } from '../callers/secret-hash.ts'
import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants, type Tenant, TenantsFileErrors } from '../config/tenants-file.ts'
import { EXIT_USAGE } from '../exit-codes.ts'
import { NO_SERVICE } from './with-store.ts'

const USAGE = `Usage:
  transload tenants hash           reads a secret from standard input and prints its hash
  transload tenants check [FILE]   checks the file, or the one that TENANTS_FILE names
  transload tenants list [FILE]    lists its tenants, without secrets
`

/** Makes hashes for the tenants file, checks it and lists what is in it. */
export async function tenants([verb, file]: readonly string[]): Promise<number> {
  if (verb === 'hash') return hash()
  if (verb === 'check') {
    const found = await read(file)
    process.stdout.write(`The tenants file is good: ${found.length} ${found.length === 1 ? 'tenant' : 'tenants'}.\n`)
    return 0
  }
  if (verb === 'list') {
    for (const tenant of await read(file)) process.stdout.write(`${inColumns(tenant)}\n`)
    return 0
  }
  process.stderr.write(USAGE)
  return EXIT_USAGE
}

/** From standard input alone: the words of a command stand in the shell's history and in the process list. */
async function hash(): Promise<number> {
  if (process.stdin.isTTY) process.stderr.write('Type the secret, then Enter and Ctrl-D: ')
  const secret = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (secret === '') {
    process.stderr.write('transload: no secret came on standard input\n')
    return 1
  }
  process.stdout.write(`${await hashSecret(secret)}\n`)
  return 0
}

/** The tenants of a file, or of the one that the environment names. */
async function read(file: string | undefined): Promise<readonly Tenant[]> {
  const config = readConfig({ ...NO_SERVICE, ...process.env, ...(file !== undefined && { TENANTS_FILE: file }) })
  if (config.TENANTS_FILE === undefined) throw new TenantsFileErrors(['TENANTS_FILE is not set, and no file was named'])
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  return readTenants(config.TENANTS_FILE, new Set(catalog.actions.keys()))
}

function inColumns({ name, credentials, networks, v2 }: Tenant): string {
  const ids = credentials.map(({ id }) => id).join(', ') || '-'
  const address = v2.base_url ? v2.base_url.origin + v2.base_url.prefix : '(V2_BASE_URL)'
  return [
    name,
    `credentials: ${ids}`,
    `networks: ${networks.join(', ') || '-'}`,
    `service: ${v2.client_id} at ${address}`,
  ].join('  ')
}
