import { parseJson, scalarText } from '../text/json.ts'
import { masked } from './mask.ts'
import type { Comparisons } from './same.ts'

/** The outcome of a version-1 call, sent natively or translated. */
export type Outcome =
  /** The fields of the answer; blank ones are left out. */
  | { readonly kind: 'answered'; readonly fields: ReadonlyMap<string, string> }
  /** The call was refused for what it asks. */
  | { readonly kind: 'refused' }
  /** There is no verdict on the call. */
  | { readonly kind: 'none'; readonly why: string }

/** The verdict on a field. Noise differs between the two native answers already. */
export type Verdict = 'equal' | 'differs' | 'noise'

/** The field that stands for the call itself: it was answered or refused. */
export const WHOLE_ANSWER = '(answer)'

/** One compared field. It holds no values, only their shapes. */
export interface ComparedField {
  readonly field: string
  readonly verdict: Verdict
  /** The shape of each value of a difference; empty for an absent one. */
  readonly native: string
  readonly translated: string
}

/** The result of comparing the answers to one call. */
export type Comparison =
  | { readonly compared: true; readonly fields: readonly ComparedField[] }
  | { readonly compared: false; readonly why: string }

/**
 * Compares the translated answer with native ones. A difference counts only where the native answers agree with each
 * other; what they disagree on is noise, such as ids, times and moving prices.
 */
export function compareAnswers(
  natives: readonly [Outcome, Outcome],
  translated: Outcome,
  comparisons: Comparisons,
  /** Fields that the gateway fills in by its own knowledge, such as the caller's own number. */
  leftOut: ReadonlySet<string> = new Set(),
): Comparison {
  for (const outcome of [...natives, translated]) {
    if (outcome.kind === 'none') return { compared: false, why: outcome.why }
  }
  const [one, two] = natives
  if (one.kind !== 'answered' || two.kind !== 'answered' || translated.kind !== 'answered') {
    const verdict = one.kind !== two.kind ? 'noise' : one.kind === translated.kind ? 'equal' : 'differs'
    return { compared: true, fields: [wholeAnswer(verdict, one, translated)] }
  }
  const names = new Set([comparisons, one.fields, two.fields, translated.fields].flatMap((map) => [...map.keys()]))
  const fields = [...names].flatMap((field) => {
    const values = [one, two, translated].map((outcome) => outcome.fields.get(field) ?? '')
    const [first = '', second = '', own = ''] = values
    if (leftOut.has(field) || values.every((value) => value === '')) return []
    const same = (a: string, b: string) =>
      (a === '') === (b === '') && (a === b || (comparisons.get(field)?.(a, b) ?? false))
    const verdict: Verdict = same(first, second) ? (same(first, own) ? 'equal' : 'differs') : 'noise'
    // Of equal values not even the shape is needed.
    const isShown = verdict === 'differs'
    return [{ field, verdict, native: isShown ? masked(first) : '', translated: isShown ? masked(own) : '' }]
  })
  return { compared: true, fields: [wholeAnswer('equal', one, translated), ...fields] }
}

/** Returns a comparison in which only those differences count that a later one of the same call shows, too. */
export function confirmed(first: Comparison, later: Comparison): Comparison {
  if (!first.compared) return first
  if (!later.compared) return later
  const still = new Set(later.fields.flatMap(({ field, verdict }) => (verdict === 'differs' ? [field] : [])))
  const fields = first.fields.map((result): ComparedField => {
    return result.verdict === 'differs' && !still.has(result.field) ? { ...result, verdict: 'noise' } : result
  })
  return { compared: true, fields }
}

/** Tells if a comparison shows a difference. */
export function hasDifference(comparison: Comparison): boolean {
  return comparison.compared && comparison.fields.some(({ verdict }) => verdict === 'differs')
}

const wholeAnswer = (verdict: Verdict, native: Outcome, translated: Outcome): ComparedField => ({
  field: WHOLE_ANSWER,
  verdict,
  native: native.kind,
  translated: translated.kind,
})

/** Reads a version-1 answer; undefined for text that is no JSON object. */
export function answered(text: string): Outcome | undefined {
  let body: unknown
  try {
    body = parseJson(text)
  } catch {
    return undefined
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body) || JSON.isRawJSON(body)) return undefined
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(body)) {
    const field = textOf(value)
    if (field !== '') fields.set(name, field)
  }
  return { kind: 'answered', fields }
}

/** Returns a value as text; `null` and blanks are absent. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return (scalarText(value) ?? JSON.stringify(value)).trim()
}
