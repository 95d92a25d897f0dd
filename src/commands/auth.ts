import { readConfig } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import { NO_SHIPMENT } from '../service/acceptance.ts'
import type { Account } from '../service/account.ts'
import { NoReply } from '../service/exchange.ts'
import { openUpstream } from '../service/open.ts'
import type { Upstream } from '../service/upstream.ts'
import { ownAccounts } from './accounts.ts'
import { readArguments } from './arguments.ts'
import { CommandFailed } from './failures.ts'
import { print } from './output.ts'

const SCHEMES = ['basic', 'oauth2'] as const
const COLUMN_CHARACTERS = 20

/** Tries both ways to authenticate at the service and prints a table. */
export async function auth(args: readonly string[]): Promise<number> {
  readArguments(args, {
    usage: ['Usage: transload auth rehearse'],
    options: {},
    verbs: { rehearse: { operands: [], options: [] } },
  })
  const config = readConfig()
  const accounts = await ownAccounts(config)
  if (accounts.length === 0) {
    throw new CommandFailed('there is no credential to try; set V2_CLIENT_ID and V2_CLIENT_SECRET, or TENANTS_FILE')
  }
  const upstream = openUpstream(config)
  const width = Math.max('tenant'.length, ...accounts.map(({ tenant }) => tenant.length))
  const line = (tenant: string, cells: readonly string[]) =>
    [tenant.padEnd(width), ...cells.map((cell) => cell.padEnd(COLUMN_CHARACTERS))].join('  ').trimEnd()
  print(line('tenant', SCHEMES))
  let allAccepted = true
  for (const { tenant, open } of accounts) {
    const attempts = []
    for (const scheme of SCHEMES) {
      attempts.push(await attempt(open(upstream, scheme), upstream, config.UPSTREAM_TIMEOUT_MS))
    }
    allAccepted &&= attempts.some(({ accepted }) => accepted)
    print(
      line(
        tenant,
        attempts.map(({ outcome }) => outcome),
      ),
    )
  }
  await upstream.close()
  return allAccepted ? 0 : 1
}

async function attempt(account: Account, upstream: Upstream, timeoutMs: number) {
  const deadline = performance.now() + timeoutMs
  try {
    const { status } = await account.authorized(deadline, (authorization) =>
      upstream.call({
        method: 'GET',
        origin: account.origin,
        path: `${account.prefix}/v2/shipments/${NO_SHIPMENT}`,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', authorization },
        body: undefined,
        pool: account.pool(),
        deadline,
      }),
    )
    const accepted = status !== 401 && status !== 403 && status < 500
    return { accepted, outcome: accepted ? 'accepted' : `refused (${status})` }
  } catch (error) {
    if (error instanceof GatewayError) return { accepted: false, outcome: `no token (${error.status})` }
    if (error instanceof NoReply) return { accepted: false, outcome: `no reply (${error.silence})` }
    throw error
  }
}
