import { readFileSync } from 'node:fs'
import { readBody } from '../body/read.ts'
import { planFromNames } from '../calls/dry-run.ts'
import { type DryRun, explainPlan } from '../calls/explain.ts'
import { version1 } from '../calls/read-request.ts'
import { readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { translationSettings } from '../config/translation-settings.ts'
import { GatewayError } from '../errors.ts'
import { EXIT_FAILED } from '../exit-codes.ts'
import { createService } from '../service/service.ts'
import { createUpstream } from '../service/upstream.ts'
import { suggestion } from '../text/nearest.ts'
import { readOperands } from './arguments.ts'
import { CommandFailed, isSystemError, systemReason, UsageError } from './failures.ts'
import { print, printJson } from './output.ts'
import { withoutService } from './store.ts'

const USAGE = ['Usage: transload translate <action> [file] [--json]']
const EXAMPLES = [
  'transload translate shipment.create body.json',
  `echo '{"ReferenceNumber":"REF-1"}' | transload translate shipment.get --json`,
]
const STANDARD_INPUT = 0

/** Explains the translation of one version-1 request from a file or standard input; sends nothing. */
export async function translate(args: readonly string[]): Promise<number> {
  const { operands, values } = readOperands('translate', args, {
    usage: USAGE,
    options: { json: { type: 'boolean' } },
    explained: { json: 'Prints the explanation as JSON, as /dry-run answers it.' },
    examples: EXAMPLES,
    operands: ['an action', '[file]'],
  })
  const [name = '', file] = operands
  const config = readConfig(withoutService())
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const compiled = catalog.actions.get(name)
  if (!compiled) {
    const known = [...catalog.actions.keys()]
    throw new UsageError(`unknown action ${name}${suggestion(name, known)}`, [
      ...USAGE,
      '',
      `Actions: ${known.join(', ')}`,
    ])
  }
  // Nothing is sent; the service is only asked how it would write the request.
  const service = createService(config, createUpstream({ connections: 1, timeoutMs: 1 }))
  const run = explainPlan(planFromNames(version1(compiled, bodyOf(file)), translationSettings(config)), {
    service,
    address: { ...config.V2_BASE_URL, scheme: config.V2_TOKEN },
  })
  if (values.json) printJson(run, 2)
  else print(...explanationOf(run))
  return run.ok ? 0 : EXIT_FAILED
}

function bodyOf(file: string | undefined): ReturnType<typeof readBody> {
  try {
    return readBody(readFileSync(file ?? STANDARD_INPUT), undefined)
  } catch (error) {
    if (error instanceof GatewayError) throw new CommandFailed(error.message)
    throw isSystemError(error) ? new CommandFailed(systemReason(error, file ?? 'standard input')) : error
  }
}

type Field = DryRun['fields'][number]

function explanationOf({ action, request, fields, unused, unknown, problems }: DryRun): readonly string[] {
  const width = Math.max(0, ...fields.map(({ to }) => to.length))
  const body = request.body ? [JSON.stringify(request.body)] : []
  return [
    `${action}: ${request.method} ${request.url}`,
    ...section(
      'Fields',
      fields.map((field) => {
        const from = field.from.length > 0 ? field.from.join(' + ') : field.origin
        return `${field.to.padEnd(width)}  ${JSON.stringify(field.after)}  ← ${from}${remarksOf(field)}`
      }),
    ),
    ...section(
      'Unused',
      unused.map(({ field, why }) => `${field}: ${why}`),
    ),
    ...section('Unknown', unknown),
    ...section(
      'Problems',
      problems.map(({ message }) => message),
    ),
    ...section('Body', body),
  ]
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length > 0 ? ['', title, ...lines.map((line) => `  ${line}`)] : []
}

function remarksOf({ loss, assumed, warning }: Field): string {
  const remarks = Object.entries({ lost: loss, assumed, warning })
  return remarks.map(([kind, remark]) => (remark ? `  (${kind}: ${remark})` : '')).join('')
}
