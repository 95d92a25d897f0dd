import type { Alternative, Requirement } from './action.ts'
import { type Codec, Failed, LeftOut, type Remark } from './codec.ts'
import type { FieldIndex, Problem, Value } from './fields.ts'
import type { LookupTable } from './lookup.ts'
import { type Draft, type Place, placeOf, putAt } from './paths.ts'
import { ASSUMED_FACT, type Fallback, PARTLY_ASSUMED_FACT, type Row, type Settings } from './row.ts'

/** The context of a request's translation. */
export interface RequestContext {
  readonly settings: Settings
  /** The facts of the remembered quote, if there is one. */
  readonly facts: KnownFacts | undefined
  /** Receives explanations; absent in a real call. */
  readonly explanations?: Explanation[] | undefined
}

/** A translated request. */
export interface RequestTranslation {
  readonly body: Draft
  readonly problems: Problem[]
  /** Notes on what the translation lost, assumed or found suspicious. */
  readonly notes: readonly Note[]
  /** The places that the caller's fields fill, each before its value, without what a quote remembers and without defaults. */
  readonly sent: readonly unknown[]
}

/** Translates field values, by slot, into a body; adds to the problems that sorting the fields has found. */
type TranslateRequest = (
  values: readonly Value[],
  context: RequestContext,
  body: Draft,
  problems: readonly Problem[],
) => RequestTranslation

/** Compiles a request's rows, and the rules over several fields, once, so that a call parses no paths. */
export function compileRequest(
  rows: readonly Row[],
  requires: readonly Requirement[],
  index: FieldIndex,
  tables: Tables,
): TranslateRequest {
  const steps = [
    ...rows.flatMap((row) => compileRow(row, index, tables) ?? []),
    ...requires.map((requirement) => compileRequirement(requirement, index, rows)),
  ]
  return (values, { settings, facts, explanations }, body, problems) => {
    const run: RequestRun = {
      values,
      facts,
      settings,
      body,
      problems: [...problems],
      notes: [],
      sent: [],
      explanations,
    }
    for (const step of steps) step(run)
    return run
  }
}

