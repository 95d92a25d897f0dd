import { readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { readBody, readQuery } from '../../src/body/read.ts'
import { version1 } from '../../src/calls/read-request.ts'
import { serviceRequest } from '../../src/calls/service-request.ts'
import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import type { Catalog, Endpoint } from '../../src/mapping/catalog.ts'
import type { CompiledAction } from '../../src/mapping/compile.ts'
import { entryWith } from '../../src/mapping/overlay.ts'
import { type Draft, valueAt } from '../../src/mapping/paths.ts'
import type { Explanation, KnownFacts } from '../../src/mapping/request.ts'
import { createService, type Outgoing } from '../../src/service/service.ts'
import { createUpstream } from '../../src/service/upstream.ts'
import { parseJson } from '../../src/text/json.ts'

/** Fields as JSON, or a whole body as text. */
const request = z.union([z.string(), z.record(z.string(), z.unknown())])
/** `true` where only the presence of the remark counts. */
const remark = z.union([z.string(), z.literal(true)]).optional()

const caseSchema = z
  .strictObject({
    /** The purpose of the case. */
    about: z.string().min(1),
    /** The operator's settings, as environment variables. */
    settings: z.record(z.string(), z.string()).optional(),
    /** Calls that the gateway remembers, and what the service answered. */
    earlier: z
      .array(z.strictObject({ action: z.string(), request, service: z.record(z.string(), z.unknown()) }))
      .optional(),
    /** The path of the call. @default the action's first path */
    path: z.string().optional(),
    /** The version-1 call; without one, only the reply is translated. */
    request: request.optional(),
    /** The shipment at the service, into which an update is merged. */
    current: z.record(z.string(), z.unknown()).optional(),
    /** The request that the service gets. */
    sends: z.strictObject({ method: z.string(), path: z.string(), body: z.unknown().optional() }).optional(),
    /** Every field that cannot be translated; nothing is sent then. */
    problems: z
      .array(z.strictObject({ field: z.string(), code: z.string().optional(), message: z.string().optional() }))
      .optional(),
    /** Every row with a loss, an assumption or a warning. */
    notes: z.array(z.strictObject({ to: z.string(), loss: remark, assumed: remark, warning: remark })).optional(),
    /** Places whose value comes from the remembered quote. */
    remembered: z.array(z.string()).optional(),
    /** Every documented field that was sent and is not used. */
    unused: z.array(z.string()).optional(),
    /** Every field that the action does not know. */
    unknown: z.array(z.string()).optional(),
    /** The service's reply; `null` has no body. */
    service: z.unknown().optional(),
    /** The answer to the caller. */
    replies: z.record(z.string(), z.string()).optional(),
    /** Required places that the service's reply lacks. */
    missing: z.array(z.string()).optional(),
    /** The status of a call that fails for another reason than `problems` or `missing`. */
    status: z.int().optional(),
    /** Texts that the caller's `Message` must contain. */
    says: z.array(z.string()).optional(),
  })
  .refine((one) => CHECKS.some((key) => one[key] !== undefined), 'checks nothing')
  .refine((one) => one.request !== undefined || one.service !== undefined, 'has neither a request nor a reply')

const CHECKS = [
  'sends',
  'problems',
  'notes',
  'remembered',
  'unused',
  'unknown',
  'replies',
  'missing',
  'status',
  'says',
] as const

/** One case; each of its keys is checked. */
export type Case = z.infer<typeof caseSchema>

/** A case and its place. */
export interface Filed {
  /** `<action>/<behavior>`. */
  readonly name: string
  readonly action: string
  readonly text: string
}

/** Every case file. */
export function caseFiles(): readonly Filed[] {
  return readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => {
      const name = file.replaceAll('\\', '/').replace(/\.json$/, '')
      return { name, action: name.split('/')[0] ?? '', text: readFileSync(`${import.meta.dirname}/${file}`, 'utf8') }
    })
}

/** Reads a case; throws if it has an unknown key or checks nothing. */
export function readCase(text: string): Case {
  return caseSchema.parse(parseJson(text))
}

/** The legacy call of a case. */
export interface LegacyCall {
  readonly endpoint: Endpoint
  readonly path: string
  readonly body: string | undefined
}

const builtIn = await loadMappings()

/** An action by its name; a case of no action is a mistake. @default catalog: the built-in one */
export function actionOf(name: string, catalog: Catalog = builtIn): CompiledAction {
  const compiled = catalog.actions.get(name)
  if (!compiled) throw new Error(`there is no action ${name}`)
  return compiled
}

/** The method and path of a request. */
export function legacyCall(
  compiled: CompiledAction,
  sent: NonNullable<Case['request']>,
  path?: string,
  catalog: Catalog = builtIn,
): LegacyCall {
  const to = path ?? String(compiled.action.legacy.paths[0])
  const endpoint = catalog.endpoints.get(to.toLowerCase())
  if (!endpoint) throw new Error(`${to} is no legacy path`)
  if (endpoint.method === 'POST') {
    return { endpoint, path: to, body: typeof sent === 'string' ? sent : JSON.stringify(sent) }
  }
  const query = typeof sent === 'string' ? sent : new URLSearchParams(sent as Record<string, string>).toString()
  return { endpoint, path: `${to}?${query}`, body: undefined }
}

