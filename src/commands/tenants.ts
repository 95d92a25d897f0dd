import { text } from 'node:stream/consumers'
import { hashSecret } from '../callers/secret-hash.ts'
import { readConfig } from '../config/config.ts'
import { ConfigErrors } from '../config/errors.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants, type Tenant } from '../config/tenants-file.ts'
import { readArguments } from './arguments.ts'
import { CommandFailed } from './failures.ts'
import { print, printJson, prompt } from './output.ts'
import { withoutService } from './store.ts'

const USAGE = [
  'Usage:',
  '  transload tenants hash           reads a secret from standard input and prints its hash',
  '  transload tenants check [FILE]   checks the file, or the one that TENANTS_FILE names',
  '  transload tenants list [FILE] [--json]   lists its tenants, without secrets',
]
const EXAMPLES = [
  'transload tenants hash < secret.txt',
  'transload tenants check tenants.json',
  'transload tenants list tenants.json --json',
]

/** Makes hashes for the tenants file, checks the file and lists its tenants. */
export async function tenants(args: readonly string[]): Promise<number> {
  const { verb, operands, values } = readArguments(args, {
    usage: USAGE,
    options: { json: { type: 'boolean' } },
    explained: { json: 'Prints JSON, a line for each tenant.' },
    examples: EXAMPLES,
    verbs: {
      hash: { operands: [], options: [] },
      check: { operands: ['[FILE]'], options: [] },
      list: { operands: ['[FILE]'], options: ['json'] },
    },
  })
  switch (verb) {
    case 'hash':
      return hash()
    case 'check': {
      const { length } = await tenantsIn(operands[0])
      print(`The tenants file is valid: ${length} ${length === 1 ? 'tenant' : 'tenants'}.`)
      return 0
    }
    case 'list': {
      const found = await tenantsIn(operands[0])
      if (values.json) for (const tenant of found) printJson(publicView(tenant))
      else print(...found.map(lineOf))
      return 0
    }
    default:
      return verb satisfies never
  }
}

/** Reads the secret from standard input, because arguments appear in the shell's history and in the process list. */
async function hash(): Promise<number> {
  prompt('Type the secret, then Enter and Ctrl-D: ')
  const secret = (await text(process.stdin)).replace(/\r?\n$/, '')
  if (secret === '') throw new CommandFailed('standard input is empty; send the secret there')
  print(await hashSecret(secret))
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