function compileRow(row: Row, index: FieldIndex, tables: Tables): RequestStep | undefined {
  const slot = (v1: string) => index.slotOf(v1) ?? -1
  switch (row.kind) {
    case 'move': {
      const from = slot(row.v1)
      const to = targetOf(row.v2, row.codec)
      const reason = `no ${row.v1} was sent`
      const note = compileNotes(row.v1, row.codec, to)
      const names = [row.v1]
      const fallBack = compileFallbacks(row.fallbacks, row.v2, reason, slot)
      return (run) => {
        const before = run.values[from]
        const after = before === undefined ? ABSENT : decode(run, row.v1, row.codec, before)
        if (after === UNDECODED) return
        if (after === ABSENT) {
          if (!fallBack(run) && row.required) {
            run.problems.push({ field: row.v1, code: 'required', message: `${row.v1} is required` })
          }
          return
        }
        put(run, to, after, names, before)
        note?.(before, run.notes)
      }
    }
    case 'split': {
      const from = slot(row.v1)
      const targets = Object.entries(row.v2).map(([part, v2]) => ({ part, to: targetOf(v2, row.codec) }))
      const note = compileNotes(row.v1, row.codec)
      const names = [row.v1]
      return (run) => {
        const before = run.values[from]
        const parts = before === undefined ? ABSENT : decode(run, row.v1, row.codec, before)
        if (parts === UNDECODED || parts === ABSENT) return
        note?.(before, run.notes)
        for (const { part, to } of targets) {
          const after = parts[part]
          if (after !== undefined) put(run, to, after, names, before)
        }
      }
    }
    case 'join': {
      const sources = row.v1.map((v1) => ({ v1, from: slot(v1) }))
      const to = targetOf(row.v2, row.joiner)
      return (run) => {
        const names: string[] = []
        const before: string[] = []
        for (const { v1, from } of sources) {
          const value = run.values[from]
          if (typeof value !== 'string') continue
          names.push(v1)
          before.push(value)
        }
        if (before.length === 0) return
        put(run, to, row.joiner.join(before), names, before)
      }
    }
    case 'lookup': {
      const table = tables.get(row.table)
      if (!table) throw new Error(`there is no table ${row.table}`)
      const sources = row.sources.map(({ v1, by }) => ({ names: [v1], by, from: slot(v1) }))
      const to = targetOf(row.v2, { name: row.table })
      const reason = `no value from the table ${row.table} was sent in ${row.sources.map(({ v1 }) => v1).join(', ')}`
      const fallBack = compileFallbacks(row.fallbacks, row.v2, reason, slot, table)
      return (run) => {
        for (const { names, by, from } of sources) {
          const before = run.values[from]
          if (typeof before !== 'string') continue
          const after = table[by](before)
          if (after !== undefined) return put(run, to, after, names, before)
        }
        fallBack(run)
      }
    }
    case 'fromQuote': {
      const { onlyWith } = row
      const reason = 'version 1 has no field for it and no quote is remembered'
      const fallBack = compileFallbacks(row.fallbacks, row.v2, reason, slot)
      return (run) => {
        if (!onlyWith || run.settings[onlyWith]) fallBack(run)
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

/** Lookup tables by name. */
export type Tables = ReadonlyMap<string, LookupTable>

/** The facts of a remembered quote. */
export type KnownFacts = Readonly<Record<string, string | number>>

/** The source of a value. */
export type ValueOrigin = 'caller' | 'quote' | 'default' | 'fixed' | 'service'

/** The explanation of one leaf of a translated body. */
export interface Explanation extends Remark {
  readonly to: string
  readonly from: readonly string[]
  readonly before?: unknown
  readonly after: unknown
  readonly rule?: string
  readonly origin: ValueOrigin
}

/** One run of an action's request rows over one call. */
interface RequestRun {
  readonly values: readonly Value[]
  readonly facts: KnownFacts | undefined
  readonly settings: Settings
  readonly body: Draft
  readonly problems: Problem[]
  readonly notes: Note[]
  readonly sent: unknown[]
  /** Filled only by an explained run. */
  readonly explanations: Explanation[] | undefined
}

/** A place that a row fills by a rule. */
interface Target {
  readonly v2: string
  readonly place: Place
  readonly rule: Pick<Codec, 'name' | 'remark'>
}

const targetOf = (v2: string, rule: Target['rule']): Target => ({ v2, place: placeOf(v2), rule })

/** Puts the caller's value in its place, and explains it. */
function put(
  run: RequestRun,
  { v2, place, rule }: Target,
  after: unknown,
  from: readonly string[],
  before: unknown,
): void {
  putAt(run.body, place, after)
  run.sent.push(v2, after)
  run.explanations?.push({
    to: v2,
    from,
    before,
    after,
    rule: rule.name,
    origin: 'caller',
    ...(typeof before === 'string' && rule.remark?.(before)),
  })
}

/** One row of a request, compiled. */
type RequestStep = (run: RequestRun) => void

/** Returns the name of the first of these facts that the remembered quote has and did not merely assume. */
function factOf({ facts }: RequestRun, names: readonly string[]): string | undefined {
  if (!facts) return undefined
  for (const name of names) if (facts[name] !== undefined && !isAssumed(facts, name)) return name
  return undefined
}

/** Reports whether a part of a fact was assumed when the quote was made. */
function isPartlyAssumed(facts: KnownFacts | undefined, fact: string): boolean {
  const assumed = facts?.[PARTLY_ASSUMED_FACT]
  return typeof assumed === 'string' && assumed.split('\n').includes(`${fact}=${facts?.[fact]}`)
}

function isAssumed(facts: KnownFacts | undefined, fact: string): boolean {
  const assumed = facts?.[ASSUMED_FACT]
  return typeof assumed === 'string' && assumed.split(' ').includes(fact)
}

/** Returns the values of the facts that were assumed when the quote was made. */
export function assumedIn(facts: KnownFacts | undefined): readonly string[] {
  const values = Object.entries(facts ?? {}).filter(([fact]) => isAssumed(facts, fact))
  return values.map(([, value]) => String(value))
}

/** The value cannot be used; a problem says why. */
const UNDECODED = Symbol('undecoded')
/** The field was not sent, or its value counts as absent. */
const ABSENT = Symbol('absent')

/** Decodes a field's value, and records the problem of a value that cannot be used. */
export function decode<T>(
  run: { readonly notes: Note[]; readonly problems: Problem[] },
  field: string,
  codec: Codec<T>,
  before: Exclude<Value, undefined>,
): T | typeof UNDECODED | typeof ABSENT {
  if (typeof before !== 'string') return UNDECODED
  const value = codec.decode(before)
  if (value instanceof LeftOut) {
    run.notes.push({ name: field, code: 'lossy' })
    return ABSENT
  }
  if (!(value instanceof Failed)) return value
  run.problems.push({ field, code: codec.name, message: `${field} ${value.message}` })
  return UNDECODED
}

/** Compiles a rule over several fields. */
function compileRequirement({ anyOf }: Requirement, index: FieldIndex, rows: readonly Row[]): RequestStep {
  const alternatives = anyOf.map((alternative) =>
    'facts' in alternative
      ? alternative
      : alternative.map((name) => ({ slot: index.slotOf(name) ?? -1, codec: codecOf(rows, name) })),
  )
  const field = anyOf.flatMap((alternative) => ('facts' in alternative ? [] : alternative))[0] ?? ''
  const choices = anyOf.flatMap(describeFields)
  const message = `${choices.join(choices.some((choice) => choice.includes(' ')) ? ', or ' : ' or ')} is required`
  return (run) => {
    for (const alternative of alternatives) {
      let holds = true
      if ('facts' in alternative) holds = factOf(run, alternative.facts) !== undefined
      else for (const { slot, codec } of alternative) holds &&= hasValue(run.values[slot], codec)
      if (holds) return
    }
    run.problems.push({ field, code: 'required', message })
  }
}

const codecOf = (rows: readonly Row[], name: string): Codec | undefined => {
  const row = rows.find((one) => one.kind === 'move' && one.v1 === name)
  return row?.kind === 'move' ? row.codec : undefined
}

/** Reports whether a field was sent with a value that counts: `TBD` is not a VIN. */
const hasValue = (value: Value, codec: Codec | undefined) =>
  value !== undefined && !(typeof value === 'string' && codec?.decode(value) instanceof LeftOut)

/** Returns `Year with Make and Model`; nothing for a fact, which a caller cannot send. */
function describeFields(alternative: Alternative): string[] {
  if ('facts' in alternative) return []
  const [first, ...rest] = alternative
  return [rest.length === 0 ? String(first) : `${first} with ${rest.join(' and ')}`]
}

/** A value for a field that the caller did not send. */
interface FallbackValue {
  readonly after: string | number
  readonly origin: 'quote' | 'default' | 'caller'
  readonly from: readonly string[]
  readonly before?: string
  /** Why it is only an assumption. */
  readonly assumed?: string
}

const PARTLY_ASSUMED = "a part of it, when the quote's field was read"

/** Finds a fallback's value; undefined if it has none. */
type FindFallback = (run: RequestRun) => FallbackValue | undefined

function compileFallback(
  fallback: Fallback,
  reason: string,
  slot: (v1: string) => number,
  table?: LookupTable,
): FindFallback {
  switch (fallback.kind) {
    case 'quoteFact':
      return (run) => {
        const fact = factOf(run, fallback.facts)
        const after = fact === undefined ? undefined : run.facts?.[fact]
        if (fact === undefined || after === undefined) return undefined
        const assumed = isPartlyAssumed(run.facts, fact) ? { assumed: PARTLY_ASSUMED } : undefined
        return { after, origin: 'quote', from: [], ...assumed }
      }
    case 'setting':
    case 'assumedAgain': {
      const { kind, setting } = fallback
      return ({ facts, settings }) =>
        kind === 'setting' || isAssumed(facts, setting)
          ? { after: settings[setting], origin: 'default', from: [], assumed: reason }
          : undefined
    }
    case 'guess': {
      const sources = fallback.v1.map((v1) => ({ v1, from: slot(v1) }))
      return ({ values }) => {
        const sent = sources.flatMap(({ v1, from }) => {
          const value = values[from]
          return typeof value === 'string' ? [{ v1, value }] : []
        })
        const before = sent.map(({ value }) => value).join(' ')
        const after = table?.phraseIn(before)
        if (after === undefined) return undefined
        const from = sent.map(({ v1 }) => v1)
        return { after, origin: 'caller', from, before, assumed: `a guess from ${from.join(' and ')}` }
      }
    }
    default:
      return fallback satisfies never
  }
}

/** Compiles a place's fallbacks. The first one with a value fills the place; the result is false if none has a value. */
function compileFallbacks(
  fallbacks: readonly Fallback[],
  v2: string,
  reason: string,
  slot: (v1: string) => number,
  table?: LookupTable,
): (run: RequestRun) => boolean {
  const to = { v2, place: placeOf(v2) }
  const finders = fallbacks.map((fallback) => compileFallback(fallback, reason, slot, table))
  return (run) => {
    for (const find of finders) {
      const found = find(run)
      if (!found) continue
      putAt(run.body, to.place, found.after)
      if (found.assumed !== undefined) run.notes.push({ name: v2, code: 'assumed', to })
      run.explanations?.push({ to: v2, ...found })
      return true
    }
    return false
  }
}

/** A remark on a call's translation, without the value in question. */
export interface Note {
  /** The version-1 field, or the version-2 place if no field was sent. */
  readonly name: string
  readonly code: 'lossy' | 'assumed' | 'warning'
  /** The one place that an assumed value has. */
  readonly to?: Pick<Target, 'v2' | 'place'> | undefined
}

/** Adds the notes on a value. */
type AddNotes = (before: Value, notes: Note[]) => void

/** Makes a function that adds a codec's remarks on a field as notes; undefined for a codec without remarks. */
function compileNotes(field: string, { remark }: Codec, to?: Target): AddNotes | undefined {
  if (!remark) return undefined
  return (before, notes) => {
    const { loss, assumed, warning } = (typeof before === 'string' && remark(before)) || {}
    if (loss !== undefined) notes.push({ name: field, code: 'lossy' })
    if (assumed !== undefined) notes.push({ name: field, code: 'assumed', to })
    if (warning !== undefined) notes.push({ name: field, code: 'warning' })
  }
}
