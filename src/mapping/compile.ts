import type { Action } from './action.ts'
import { compileFieldNames, type NameFields } from './field-names.ts'
import { type FieldIndex, type Fields, indexFields, type Problem } from './fields.ts'
import type { Note } from './notes.ts'
import { type Compare, compileCompare, compileOverlay, type Overlay } from './overlay.ts'
import type { Draft } from './paths.ts'
import { blankReply, compileReply } from './reply.ts'
import { compileRequest } from './request.ts'
import type { Explanation, KnownFacts, Tables } from './request-run.ts'
import { compileRequirement } from './requirement.ts'
import type { Row } from './row.ts'
import { fieldsOf } from './row-parts.ts'
import type { Settings } from './settings.ts'

/** The context of a request's translation. */
export interface RequestContext {
  readonly settings: Settings
  /** The facts of the remembered quote, if there is one. */
  readonly facts: KnownFacts | undefined
  /** The field that named the thing. It is not a change of the thing, so its rows do not run. */
  readonly namedBy?: string | undefined
  /** Receives explanations; absent in a real call. */
  readonly explanations?: Explanation[]
}

export interface RequestTranslation {
  readonly body: Draft
  readonly problems: readonly Problem[]
  /** The lost, assumed and suspicious parts of the translation. */
  readonly notes: readonly Note[]
}

/** The context of a reply's translation. */
export interface ReplyContext {
  readonly settings: Settings
  /** The caller's own number for the thing. */
  readonly own: string | undefined
  readonly explanations?: Explanation[]
}

export interface ReplyTranslation {
  readonly reply: Readonly<Record<string, string>>
  /** Required places that the service did not fill. */
  readonly missing: readonly string[]
}

/** An action whose rows are compiled into steps. Pure: no clock, no store, no network. */
export interface CompiledAction {
  readonly action: Action
  readonly fields: FieldIndex
  /** Translates version 1 to version 2. */
  readonly request: (fields: Fields, context: RequestContext) => RequestTranslation
  /** Returns the facts to remember. A value that cannot be read is left out: the call does not need it. */
  readonly remember: (
    fields: Fields,
    body: Draft,
    settings: Settings,
    explanations?: Explanation[],
  ) => { readonly facts: KnownFacts; readonly problems: readonly Problem[] }
  /** Translates version 2 to version 1. */
  readonly reply: (body: unknown, context: ReplyContext) => ReplyTranslation
  /** Names the caller's fields in a message of the service. */
  readonly nameFields: NameFields
  /** Merges the sent fields into the service's current state. */
  readonly overlay: Overlay
  /** Finds what the sent fields change of it. */
  readonly compare: Compare
}

/** Compiles a checked declaration. */
export function compileAction(action: Action, tables: Tables): CompiledAction {
  const rememberRows = action.remember ?? []
  const fields = indexFields([...action.request, ...rememberRows].flatMap(fieldsOf))
  const requestStepsOf = (rows: readonly Row[]) => [
    ...compileRequest(rows, fields, tables),
    ...(action.requires ?? []).map((requirement) => compileRequirement(requirement, fields, rows)),
  ]
  const requestSteps = requestStepsOf(action.request)
  const requestStepsNamedBy = new Map(
    (action.target?.namedBy ?? []).map((field) => [
      field,
      requestStepsOf(action.request.filter((row) => !isOf(row, field))),
    ]),
  )
  const rememberSteps = compileRequest(rememberRows, fields, tables)
  const replySteps = compileReply(action.reply)
  const blank = blankReply(action.reply)

  return {
    action,
    fields,
    request: ({ values, problems: sorting }, { settings, facts, namedBy, explanations }) => {
      const body: Draft = {}
      const problems = [...sorting]
      const notes: Note[] = []
      const run = { values, facts, settings, body, problems, notes, explanations }
      const steps = namedBy === undefined ? requestSteps : (requestStepsNamedBy.get(namedBy) ?? requestSteps)
      for (const step of steps) step(run)
      return { body, problems, notes }
    },
    remember: ({ values }, body, settings, explanations) => {
      const facts: Draft = { ...body }
      const problems: Problem[] = []
      const run = { values, facts: undefined, settings, body: facts, problems, notes: [], explanations }
      for (const step of rememberSteps) step(run)
      // The rows' codecs give strings and integers, and a quote's body is flat.
      return { facts: facts as KnownFacts, problems }
    },
    reply: (body, { settings, own, explanations }) => {
      const run = {
        body,
        own,
        settings,
        reply: { ...blank },
        missing: [] as string[],
        unreadable: [] as string[],
        explanations,
      }
      for (const step of replySteps) step(run)
      return run
    },
    nameFields: compileFieldNames(action.request),
    overlay: compileOverlay(
      [...action.request, ...action.reply].flatMap((row) =>
        row.kind === 'v2Only' && row.setByService ? [row.v2] : [],
      ),
    ),
    compare: compileCompare(action.request),
  }
}

/** Returns true for a row that covers this field only. */
const isOf = (row: Row, field: string) => 'v1' in row && row.v1 === field
