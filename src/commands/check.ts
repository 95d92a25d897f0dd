import type { Config } from '../config/config.ts'
import { type EffectiveVariable, effectiveVariables } from '../config/effective.ts'
import { loadConfig } from '../config/load.ts'
import type { Tenant } from '../config/tenants-file.ts'
import { readOperands } from './arguments.ts'
import { print, printError, printJson } from './output.ts'
import { slipsIn } from './slips.ts'

/** Checks everything that `serve` checks before it starts, and prints the configuration in effect, without secrets. */
export async function check(args: readonly string[]): Promise<number> {
  const { values } = readOperands('check', args, {
    usage: ['Usage: transload check [--json]'],
    options: { json: { type: 'boolean' } },
    operands: [],
    explained: { json: 'Prints the configuration in effect as JSON.' },
    examples: [
      'V2_BASE_URL=https://service.example.com transload check',
      'V2_BASE_URL=https://service.example.com transload check --json',
    ],
  })
  const { config, catalog, tenants } = await loadConfig()
  const variables = effectiveVariables(process.env)
  const warnings = slipsIn(process.env, new Set(tenants.flatMap(variablesOf)))
  const counts = { actions: catalog.actions.size, paths: catalog.endpoints.size, tenants: tenants.length }
  if (values.json) {
    printJson({ ...counts, variables, warnings }, 2)
  } else {
    print(
      `The configuration is valid: ${counts.actions} actions at ${counts.paths} legacy paths.`,
      ...(recordsEventsOnly(config) ? [EVENTS_ONLY] : []),
      '',
      ...linesOf(variables),
    )
    printError(...warnings.map((warning) => `warning: ${warning}`))
  }
  return 0
}

const EVENTS_ONLY =
  'Events are recorded only: set WEBHOOK_CLIENT_ID and WEBHOOK_CLIENT_SECRET to let the gateway read their shipments.'

/** In client mode, the gateway has no credential but one for events. */
function recordsEventsOnly(config: Config): boolean {
  const { WEBHOOK_SECRET: secrets, WEBHOOK_CLIENT_ID: own, V2_CLIENT_ID: fixed, TENANTS_FILE: tenants } = config
  return secrets !== undefined && [own, fixed, tenants].every((set) => set === undefined)
}

/** Returns the variables that hold a tenant's secrets. */
function variablesOf({ v2, webhook_secret, webhook_signing_secret, callback_secrets }: Tenant): readonly string[] {
  const references = [v2.client_secret, webhook_secret, webhook_signing_secret, ...(callback_secrets ?? [])]
  return references.flatMap((reference) => (reference && 'env' in reference ? [reference.env] : []))
}

function linesOf(variables: readonly EffectiveVariable[]): readonly string[] {
  const width = Math.max(...variables.map(({ name }) => name.length))
  return variables.map(({ name, value, from }) =>
    from === 'nowhere'
      ? `${name.padEnd(width)}  not set`
      : `${name.padEnd(width)}  ${from.padEnd('environment'.length)}  ${value}`,
  )
}
