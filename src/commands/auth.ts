import { type Config, readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { readTenants } from '../config/tenants-file.ts'
import { GatewayError } from '../errors.ts'
import { EXIT_USAGE } from '../exit-codes.ts'
import { type Account, openAccount } from '../service/account.ts'
import { basicOf } from '../service/basic.ts'
import { NoReply } from '../service/exchange.ts'
import { createUpstream } from '../service/upstream.ts'

/** Tries both ways to authenticate at the service and prints a table. */
export async function auth([verb]: readonly string[]): Promise<number> {
  if (verb !== 'rehearse') {
    process.stderr.write('Usage: transload auth rehearse\n')
    return EXIT_USAGE
  }
  const config = readConfig()
  const accounts = await accountsOf(config)
  if (accounts.length === 0) {
    process.stderr.write(
      'transload: there is no credential to try; set V2_CLIENT_ID and V2_CLIENT_SECRET, or TENANTS_FILE\n',
    )
    return EXIT_USAGE
  }
  const upstream = createUpstream({ connections: 1, timeoutMs: config.UPSTREAM_TIMEOUT_MS })
  const width = Math.max('tenant'.length, ...accounts.map(({ name }) => name.length))
  process.stdout.write(`${'tenant'.padEnd(width)}  basic                 oauth2\n`)
  let good = true
  for (const { name, basic, address } of accounts) {
    const results = []
    for (const scheme of ['basic', 'oauth2'] as const) {
      const timeoutMs = config.UPSTREAM_TIMEOUT_MS
      const account = openAccount({ upstream, ...address, basic, pool: name, scheme, timeoutMs })
      results.push(await attempt(account, config.UPSTREAM_TIMEOUT_MS))
    }
    good &&= results.some(({ accepted }) => accepted)
    process.stdout.write(
      `${name.padEnd(width)}  ${results
        .map(({ words }) => words.padEnd(20))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
  await upstream.close()
  return good ? 0 : 1

  async function attempt(account: Account, timeoutMs: number) {
    const deadline = performance.now() + timeoutMs
    try {
      const reply = await account.authorized(deadline, (authorization) =>
        upstream.call({
          method: 'GET',
          origin: account.origin,
          // Nothing has this id, so that reading it changes nothing and shows nothing.
          path: `${account.prefix}/v2/shipments/00000000-0000-4000-8000-000000000000`,
          headers: { accept: 'application/json', 'accept-encoding': 'identity', authorization },
          body: undefined,
          pool: account.pool,
          deadline,
        }),
      )
      const accepted = reply.status !== 401 && reply.status !== 403 && reply.status < 500
      return { accepted, words: accepted ? 'accepted' : `refused (${reply.status})` }
    } catch (error) {
      if (error instanceof GatewayError) return { accepted: false, words: `no token (${error.status})` }
      if (error instanceof NoReply) return { accepted: false, words: `no reply (${error.silence})` }
      throw error
    }
  }
}

async function accountsOf(config: Config) {
  const { V2_CLIENT_ID: id, V2_CLIENT_SECRET: secret, TENANTS_FILE: file, V2_BASE_URL } = config
  if (file === undefined) {
    return id === undefined || secret === undefined
      ? []
      : [{ name: id, basic: basicOf(id, secret), address: V2_BASE_URL }]
  }
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  return readTenants(file, new Set(catalog.actions.keys())).map(({ name, v2, secret: own }) => ({
    name,
    basic: basicOf(v2.client_id, own),
    address: v2.base_url ?? V2_BASE_URL,
  }))
}
