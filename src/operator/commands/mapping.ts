import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { loadMappings } from '../../../mappings/load.ts'
import { explainCall } from '../../calls/dry-run.ts'
import type { DryRun } from '../../calls/explain-plan.ts'
import { createErrorAnswers } from '../../edge/answers.ts'
import { readBody } from '../../edge/body/read.ts'
import { type Case, type CaseOutcome, caseSchema, outcomeOf } from '../../labs/rehearse/case.ts'
import { readRecord } from '../../labs/rehearse/recording.ts'
import { createRoutes } from '../../labs/rehearse/rehearsal.ts'
import { type Config, readConfig } from '../../language/config/config.ts'
import { ConfigErrors } from '../../language/config/errors.ts'
import { issueText, readJsonFile } from '../../language/config/json-file.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { GatewayError, gatewayError } from '../../language/errors.ts'
import { type Catalog, firstEndpoint } from '../../language/mapping/catalog.ts'
import type { Problem } from '../../language/mapping/fields.ts'
import { suggestion } from '../../language/text/nearest.ts'
import { openService } from '../../outside/service/service.ts'
import { type Language, snippet } from '../pages/snippets.ts'
import { titled } from '../words.ts'
import { CommandFailed, EXIT_FAILED, namingFile, UsageError } from './failures.ts'
import { mappingsOf, withoutService } from './open-store.ts'
import { type JsonOption, print, printJson } from './output.ts'

/** Explains the translation of one version-1 request from a file or standard input; sends nothing. */
export async function translate(
  name: string,
  file: string | undefined,
  { json, as }: JsonOption & { readonly as?: Language },
): Promise<number> {
  const config = readConfig(withoutService())
  const catalog = await mappingsOf(config)
  const named = catalog.actions.get(name)
  const endpoint = named
    ? firstEndpoint(named.action, catalog)
    : createRoutes(catalog, config.LEGACY_BASE_PATHS)(name).endpoint
  if (!endpoint) throw unknownName(name, catalog, config)
  // Nothing is sent; the service is only asked how it would write the request.
  const rooms = {
    catalog,
    settings: translationSettings(config),
    answerError: createErrorAnswers(config, catalog),
    ...openService(config),
  }
  const isGiven = file !== undefined && file !== '-'
  let run: DryRun
  try {
    const bytes = await readUpTo(config.BODY_LIMIT_BYTES, isGiven ? createReadStream(file) : process.stdin)
    ;({ run } = explainCall(readBody(bytes, undefined), endpoint, rooms, named))
  } catch (error) {
    throw error instanceof GatewayError
      ? new CommandFailed(error.message)
      : namingFile(error, isGiven ? file : 'standard input')
  }
  if (as && run.ok) print(...snippet(as, run.request).trimEnd().split('\n'))
  else if (json) printJson(run, 2)
  else print(...explanationOf(run))
  return run.ok ? 0 : EXIT_FAILED
}

/** Reads a body; throws, as its call would be answered, if it is too large. */
async function readUpTo(bytes: number, input: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let left = bytes
  for await (const chunk of input) {
    chunks.push(chunk)
    left -= chunk.length
    if (left < 0) throw gatewayError('body-too-large', { bytes })
  }
  return Buffer.concat(chunks)
}

function unknownName(name: string, { actions, endpoints }: Catalog, { LEGACY_BASE_PATHS: bases }: Config): UsageError {
  const [kind, names] = name.startsWith('/')
    ? ['path', bases.flatMap((base) => [...endpoints.values()].map(({ path }) => base + path))]
    : ['action', [...actions.keys()]]
  return new UsageError(`unknown ${kind} ${name}${suggestion(name, names) || `; the ${kind}s are ${names.join(', ')}`}`)
}

/** Writes an explanation, what needs attention first. */
function explanationOf(run: DryRun): readonly string[] {
  const { action, ok, request, reply, fields, unused, unknown, didYouMean = {}, problems, remarks = [] } = run
  const width = Math.max(0, ...fields.map(({ to }) => to.length))
  const refused = new Set(problems.map(({ field }) => field))
  return [
    `${action}: ${ok ? `${request.method} ${request.url}` : `refused with ${reply.status}, so nothing would be sent`}`,
    ...titled(
      'Problems',
      problems.map(({ message }) => message),
    ),
    ...titled(
      'Unknown',
      unknown
        .filter((name) => didYouMean[name] !== undefined || !refused.has(name))
        .map((name) => (didYouMean[name] ? `${name}; did you mean ${didYouMean[name]}?` : name)),
    ),
    ...titled(
      'Fields',
      fields.map((field) => {
        const from = field.from.length > 0 ? field.from.join(' + ') : field.origin
        return `${field.to.padEnd(width)}  ${JSON.stringify(field.after)}  ← ${from}${remarksOf(field)}`
      }),
    ),
    ...titled(
      'Without a version-2 field',
      unused.filter(({ field }) => !refused.has(field)).map(({ field, why }) => `${field}: ${why}`),
    ),
    ...(ok
      ? titled('Body', request.body ? [JSON.stringify(request.body)] : [])
      : titled('Answer', [JSON.stringify(reply.v1)])),
    ...titled('Notes', remarks),
  ]
}