/** A call translated without a server. */
export interface Translated {
  readonly outgoing: Outgoing
  readonly explanations: readonly Explanation[]
  readonly problems: readonly { readonly field: string; readonly code: string; readonly message: string }[]
  readonly fields: ReturnType<typeof version1>['fields']
  readonly facts: KnownFacts | undefined
  readonly own: string | undefined
}

interface Remembered {
  readonly id: string
  readonly own: string | undefined
  readonly facts: KnownFacts
}

const configs = new Map<string, ReturnType<typeof readConfig>>()

/** The operator's settings of a case. */
export function configOf(one: Case) {
  const key = JSON.stringify(one.settings ?? {})
  const known = configs.get(key) ?? readConfig({ V2_BASE_URL: 'https://service.example.com', ...one.settings })
  configs.set(key, known)
  return known
}

/** Translates by the compiled catalog alone, with a cross-reference that is a plain map. */
export function translate(
  one: Case,
  compiled: CompiledAction,
  sent: NonNullable<Case['request']>,
  catalog: Catalog = builtIn,
): Translated {
  const config = configOf(one)
  const settings = translationSettings(config)
  const names = new Map<string, Remembered>()
  for (const call of one.earlier ?? []) {
    const known = actionOf(call.action, catalog)
    const intake = intakeOf(known, call.request, catalog)
    const before = meant(known, intake.sent, names)
    const { body } = known.request(intake.fields, { settings, facts: before?.facts })
    const { facts } = known.remember(intake.fields, body, settings)
    const { xrefRecord } = known.action
    const id = String(valueAt(call.service, [xrefRecord?.id ?? '']) ?? before?.id)
    const kept = { id, own: intake.sent('ShipmentNumber') ?? before?.own, facts: { ...before?.facts, ...facts } }
    const also = (xrefRecord?.replyNames ?? []).flatMap((place) => String(valueAt(call.service, [place])))
    for (const name of [...(xrefRecord?.names ?? []).flatMap((field) => intake.sent(field) ?? []), ...also]) {
      names.set(name, kept)
    }
  }

  const intake = intakeOf(compiled, sent, catalog)
  const found = meant(compiled, intake.sent, names)
  const { target } = compiled.action
  const facts = found && { ...found.facts, quote_id: found.id }
  const explanations: Explanation[] = []
  const { body, problems } = compiled.request(intake.fields, { settings, facts, explanations })
  const unnamed =
    target && !found ? [{ field: target.namedBy[0] ?? '', code: 'required', message: 'names nothing' }] : []
  const service = createService(config, createUpstream({ connections: 1, timeoutMs: 1 }))
  const whole = one.current
    ? laidOver(compiled, one.current, withoutName(compiled, intake.sent, body), intake.sent)
    : body
  const request = serviceRequest(compiled.action, whole, target && (found?.id ?? 'nothing'))
  return {
    outgoing: service.outgoing(request, { ...config.V2_BASE_URL, scheme: config.V2_TOKEN }),
    explanations,
    problems: [...unnamed, ...problems],
    fields: intake.fields,
    facts,
    own: target?.kind === 'shipment' ? found?.own : (intake.sent('ShipmentNumber') ?? found?.own),
  }
}

function intakeOf(compiled: CompiledAction, sent: NonNullable<Case['request']>, catalog: Catalog) {
  const { endpoint, path, body } = legacyCall(compiled, sent, undefined, catalog)
  const read =
    endpoint.method === 'GET' ? readQuery(path.split('?')[1] ?? '') : readBody(Buffer.from(body ?? ''), undefined)
  return version1(compiled, read)
}

type Sent = (field: string) => string | undefined

function meant({ action }: CompiledAction, sent: Sent, names: ReadonlyMap<string, Remembered>): Remembered | undefined {
  const values = (action.target?.namedBy ?? action.quoteNamedBy ?? []).flatMap((field) => sent(field) ?? [])
  const known = values.flatMap((value) => names.get(value) ?? [])[0]
  if (known || !action.target) return known
  return values.slice(0, 1).map((id) => ({ id, own: undefined, facts: {} }))[0]
}

/** The field that names a shipment does not change it. */
function withoutName({ action }: CompiledAction, sent: Sent, body: Draft): Draft {
  const by = action.target?.namedBy.find((field) => sent(field) !== undefined)
  const { external_id: name, ...rest } = body
  return by === 'ReferenceNumber' ? rest : { ...rest, ...(name !== undefined && { external_id: name }) }
}

function laidOver(compiled: CompiledAction, current: object, body: Draft, sent: Sent): Draft {
  return compiled.overlay(current, body, entryWith(valueAt(current, ['vehicles']), 'vin', sent('VinNo')))
}
