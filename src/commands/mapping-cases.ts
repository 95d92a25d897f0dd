import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { readBody } from '../body/read.ts'
import { planFromNames } from '../calls/dry-run.ts'
import { explainPlan } from '../calls/explain.ts'
import { version1 } from '../calls/read-request.ts'
import { type Config, readConfig } from '../config/config.ts'
import { issueText } from '../config/issues.ts'
import { readJsonFile } from '../config/json-file.ts'
import { translationSettings } from '../config/translation-settings.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import { explainReplyTranslation } from '../mapping/explain.ts'
import { createService } from '../service/service.ts'
import { createUpstream } from '../service/upstream.ts'
import { suggestion } from '../text/nearest.ts'
import { CommandFailed, isSystemError, systemReason } from './failures.ts'
import { withoutService } from './store.ts'

const fields = z.record(z.string(), z.unknown())

/** A case file: a request and what the service gets, a reply of the service and what the caller gets, or both. */
const caseSchema = z
  .strictObject({
    action: z.string(),
    about: z.string().optional(),
    request: fields.optional(),
    sends: z.strictObject({ method: z.string(), path: z.string(), body: z.unknown().optional() }).optional(),
    problems: z.array(z.string()).optional(),
    unused: z.array(z.string()).optional(),
    unknown: z.array(z.string()).optional(),
    service: z.unknown().optional(),
    replies: fields.optional(),
  })
  .refine(({ request, service }) => request !== undefined || service !== undefined, 'needs a request or a service')

type Case = z.output<typeof caseSchema>

export interface CaseResult {
  readonly file: string
  /** A line for each difference; none if the case passes. */
  readonly failures: readonly string[]
}

/** Returns the case files of a folder, in its subfolders too. */
export function caseFilesIn(folder: string): readonly string[] {
  try {
    if (!statSync(folder).isDirectory()) return [folder]
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((name) => join(folder, name))
  } catch (error) {
    throw isSystemError(error) ? new CommandFailed(systemReason(error, folder)) : error
  }
}

/** Runs a case file against the actions. */
export function runCase(file: string, actions: ReadonlyMap<string, CompiledAction>): CaseResult {
  const read = readJsonFile(file)
  if ('error' in read) return { file, failures: [read.error] }
  const parsed = caseSchema.safeParse(read.content)
  if (!parsed.success) {
    return {
      file,
      failures: parsed.error.issues.map((issue) =>
        [read.placeOf(issue), issue.path.join('.'), issueText(issue)].filter(Boolean).join(': '),
      ),
    }
  }
  const compiled = actions.get(parsed.data.action)
  if (compiled) return { file, failures: failuresOf(parsed.data, compiled) }
  const { action } = parsed.data
  return { file, failures: [`action: there is no action ${action}${suggestion(action, [...actions.keys()])}`] }
}

function failuresOf(one: Case, compiled: CompiledAction): readonly string[] {
  const config = readConfig(withoutService())
  return [
    ...(one.request === undefined ? [] : requestFailures(one, one.request, compiled, config)),
    ...(one.service === undefined ? [] : replyFailures(one, compiled, config)),
  ]
}

function requestFailures(one: Case, request: object, compiled: CompiledAction, config: Config): readonly string[] {
  const body = readBody(Buffer.from(JSON.stringify(request)), undefined)
  const address = { ...config.V2_BASE_URL, scheme: config.V2_TOKEN }
  const run = explainPlan(planFromNames(version1(compiled, body), translationSettings(config)), {
    // Nothing is sent; the service is only asked how it would write the request.
    service: createService(config, createUpstream({ connections: 1, timeoutMs: 1 })),
    address,
  })
  const path = run.request.url.slice(`${address.origin}${address.prefix}`.length)
  const sent = { method: run.request.method, path, ...('body' in run.request && { body: run.request.body }) }
  return [
    ...difference(
      'problems',
      one.problems ?? [],
      run.problems.map(({ field }) => field),
    ),
    ...(run.problems.length === 0 ? difference('sends', one.sends, sent) : []),
    ...difference(
      'unused',
      one.unused,
      run.unused.map(({ field }) => field),
    ),
    ...difference('unknown', one.unknown, run.unknown),
  ]
}

function replyFailures(one: Case, compiled: CompiledAction, config: Config): readonly string[] {
  const { reply, missing } = explainReplyTranslation(compiled, one.service, translationSettings(config), undefined)
  return missing.length > 0
    ? [`replies: the reply lacks ${missing.join(', ')}`]
    : difference('replies', one.replies, reply)
}

/** Compares values as JSON shows them; an absent expectation is met by anything. */
function difference(key: string, expected: unknown, actual: unknown): readonly string[] {
  if (expected === undefined) return []
  const shown = JSON.stringify(actual)
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(expected)), JSON.parse(shown))) return []
  return [`${key}: expected ${JSON.stringify(expected)}`, `${' '.repeat(key.length)}       got ${shown}`]
}