function remarksOf({ loss, assumed, warning }: DryRun['fields'][number]): string {
  const remarks = Object.entries({ lost: loss, assumed, warning })
  return remarks.map(([kind, remark]) => (remark ? `  (${kind}: ${remark})` : '')).join('')
}

/** Runs the cases of a folder against the mappings in it. */
export async function test(
  directory = process.env['MAPPINGS_DIR']?.trim() || 'mappings',
  { json }: JsonOption,
): Promise<number> {
  const { LOOKUPS_FILE } = readConfig(withoutService())
  const catalog = await loadMappings(directory, LOOKUPS_FILE)
  const files = caseFilesIn(join(directory, 'cases'))
  const results = files.map((file) => ({ file, failures: runCase(file, catalog) }))
  const failed = results.filter(({ failures }) => failures.length > 0)
  for (const { file, failures } of results) {
    if (json) printJson({ file, passed: failures.length === 0, failures })
    else print(`${failures.length === 0 ? 'passed' : 'failed'}  ${file}`, ...failures.map((line) => `    ${line}`))
  }
  if (files.length === 0) throw new CommandFailed(`there are no cases in ${join(directory, 'cases')}`)
  if (!json) print(`${results.length - failed.length} passed, ${failed.length} failed`)
  return failed.length > 0 ? EXIT_FAILED : 0
}

/** Returns the case files of a folder, in its subfolders too. */
function caseFilesIn(folder: string): readonly string[] {
  try {
    if (!statSync(folder).isDirectory()) return [folder]
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((name) => join(folder, name))
  } catch (error) {
    throw namingFile(error, folder)
  }
}

/** Runs a case file against the actions; returns a line for each difference, none if the case passes. */
export function runCase(file: string, catalog: Catalog): readonly string[] {
  const read = readJsonFile(file)
  if ('error' in read) return [read.error]
  const { data: one, error: mistakes } = caseSchema.safeParse(read.content)
  if (mistakes)
    return mistakes.issues.map((issue) => [issue.path.join('.'), issueText(issue)].filter(Boolean).join(': '))
  const call = readRecord(readFileSync(file, 'utf8').replace(/^\ufeff/, ''), file)
  if (typeof call === 'string' || (!call.request && !call.target?.includes('?') && call.service === undefined))
    return ['needs a request or a service']
  const { action } = call
  const { actions } = catalog
  if (call.target === undefined && action !== undefined && !actions.has(action))
    return [`action: there is no action ${action}${suggestion(action, [...actions.keys()])}`]
  try {
    const config = readConfig({ ...withoutService(), ...one.settings })
    return failuresOf(one, outcomeOf(call, config, catalog))
  } catch (error) {
    // The settings of one case are no reason to run no other.
    if (!one.settings || !(error instanceof ConfigErrors)) throw error
    return error.errors.map((line) => `settings: ${line}`)
  }
}

/** Compares what a case expects with what comes of it. */
function failuresOf(one: Case, { status, ...made }: CaseOutcome): readonly string[] {
  const isRefused = (one.status ?? 0) >= 400
  if (status !== undefined) return difference('status', one.status ?? 200, status)
  const problems = one.problems ?? (isRefused ? undefined : [])
  return [
    ...difference('problems', problems, made.problems?.map((problem, i) => asExpected(problem, problems?.[i])) ?? []),
    ...difference('sends', one.sends, made.sends),
    ...difference('unused', one.unused?.toSorted(), made.unused?.toSorted()),
    ...difference('unknown', one.unknown, made.unknown),
    ...(made.missing && !one.missing ? [`replies: the reply lacks ${made.missing.join(', ')}`] : []),
    ...difference('missing', one.missing, made.missing ?? []),
    ...difference('replies', one.replies, made.replies),
  ]
}

/** Shows of a problem what a case expects of it: its field, and more where the case has it. */
const asExpected = (problem: Problem, expected: string | object = ''): unknown =>
  typeof expected === 'string'
    ? problem.field
    : Object.fromEntries(Object.entries(problem).filter(([key]) => key in expected))

/** Compares values as JSON shows them. An absent expectation is met by anything; what does not come of a case is not compared. */
function difference(key: string, expected: unknown, actual: unknown): readonly string[] {
  if (expected === undefined || actual === undefined) return []
  const shown = JSON.stringify(actual)
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(expected)), JSON.parse(shown))) return []
  return [`${key}: expected ${JSON.stringify(expected)}`, `${' '.repeat(key.length)}       got ${shown}`]
}
