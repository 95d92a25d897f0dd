import type { CompiledAction } from './compile.ts'
import type { Fields, Problem } from './fields.ts'
import { covers, type Draft, leaves } from './paths.ts'
import type { Explanation, KnownFacts } from './request.ts'
import type { Row } from './row.ts'
import type { Settings } from './settings.ts'

/** A field or place whose value goes nowhere, and why. */
export interface Unused {
  readonly field: string
  readonly why: string
}

/** A translated request with everything that was sent accounted for exactly once. */
export interface RequestAccount {
  readonly body: Draft
  readonly fields: readonly Explanation[]
  readonly unused: readonly Unused[]
  readonly unknown: readonly string[]
  readonly problems: readonly Problem[]
}

/** Translates a request by the very rows of a call, and accounts for every field that was sent. */
export function accountForRequest(
  compiled: CompiledAction,
  fields: Fields,
  settings: Settings,
  facts: KnownFacts | undefined,
  namedBy?: string,
): RequestAccount {
  const explanations: Explanation[] = []
  const { body, problems } = compiled.request(fields, { settings, facts, namedBy, explanations })
  const used = new Set(explanations.flatMap(({ from }) => from))
  const remembered = compiled.remember(fields, body, settings).problems
  const unused = compiled.fields.names.flatMap((field, slot) => {
    if (used.has(field)) return []
    if (fields.blank.includes(slot)) return [{ field, why: 'blank, which counts as not sent' }]
    if (fields.values[slot] === undefined) return []
    if (problems.some((problem) => problem.field === field))
      return [{ field, why: 'cannot be translated: see problems' }]
    const unreadable = remembered.find((problem) => problem.field === field)
    if (unreadable) return [{ field, why: `not remembered for a later booking: ${unreadable.message}` }]
    return [{ field, why: whyUnused(compiled, field, namedBy) }]
  })
  return { body, fields: explanations, unused, unknown: [...new Set(fields.unknown)], problems }
}

function whyUnused({ action }: CompiledAction, field: string, namedBy: string | undefined): string {
  const row = [...action.request, ...(action.remember ?? [])].find((candidate) => rowHas(candidate, field))
  if (row && 'why' in row) return row.why
  if (field === namedBy) return 'names the thing: its id stands in the path'
  if (row?.kind === 'lookup') return 'another field said it first, or the lookup table does not know the value'
  return 'remembered for a later booking; this call has no place for it'
}

function rowHas(row: Row, field: string): boolean {
  if (row.kind === 'lookup') return row.sources.some(({ v1 }) => v1 === field)
  if (row.kind === 'join') return row.v1.includes(field)
  return 'v1' in row && row.v1 === field
}

/** A translated reply with every leaf of the service's body accounted for. */
export interface ReplyAccount {
  readonly reply: Readonly<Record<string, string>>
  readonly fields: readonly Explanation[]
  readonly unused: readonly Unused[]
  readonly unknown: readonly string[]
  readonly missing: readonly string[]
}

/** Translates a reply by the very rows of a call, and accounts for every leaf that the service sent. */
export function accountForReply(
  compiled: CompiledAction,
  body: unknown,
  settings: Settings,
  own: string | undefined,
): ReplyAccount {
  const explanations: Explanation[] = []
  const { reply, missing } = compiled.reply(body, { settings, own, explanations })
  const used = new Set(explanations.flatMap(({ from }) => from))
  const left = [...leaves(body)].map(([path]) => path).filter((path) => !used.has(path))
  const only = compiled.action.reply.flatMap((row) => {
    if (row.kind === 'ownNumber') return [{ v2: row.v2, why: 'the caller goes by its own number' }]
    return row.kind === 'v2Only' ? [row] : []
  })
  const rest = left.map((path) => ({ path, row: only.find(({ v2 }) => covers(v2, path)) }))
  return {
    reply,
    fields: explanations,
    unused: rest.flatMap(({ path, row }) => (row ? [{ field: path, why: row.why }] : [])),
    unknown: rest.flatMap(({ path, row }) => (row ? [] : [path])),
    missing,
  }
}
