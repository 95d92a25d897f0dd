import { z } from 'zod'
import { answerToBody, explainPlan, planFromNames } from '../../calls/dry-run.ts'
import type { Plan } from '../../calls/plan.ts'
import { classify, type Version1, version1 } from '../../calls/read-request.ts'
import type { Config } from '../../language/config/config.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { GatewayError, gatewayError } from '../../language/errors.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import type { FlatBody, Problem } from '../../language/mapping/fields.ts'
import { isObject } from '../../language/text/json.ts'
import { openService } from '../../outside/service/service.ts'
import { type Mask, maskedBody } from '../../runtime/record.ts'
import { type RecordedCall, recordOf } from './recording.ts'
import { classified, createRoutes, fieldsIn, targetOf } from './rehearsal.ts'

const text = z.string().optional()
const texts = z.array(z.string()).optional()
const fields = z.record(z.string(), z.unknown())

/**
 * A call: a line of a recording, a test case, or a report of a mistake. It has only what it is about: the request, what goes
 * to the service, the service's reply, what comes back. `docs/writing-a-mapping.md` describes the members.
 */
export const caseSchema = z.strictObject({
  about: z.string().min(1).optional(),
  action: text,
  settings: z.record(z.string(), z.string()).optional(),
  at: z.union([z.string(), z.number()]).optional(),
  method: text,
  path: text,
  version: text,
  client: text,
  source: text,
  headers: fields.optional(),
  request: z.union([z.string(), fields]).optional(),
  request_hex: text,
  sends: z.strictObject({ method: z.string(), path: z.string(), body: z.unknown().optional() }).optional(),
  problems: z.array(z.union([z.string(), z.strictObject({ field: z.string(), code: text, message: text })])).optional(),
  unused: texts,
  unknown: texts,
  service: z.unknown().optional(),
  replies: fields.optional(),
  missing: texts,
  status: z.int().optional(),
  shipment_id: text,
})

export type Case = z.output<typeof caseSchema>

/** The result of the gateway for a case, in the words of a case. */
export interface CaseOutcome extends Case {
  problems?: Problem[]
  replies?: Record<string, string>
}

/** Translates what a case has: its request, the reply of the service, or both. Sends nothing. */
export function outcomeOf(call: RecordedCall, config: Config, catalog: Catalog): CaseOutcome {
  const settings = translationSettings(config)
  try {
    const request = call.request || call.target?.includes('?') ? requestOf(call, config, catalog) : undefined
    const plan = request && planFromNames(request, settings)
    const compiled = request?.compiled ?? catalog.actions.get(call.action ?? '')
    const isAnswered = compiled && call.service !== undefined && (plan?.problems.length ?? 0) === 0
    const sent = plan && sentFor(plan, config)
    if (!isAnswered) return { ...sent }
    const { missing } = compiled.reply(call.service, { settings, own: plan?.own })
    if (missing.length > 0) return { ...sent, missing: [...missing] }
    const made = plan ?? planFromNames(version1(compiled, NO_FIELDS), settings)
    return { ...sent, replies: answerToBody(made, call.service).answer.reply }
  } catch (error) {
    if (error instanceof GatewayError) return { status: error.status }
    throw error
  }
}

const NO_FIELDS = { entries: [], format: 'json', text: '' } as const

/** Reads the request of a case. The action counts that it names, whatever its path would choose. */
function requestOf(call: RecordedCall, config: Config, catalog: Catalog): Version1 | undefined {
  const named = catalog.actions.get(call.action ?? '')
  const target = targetOf(call, catalog)
  const { endpoint } = target === undefined ? {} : createRoutes(catalog, config.LEGACY_BASE_PATHS)(target)
  if (named && (call.target === undefined || !endpoint)) {
    const fields = fieldsIn(call, call.target === undefined ? '' : named.action.legacy.method)
    // The first path of the action may refuse it: its `ActionName` is unknown there, or it mixes both versions.
    const own = catalog.endpoints.get((named.action.legacy.paths[0] ?? '').toLowerCase())
    if (own) classify(fields, own, catalog, {})
    return version1(named, fields)
  }
  if (!endpoint) throw gatewayError('path-unknown/admin', {})
  const request = classified(call, endpoint, catalog, {})
  return request.generation === 1 ? request : undefined
}

/** Explains a plan. The service's client is only asked how it would write the request. */
function sentFor(plan: Plan, config: Config): CaseOutcome {
  const { request, problems, unused, unknown } = explainPlan(plan, openService(config))
  const { origin, prefix } = config.V2_BASE_URL
  const path = request.url.slice(`${origin}${prefix}`.length)
  const sends = { method: request.method, path, ...('body' in request && { body: request.body }) }
  return {
    ...(problems.length === 0 ? { sends } : { problems: [...problems] }),
    unused: unused.map(({ field }) => field),
    unknown: [...unknown],
  }
}

/**
 * Makes a test case of a recorded call, with masked values: it expects what the gateway makes of them today. Undefined if the
 * line is no call of version 1.
 */
export function caseOf(
  call: RecordedCall,
  about: string,
  mask: Mask,
  config: Config,
  catalog: Catalog,
): CaseOutcome | undefined {
  const target = targetOf(call, catalog)
  const endpoint = target && createRoutes(catalog, config.LEGACY_BASE_PATHS)(target).endpoint
  if (!endpoint) return undefined
  const body = fieldsIn(call, endpoint.method)
  const text = maskedBody(body, mask)
  const type = call.contentType?.split(';', 1)[0]
  // A read without a query is a request that lacks its number; beside a reply alone, a path is none.
  const query = text === '' && (call.target === undefined || call.service !== undefined) ? '' : `?${text}`
  const made: CaseOutcome = {
    about,
    ...(call.target === undefined && { action: call.action }),
    ...(endpoint.method === 'GET'
      ? { path: endpoint.path + query }
      : {
          ...(call.target !== undefined && { path: endpoint.path }),
          request: isPlainObject(body) ? JSON.parse(text) : text,
        }),
    ...(type !== undefined && body.format === 'form' && { headers: { 'content-type': type } }),
    ...(call.service !== undefined && { service: maskedReply(call.service, '', mask) }),
  }
  const again = recordOf(made, '')
  if (!again) return undefined
  const { unused: _, ...outcome } = outcomeOf(again, config, catalog)
  return { ...made, ...outcome }
}

/** True for JSON fields whose names are all different: an object shows them as well. */
const isPlainObject = ({ entries, format }: FlatBody): boolean =>
  format === 'json' && new Set(entries.map(([name]) => name)).size === entries.length

/** Members of replies that say nothing of a person. */
const PLAIN = /price|status|type|state|year|operable/i

function maskedReply(value: unknown, name: string, mask: Mask): unknown {
  if (Array.isArray(value)) return value.map((one) => maskedReply(one, name, mask))
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskedReply(one, key, mask)]))
  if (value === null || typeof value === 'boolean' || PLAIN.test(name)) return value
  const text = mask(String(value), name)
  return typeof value === 'number' ? Number(text) || value : text
}
