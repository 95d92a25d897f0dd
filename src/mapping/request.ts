import { z } from 'zod'
import type { Alternative, Need } from './action.ts'
import { type Codec, Failed, type Remark } from './codec.ts'
import type { FieldIndex, Problem, Value } from './fields.ts'
import type { LookupTable } from './lookup.ts'
import { type Draft, type Place, placeOf, putAt } from './paths.ts'
import type { Fallback, Row } from './row.ts'
import type { Settings } from './settings.ts'

/** The lookup tables by name. */
export type Tables = ReadonlyMap<string, LookupTable>

/** What the remembered quote knows. */
export type KnownFacts = Readonly<Record<string, string | number>>

/** Where a value came from. */
export type Origin = 'caller' | 'quote' | 'default' | 'fixed' | 'service'

/** How one leaf came to be. */
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
  /** Filled only when somebody asked for an explanation. */
  readonly explanations: Explanation[] | undefined
}

export type RequestStep = (run: RequestRun) => void

/** KeyedMutex a request's rows into steps once, so that a call walks no strings. */
export function compileRequest(rows: readonly Row[], index: FieldIndex, tables: Tables): readonly RequestStep[] {
  return rows.flatMap((row) => compileRow(row, index, tables) ?? [])
}

function compileRow(row: Row, index: FieldIndex, tables: Tables): RequestStep | undefined {
  const slot = (v1: string) => index.slotOf(v1) ?? -1
  switch (row.kind) {
    case 'move': {
      const from = slot(row.v1)
      const to = placeOf(row.v2)
      const why = `no ${row.v1} was sent`
      return (run) => {
        const before = run.values[from]
        if (before === undefined) {
          if (!standIn(run, row.otherwise, row.v2, to, why) && row.required) {
            run.problems.push({ field: row.v1, code: 'required', message: `${row.v1} is required` })
          }
          return
        }
        if (typeof before !== 'string') return
        const after = decode(run, row.v1, row.codec, before)
        if (after === UNDECODED) return
        putAt(run.body, to, after)
        explain(run, row.v2, [row.v1], before, after, row.codec)
      }
    }
    case 'split': {
      const from = slot(row.v1)
      const targets = Object.entries(row.v2).map(([part, v2]) => ({ part, v2, to: placeOf(v2) }))
      return (run) => {
        const before = run.values[from]
        if (typeof before !== 'string') return
        const parts = decode(run, row.v1, row.codec, before)
        if (parts === UNDECODED) return
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
        const after = row.joint.join(before)
        putAt(run.body, to, after)
        explain(
          run,
          row.v2,
          sent.map(({ v1 }) => v1),
          before,
          after,
          row.joint,
        )
      }
    }
    case 'lookup': {
      const table = tables.get(row.table)
      if (!table) throw new Error(`there is no table ${row.table}`)
      const sources = row.sources.map((source) => ({ ...source, from: slot(source.v1) }))
      const to = placeOf(row.v2)
      const why = `the table ${row.table} knows none of ${row.sources.map(({ v1 }) => v1).join(', ')}`
      return (run) => {
        for (const { v1, by, from } of sources) {
          const before = run.values[from]
          if (typeof before !== 'string') continue
          const after = by === 'code' ? table.code(before) : table.words(before)
          if (after === undefined) continue
          putAt(run.body, to, after)
          explain(run, row.v2, [v1], before, after, { name: row.table })
          return
        }
        standIn(run, row.otherwise, row.v2, to, why)
      }
    }
    case 'recall': {
      const to = placeOf(row.v2)
      const when = row.when
      return (run) => {
        if (when && !run.settings[when]) return
        standIn(run, row.otherwise, row.v2, to, 'version 1 has no field for it and no quote is remembered')
      }
    }
    case 'ref':
    case 'v1Only':
    case 'v2Only':
      return undefined
    case 'ownNumber':
    case 'fixed':
    case 'choose':
    case 'say':
      throw new Error(`a ${row.kind} row has no place in a request`)
    default:
      return row satisfies never
  }
}

/** Compiles a rule over several fields. */
export function compileNeed({ anyOf }: Need, index: FieldIndex): RequestStep {
  const alternatives = anyOf.map((alternative) =>
    'fact' in alternative ? alternative : { slots: alternative.fields.map((name) => index.slotOf(name) ?? -1) },
  )
  const field = anyOf.flatMap((alternative) => ('fields' in alternative ? alternative.fields : []))[0] ?? ''
  const words = anyOf.flatMap(inWords)
  const message = `${words.join(words.some((word) => word.includes(' ')) ? ', or ' : ' or ')} is required`
  return (run) => {
    const met = alternatives.some((alternative) =>
      'fact' in alternative
        ? run.facts?.[alternative.fact] !== undefined
        : alternative.slots.every((slot) => run.values[slot] !== undefined),
    )
    if (!met) run.problems.push({ field, code: 'required', message })
  }
}

function inWords(alternative: Alternative): string[] {
  if ('fact' in alternative) return []
  const [first, ...rest] = alternative.fields
  return [rest.length === 0 ? String(first) : `${first} with ${rest.join(' and ')}`]
}

const UNDECODED = Symbol('undecoded')

function decode<T>(run: RequestRun, field: string, codec: Codec<T>, before: string): T | typeof UNDECODED {
  if (codec.decode) {
    const made = codec.decode(before)
    if (!(made instanceof Failed)) return made
    run.problems.push({ field, code: codec.name, message: `${field} ${made.message}` })
    return UNDECODED
  }
  const result = z.safeDecode(codec.schema, before)
  if (result.success) return result.data
  for (const { message } of result.error.issues) {
    run.problems.push({ field, code: codec.name, message: `${field} ${message}` })
  }
  return UNDECODED
}

function standIn(run: RequestRun, otherwise: readonly Fallback[], v2: string, to: Place, why: string): boolean {
  for (const fallback of otherwise) {
    const found = fallbackValue(run, fallback)
    if (found === undefined) continue
    putAt(run.body, to, found)
    const origin = fallback.kind === 'remembered' ? 'quote' : 'default'
    run.explanations?.push({ to: v2, from: [], after: found, origin, ...(origin === 'default' && { assumed: why }) })
    return true
  }
  return false
}

function fallbackValue(run: RequestRun, fallback: Fallback): string | number | undefined {
  switch (fallback.kind) {
    case 'remembered': {
      const known = run.facts
      const name = known && fallback.facts.find((fact) => known[fact] !== undefined)
      return name === undefined ? undefined : known?.[name]
    }
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
