import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Assumption, assumptions, type Result, tryAll } from '../../src/labs/certify/assumptions.ts'
import { cleanUp, openJournal } from '../../src/labs/certify/journal.ts'
import { openTrial, shape } from '../../src/labs/certify/trial.ts'
import { readConfig } from '../../src/language/config/config.ts'
import { openAccount } from '../../src/outside/service/account.ts'
import { openUpstream } from '../../src/outside/service/upstream.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { basic } from '../gateway.ts'
import { deviationNames, type Fault, type SandboxOptions, startSandbox } from '../stand-in/stand-in.ts'

/** A stand-in for the service that is certified. */
export interface Setting extends SandboxOptions {
  readonly faults?: readonly Fault[]
}

/** The assumptions that the stand-in confirms only with a setting, or contradicts with something other than the deviation of that name. */
const { confirming, contradictory }: Readonly<Record<string, Readonly<Record<string, Setting>>>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'settings.json'), 'utf8'),
)
export const CONFIRMING = confirming ?? {}

/** Returns a stand-in that contradicts an assumption. */
export function contradicting({ id }: Assumption): Setting {
  const name = deviationNames.find((known) => known === id)
  return contradictory?.[id] ?? { deviations: name === undefined ? [] : [name] }
}

/** Checks one assumption, or all of them, with a stand-in. */
export async function tried(id: string | undefined, { faults = [], ...options }: Setting, mayBook = true) {
  const sandbox = await startSandbox(options)
  sandbox.fail(...faults)
  const config = readConfig({ V2_BASE_URL: sandbox.url, UPSTREAM_TIMEOUT_MS: '10000' })
  const upstream = openUpstream(config)
  const place = { origin: sandbox.url, prefix: '' }
  const authorization = basic()
  const scheme = options.auth === 'bearer' ? 'oauth2' : 'basic'
  const account = openAccount({ upstream, ...place, basic: authorization, pool: 'test', scheme, timeoutMs: 10_000 })
  const file = join(folder(), 'journal.ndjson')
  const journal = openJournal(file, { address: sandbox.url, tenant: 'demo' })
  const trial = openTrial({
    config,
    upstream,
    account,
    basic: authorization,
    journal,
    run: 'test',
  })
  onTestFinished(async () => {
    await upstream.close()
    await sandbox.close()
  })
  const all: Result[] = []
  const wanted = assumptions.filter((one) => id === undefined || one.id === id)
  for await (const [, result] of tryAll(wanted, trial, mayBook)) all.push(result)
  const requests = sandbox.requests.map(({ method, path }) => `${method} ${shape(path)}`)
  const [result] = all
  return { result, all, sandbox, requests, file, clean: () => cleanUp(trial, journal) }
}
