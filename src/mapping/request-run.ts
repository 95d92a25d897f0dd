import { z } from 'zod'
import { type Codec, Failed, LeftOut, type Remark } from './codec.ts'
import type { Problem, Value } from './fields.ts'
import type { LookupTable } from './lookup.ts'
import type { Note } from './notes.ts'
import { type Draft, type Place, putAt } from './paths.ts'
import type { Fallback } from './row.ts'
import { FALLBACK_KEEPS } from './row-keeps.ts'
import type { Settings } from './settings.ts'

/** Lookup tables by name. */
export type Tables = ReadonlyMap<string, LookupTable>

/** The facts of a remembered quote. */
export type KnownFacts = Readonly<Record<string, string | number>>

/** The source of a value. */
export type Origin = 'caller' | 'quote' | 'default' | 'fixed' | 'service'

/** The explanation of one leaf of a translated body. */
export interface Explanation extends Remark {
  readonly to: string
  readonly from: readonly string[]
  readonly before?: unknown
  readonly after: unknown
  readonly rule?: string
  /** The part of the value that the row's round trip keeps. */
  readonly keeps?: string | undefined
  readonly origin: Origin
}

/** One run of an action's request rows over one call. */
export interface RequestRun {
  readonly values: readonly Value[]
  readonly facts: KnownFacts | undefined
  readonly settings: Settings
  readonly body: Draft
  readonly problems: Problem[]
  readonly notes: Note[]
  /** Filled only by an explained run. */
  readonly explanations: Explanation[] | undefined
}

/** One row of a request, compiled. */
export type RequestStep = (run: RequestRun) => void

/** Returns the first of these facts that the remembered quote has. */
export function factOf({ facts }: RequestRun, names: readonly string[]): string | number | undefined {
  const name = facts && names.find((candidate) => facts[candidate] !== undefined)
  return name === undefined ? undefined : facts?.[name]
}

/** The value cannot be used; a problem says why. */
export const UNDECODED = Symbol('undecoded')
/** The field was not sent, or its value counts as absent. */
export const ABSENT = Symbol('absent')

/** Decodes the value of a field, and records the problems of a value that cannot be used. */
export function decode<T>(
  run: Pick<RequestRun, 'notes' | 'problems'>,
  field: string,
  codec: Codec<T>,
  before: Exclude<Value, undefined>,
): T | typeof UNDECODED | typeof ABSENT {
  if (typeof before !== 'string') return UNDECODED
  if (codec.decode) {
    const value = codec.decode(before)
    if (value instanceof LeftOut) {
      run.notes.push({ name: field, code: 'lossy' })
      return ABSENT
    }
    if (!(value instanceof Failed)) return value
    run.problems.push({ field, code: codec.name, message: `${field} ${value.message}` })
    return UNDECODED
  }
  const result = z.safeDecode(codec.schema, before)
  if (result.success) return result.data
  for (const { message } of result.error.issues) {
    run.problems.push({ field, code: codec.name, message: `${field} ${message}` })
  }
  return UNDECODED
}

/** Puts the first fallback that has a value; returns false if none has. */
export function fallBack(
  run: RequestRun,
  fallbacks: readonly Fallback[],
  v2: string,
  to: Place,
  reason: string,
): boolean {
  for (const fallback of fallbacks) {
    const after = fallbackValue(run, fallback)
    if (after === undefined) continue
    putAt(run.body, to, after)
    const origin = fallback.kind === 'quoteFact' ? 'quote' : 'default'
    if (origin === 'default') run.notes.push({ name: v2, code: 'assumed' })
    run.explanations?.push({
      to: v2,
      from: [],
      after,
      keeps: FALLBACK_KEEPS,
      origin,
      ...(origin === 'default' && { assumed: reason }),
    })
    return true
  }
  return false
}

function fallbackValue(run: RequestRun, fallback: Fallback): string | number | undefined {
  switch (fallback.kind) {
    case 'quoteFact':
      return factOf(run, fallback.facts)
    case 'setting':
      return run.settings[fallback.setting]
    default:
      return fallback satisfies never
  }
}

/** The rule of a row, as a dry run shows it. */
export interface Rule {
  readonly name: string
  readonly keeps?: string | undefined
  readonly remark?: ((before: string) => Remark | undefined) | undefined
}

/** Explains a place that a field of the caller fills. */
export function explain(
  run: RequestRun,
  to: string,
  from: readonly string[],
  before: unknown,
  after: unknown,
  rule: Rule,
): void {
  if (!run.explanations) return
  const remark = typeof before === 'string' ? rule.remark?.(before) : undefined
  const { name, keeps } = rule
  run.explanations.push({ to, from, before, after, rule: name, ...(keeps && { keeps }), origin: 'caller', ...remark })
}
