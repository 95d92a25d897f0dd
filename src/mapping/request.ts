import { z } from 'zod'
import type { Alternative, Requirement } from './action.ts'
import { type Codec, Failed, LeftOut, type Remark } from './codec.ts'
import type { FieldIndex, Problem, Value } from './fields.ts'
import type { LookupTable } from './lookup.ts'
import { compileNotes, type Note } from './notes.ts'
import { type Draft, type Place, placeOf, putAt } from './paths.ts'
import type { Fallback, Row } from './row.ts'
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

export type RequestStep = (run: RequestRun) => void

/** Compiles a request's rows into steps once; a call then parses no paths. */
export function compileRequest(rows: readonly Row[], index: FieldIndex, tables: Tables): readonly RequestStep[] {
  return rows.flatMap((row) => compileRow(row, index, tables) ?? [])
}

function compileRow(row: Row, index: FieldIndex, tables: Tables): RequestStep | undefined {
  const slot = (v1: string) => index.slotOf(v1) ?? -1
  switch (row.kind) {
    case 'move': {
      const from = slot(row.v1)
      const to = placeOf(row.v2)
      const reason = `no ${row.v1} was sent`
      const note = compileNotes(row.v1, row.codec)
      return (run) => {
        const before = run.values[from]
        const after = before === undefined ? ABSENT : decode(run, row.v1, row.codec, before)
        if (after === UNDECODED) return
        if (after === ABSENT) {
          if (!fallBack(run, row.fallbacks, row.v2, to, reason) && row.required) {
            run.problems.push({ field: row.v1, code: 'required', message: `${row.v1} is required` })
          }
          return
        }
        putAt(run.body, to, after)
        note?.(before, run.notes)
        explain(run, row.v2, [row.v1], before, after, row.codec)
      }
    }
    case 'split': {
      const from = slot(row.v1)
      const targets = Object.entries(row.v2).map(([part, v2]) => ({ part, v2, to: placeOf(v2) }))
      const note = compileNotes(row.v1, row.codec)
      return (run) => {
        const before = run.values[from]
        const parts = before === undefined ? ABSENT : decode(run, row.v1, row.codec, before)
        if (parts === UNDECODED || parts === ABSENT) return
        note?.(before, run.notes)
        for (const { part, v2, to } of targets) {
          const after = parts[part]
          if (after === undefined) continue
          putAt(run.body, to, after)
          explain(run, v2, [row.v1], before, after, row.codec)
        }
      }
    }
    case 'join': {
      const sources = row.v1.map((v1) => ({ v1, from: slot(v1) }))
      const to = placeOf(row.v2)
      return (run) => {
        const sent = sources.filter(({ from }) => typeof run.values[from] === 'string')
        if (sent.length === 0) return
        const before = sent.map(({ from }) => String(run.values[from]))
        const after = row.joiner.join(before)
        putAt(run.body, to, after)
        explain(
          run,
          row.v2,
          sent.map(({ v1 }) => v1),
          before,
          after,
          row.joiner,
        )
      }
    }
    case 'lookup': {
      const table = tables.get(row.table)
      if (!table) throw new Error(`there is no table ${row.table}`)
      const sources = row.sources.map((source) => ({ ...source, from: slot(source.v1) }))
      const to = placeOf(row.v2)
      const reason = `the table ${row.table} knows none of ${row.sources.map(({ v1 }) => v1).join(', ')}`
      return (run) => {
        for (const { v1, by, from } of sources) {
          const before = run.values[from]
          if (typeof before !== 'string') continue
          const after = table[by](before)
          if (after === undefined) continue
          putAt(run.body, to, after)
          explain(run, row.v2, [v1], before, after, { name: row.table })
          return
        }
        fallBack(run, row.fallbacks, row.v2, to, reason)
      }
    }
    case 'fromQuote': {
      const to = placeOf(row.v2)
      const { onlyWith } = row
      return (run) => {
        if (onlyWith && !run.settings[onlyWith]) return
        fallBack(run, row.fallbacks, row.v2, to, 'version 1 has no field for it and no quote is remembered')
      }
    }
    case 'ref':
    case 'v1Only':
    case 'v2Only':
      return undefined
    case 'callerNumber':
    case 'fixed':
    case 'choose':
    case 'message':
      throw new Error(`a ${row.kind} row cannot be used in a request`)
    default:
      return row satisfies never
  }
}

/** Compiles a rule over several fields. */
export function compileRequirement({ anyOf }: Requirement, index: FieldIndex): RequestStep {
  const alternatives = anyOf.map((alternative) =>
    'facts' in alternative ? alternative : { slots: alternative.map((name) => index.slotOf(name) ?? -1) },
  )
  const field = anyOf.flatMap((alternative) => ('facts' in alternative ? [] : alternative))[0] ?? ''
  const choices = anyOf.flatMap(describeFields)
  const message = `${choices.join(choices.some((choice) => choice.includes(' ')) ? ', or ' : ' or ')} is required`
  return (run) => {
    const holds = alternatives.some((alternative) =>
      'facts' in alternative
        ? factOf(run, alternative.facts) !== undefined
        : alternative.slots.every((slot) => run.values[slot] !== undefined),
    )
    if (!holds) run.problems.push({ field, code: 'required', message })
  }
}

/** Returns `Year with Make and Model`; nothing for a fact, which a caller cannot send. */
function describeFields(alternative: Alternative): string[] {
  if ('facts' in alternative) return []
  const [first, ...rest] = alternative
  return [rest.length === 0 ? String(first) : `${first} with ${rest.join(' and ')}`]
}

function factOf({ facts }: RequestRun, names: readonly string[]): string | number | undefined {
  const name = facts && names.find((candidate) => facts[candidate] !== undefined)
  return name === undefined ? undefined : facts?.[name]
}

/** The value cannot be used; a problem says why. */
const UNDECODED = Symbol('undecoded')
/** The field was not sent, or its value counts as absent. */
const ABSENT = Symbol('absent')

function decode<T>(
  run: RequestRun,
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
function fallBack(run: RequestRun, fallbacks: readonly Fallback[], v2: string, to: Place, reason: string): boolean {
  for (const fallback of fallbacks) {
    const after = fallbackValue(run, fallback)
    if (after === undefined) continue
    putAt(run.body, to, after)
    const origin = fallback.kind === 'quoteFact' ? 'quote' : 'default'
    if (origin === 'default') run.notes.push({ name: v2, code: 'assumed' })
    run.explanations?.push({ to: v2, from: [], after, origin, ...(origin === 'default' && { assumed: reason }) })
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

function explain(
  run: RequestRun,
  to: string,
  from: readonly string[],
  before: unknown,
  after: unknown,
  rule: { readonly name: string; readonly remark?: (before: string) => Remark | undefined },
): void {
  if (!run.explanations) return
  const remark = typeof before === 'string' ? rule.remark?.(before) : undefined
  run.explanations.push({ to, from, before, after, rule: rule.name, origin: 'caller', ...remark })
}
