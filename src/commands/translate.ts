import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readBody } from '../body/read.ts'
import { planFromNames } from '../calls/dry-run.ts'
import { type DryRun, explainPlan } from '../calls/explain.ts'
import { version1 } from '../calls/read-request.ts'
import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { GatewayError } from '../errors.ts'
import { EXIT_USAGE } from '../exit-codes.ts'
import { settingsOf } from '../gateway.ts'
import { createService } from '../service/service.ts'
import { createUpstream } from '../service/upstream.ts'

/** Where requests would go, if the environment does not say. */
const NOWHERE = 'https://service.example.com'
const STANDARD_INPUT = 0

/** Explains the translation of one version-1 request from a file or standard input; sends nothing. */
export async function translate(words: readonly string[]): Promise<number> {
  const asked = readWords(words)
  if (typeof asked === 'string') return misuse(asked)
  const { name, file, json } = asked
  const config = readConfig({ V2_BASE_URL: NOWHERE, ...process.env })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const compiled = catalog.actions.get(name)
  if (!compiled) return misuse(`translate needs an action, one of ${[...catalog.actions.keys()].join(', ')}`)
  let body: ReturnType<typeof readBody>
  try {
    body = readBody(readFileSync(file ?? STANDARD_INPUT), undefined)
  } catch (error) {
    process.stderr.write(
      `transload: ${error instanceof GatewayError || error instanceof Error ? error.message : error}\n`,
    )
    return EXIT_PROBLEMS
  }
  const upstream = createUpstream({ connections: 1, timeoutMs: 1 })
  const run = explainPlan(planFromNames(version1(compiled, body), settingsOf(config)), {
    service: createService(config, upstream),
    address: { ...config.V2_BASE_URL, scheme: config.V2_TOKEN },
  })
  process.stdout.write(json ? `${JSON.stringify(run, null, 2)}\n` : inWords(run))
  return run.ok ? 0 : EXIT_PROBLEMS
}

const EXIT_PROBLEMS = 1

/** What is asked for, or what is wrong with how. */
function readWords(words: readonly string[]) {
  const options = { json: { type: 'boolean', default: false } } as const
  try {
    const { positionals, values } = parseArgs({ args: [...words], allowPositionals: true, options })
    const [name = '', file, ...rest] = positionals
    return rest.length === 0 ? { name, file, json: values.json } : 'translate takes one file'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function misuse(complaint: string): number {
  process.stderr.write(`transload: ${complaint}\nUsage: transload translate <action> [file] [--json]\n`)
  return EXIT_USAGE
}

function inWords(run: DryRun): string {
  const width = Math.max(0, ...run.fields.map(({ to }) => to.length))
  const from = (row: DryRun['fields'][number]) => (row.from.length > 0 ? row.from.join(' + ') : row.origin)
  const remarks = (row: DryRun['fields'][number]) =>
    [
      row.loss && `lost: ${row.loss}`,
      row.assumed && `assumed: ${row.assumed}`,
      row.warning && `warning: ${row.warning}`,
    ]
      .filter(Boolean)
      .map((remark) => `  (${remark})`)
      .join('')
  const section = (title: string, lines: readonly string[]) =>
    lines.length > 0 ? ['', title, ...lines.map((line) => `  ${line}`)] : []
  return [
    `${run.action}: ${run.request.method} ${run.request.url}`,
    ...section(
      'Fields',
      run.fields.map((row) => `${row.to.padEnd(width)}  ${JSON.stringify(row.after)}  ← ${from(row)}${remarks(row)}`),
    ),
    ...section(
      'Unused',
      run.unused.map(({ field, why }) => `${field}: ${why}`),
    ),
    ...section('Unknown', run.unknown),
    ...section(
      'Problems',
      run.problems.map(({ message }) => message),
    ),
    ...section('Body', run.request.body ? [JSON.stringify(run.request.body)] : []),
    '',
  ].join('\n')
}
