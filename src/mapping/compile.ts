import type { Action } from './action.ts'
import { claims } from './check.ts'
import { type FieldIndex, type Fields, indexFields, type Problem } from './fields.ts'
import { compileOverlay, type Overlay } from './overlay.ts'
import type { Draft } from './paths.ts'
import { compileReply } from './reply.ts'
import { compileNeed, compileRequest, type Explanation, type KnownFacts, type Tables } from './request.ts'
import type { Row } from './row.ts'
import type { Settings } from './settings.ts'

/** What a request is translated with, besides the caller's fields. */
export interface RequestContext {
  readonly settings: Settings
  /** The remembered quote, where there is one. */
  readonly facts: KnownFacts | undefined
  /** The field that named the thing. It is not a change to it, so its rows do not run. */
  readonly namedBy?: string | undefined
  /** Where to put explanations, if they are wanted. */
  readonly explanations?: Explanation[]
}

export interface RequestTranslation {
  readonly body: Draft
  readonly problems: readonly Problem[]
}

/** What a reply is translated with, besides the service's body. */
export interface ReplyContext {
  readonly settings: Settings
  readonly own: string | undefined
  readonly explanations?: Explanation[]
}

export interface ReplyTranslation {
  readonly reply: Readonly<Record<string, string>>
  /** Places that the service had to fill and did not. */
  readonly missing: readonly string[]
}

/** An action whose rows have become steps. Pure: no clock, no store, no network. */
export interface CompiledAction {
  readonly action: Action
  readonly fields: FieldIndex
  /** Version 1 → version 2. */
  readonly request: (fields: Fields, context: RequestContext) => RequestTranslation
  /** The facts worth remembering; what cannot be read is left out, for it was not asked for. */
  readonly remember: (
    fields: Fields,
    body: Draft,
    settings: Settings,
  ) => { readonly facts: KnownFacts; readonly problems: readonly Problem[] }
  /** Version 2 → version 1. */
  readonly reply: (body: unknown, context: ReplyContext) => ReplyTranslation
  /** The sent fields laid over what the service has. */
  readonly overlay: Overlay
}

/** Compiles a checked declaration. */
export function compileAction(action: Action, tables: Tables): CompiledAction {
  const rememberRows = action.remember ?? []
  const fields = indexFields([...action.request, ...rememberRows].flatMap(claims))
  const requestStepsOf = (rows: readonly Row[]) => [
    ...compileRequest(rows, fields, tables),
    ...(action.needs ?? []).map((need) => compileNeed(need, fields)),
  ]
  const requestSteps = requestStepsOf(action.request)
  const requestStepsNamedBy = new Map(
    (action.finds?.by ?? []).map((field) => [field, requestStepsOf(action.request.filter((row) => !isOf(row, field)))]),
  )
  const rememberSteps = compileRequest(rememberRows, fields, tables)
  const replySteps = compileReply(action.reply)

  return {
    action,
    fields,
    request: ({ values, problems: sorting }, { settings, facts, namedBy, explanations }) => {
      const body: Draft = {}
      const problems = [...sorting]
      const run = { values, facts, settings, body, problems, explanations }
      const steps = namedBy === undefined ? requestSteps : (requestStepsNamedBy.get(namedBy) ?? requestSteps)
      for (const step of steps) step(run)
      return { body, problems }
    },
    remember: ({ values }, body, settings) => {
      const facts: Draft = { ...body }
      const problems: Problem[] = []
      const run = { values, facts: undefined, settings, body: facts, problems, explanations: undefined }
      for (const step of rememberSteps) step(run)
      // The rows' codecs give strings and integers, and a quote's body is flat.
      return { facts: facts as KnownFacts, problems }
    },
    reply: (body, { settings, own, explanations }) => {
      const run = { body, own, settings, reply: {} as Record<string, string>, missing: [] as string[], explanations }
      for (const step of replySteps) step(run)
      return run
    },
    overlay: compileOverlay(
      [...action.request, ...action.reply].flatMap((row) => (row.kind === 'v2Only' && row.serverSets ? [row.v2] : [])),
    ),
  }
}

/** Returns true for a row of this field alone. */
const isOf = (row: Row, field: string) => 'v1' in row && row.v1 === field
