import { z } from 'zod'
import { planFromNames } from '../../calls/dry-run.ts'
import { answerToBody, explainPlan, explainVersion2 } from '../../calls/explain-plan.ts'
import type { Plan } from '../../calls/plan.ts'
import { classify, type Version1, version1 } from '../../calls/read-request.ts'
import { planVersion2, type Version2Plan } from '../../calls/version2.ts'
import type { Config } from '../../language/config/config.ts'
import { translationSettings } from '../../language/config/translation-settings.ts'
import { GatewayError, gatewayError } from '../../language/errors.ts'
import { type Catalog, firstEndpoint } from '../../language/mapping/catalog.ts'
import type { FlatBody, Problem } from '../../language/mapping/fields.ts'
import { isObject } from '../../language/text/json.ts'
import { openService } from '../../outside/service/service.ts'
import { type Mask, maskedBody } from '../../runtime/recorder.ts'
import { type RecordedCall, recordOf } from './recording.ts'
import { classified, createRoutes, fieldsIn, targetOf } from './rehearsal.ts'

const text = z.string().optional()
const texts = z.array(z.string()).optional()
const fields = z.record(z.string(), z.unknown())

/**
 * A call: a line of a recording, a test case, or a bug report. It has only the parts that matter: the request, the request to the service,
 * the service's reply, the reply to the caller. `docs/writing-a-mapping.md` describes the members.
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

/** The gateway's result for a case, in the same form as a case. */
export interface CaseOutcome extends Case {
  problems?: Problem[]
  replies?: Record<string, string>
}

/** Translates the request of a case, the service's reply, or both. Sends nothing. */
export function outcomeOf(call: RecordedCall, config: Config, catalog: Catalog): CaseOutcome {
  const settings = translationSettings(config)
  try {
    const request = call.request || call.target?.includes('?') ? requestOf(call, config, catalog) : undefined
    if (request && 'parse' in request) return sentFor(request, config)
    const plan = request && planFromNames(request, settings)
    const compiled = request?.compiled ?? catalog.actions.get(call.action ?? '')
    const isAnswered = compiled && call.service !== undefined && (plan?.problems.length ?? 0) === 0
    const sent = plan && sentFor(plan, config)
    if (!isAnswered) return { ...sent }
    const { missing } = compiled.reply(call.service, { settings, own: plan?.own })
    if (missing.length > 0) return { ...sent, missing: [...missing] }
    const made = plan ?? planFromNames(version1(compiled, []), settings)
    return { ...sent, replies: answerToBody(made, call.service).answer.reply }
  } catch (error) {
    if (error instanceof GatewayError) return { status: error.status }
    throw error
  }
}

/** Reads the request of a case. The action that it names takes precedence over the one that its path would select. */
function requestOf(call: RecordedCall, config: Config, catalog: Catalog): Version1 | Version2Plan {
  const named = catalog.actions.get(call.action ?? '')
  const endpoint = endpointOf(call, config, catalog)
  if (named && (call.target === undefined || !endpoint)) {
    const fields = fieldsIn(call, call.target === undefined ? '' : named.action.legacy.method)
    // The first path of the action may refuse the call, because its `ActionName` is unknown there or it mixes both versions.
    classify(fields, firstEndpoint(named.action, catalog), catalog, {})
    return version1(named, fields.entries)
  }
  if (!endpoint) throw gatewayError('path-unknown/admin', {})
  const request = classified(call, endpoint, catalog, {})
  return request.generation === 1 ? request : planVersion2(request, endpoint)
}

/** Returns the endpoint of a call's path; undefined if it has none. */
const endpointOf = (call: RecordedCall, { LEGACY_BASE_PATHS }: Config, catalog: Catalog) =>
  createRoutes(catalog, LEGACY_BASE_PATHS)(targetOf(call, catalog) ?? '').endpoint

/** Explains a plan. The client of the service only shows how it would write the request. */
function sentFor(plan: Plan | Version2Plan, config: Config): CaseOutcome {
  const to = openService(config)
  const { request, problems, unused, unknown } = 'parse' in plan ? explainVersion2(plan, to) : explainPlan(plan, to)
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
 * Makes a test case with masked values from a recorded call; it expects the gateway's present results. Undefined if the line is not a
 * version-1 call.
 */
export function caseOf(
  call: RecordedCall,
  about: string,
  mask: Mask,
  config: Config,
  catalog: Catalog,
): CaseOutcome | undefined {
  const endpoint = endpointOf(call, config, catalog)
  if (!endpoint) return undefined
  const { method = endpoint.method, request } = call
  // A call that its method refuses need not have a body.
  const body = fieldsIn(call, method !== endpoint.method && !request?.length ? 'GET' : endpoint.method)
  const text = maskedBody(body, mask)
  const type = call.contentType?.split(';', 1)[0]
  // A read without a query is a request that lacks its number; with only a reply, a path is not a request.
  const query = text === '' && (call.target === undefined || call.service !== undefined) ? '' : `?${text}`
  const made: CaseOutcome = {
    about,
    ...(call.target === undefined && { action: call.action }),
    ...(method !== endpoint.method && { method }),
    ...(endpoint.method === 'GET' && body.format === 'form'
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

/** Reports whether the fields are JSON with distinct names, so that an object can hold them. */
const isPlainObject = ({ entries, format }: FlatBody): boolean =>
  format === 'json' && new Set(entries.map(([name]) => name)).size === entries.length

/** Members of replies that contain no personal data. */
const PLAIN = /price|status|type|state|year|operable/i

function maskedReply(value: unknown, name: string, mask: Mask): unknown {
  if (Array.isArray(value)) return value.map((one) => maskedReply(one, name, mask))
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, maskedReply(one, key, mask)]))
  if (value === null || typeof value === 'boolean' || PLAIN.test(name)) return value
  const text = mask(String(value), name)
  return typeof value === 'number' ? Number(text) || value : text
}
