import type { Fallback, Row, Sentence } from '../src/language/mapping/declare.ts'
import { code, codes } from './markdown.ts'

type Lines = readonly (readonly string[])[]

/** Returns the line of a row, none if it is not translated: its fields, its places, its rule, and what fills the place of an absent field. */
export function requestRow(row: Row): Lines {
  switch (row.kind) {
    case 'move': {
      const more = row.required ? 'required' : describeFallbacks(row.fallbacks)
      return [[code(row.v1), code(row.v2), rule(row.codec.name), more]]
    }
    case 'split':
      return [[code(row.v1), codes(Object.values(row.v2)), rule(row.codec.name), '']]
    case 'join':
      return [[row.v1.map(code).join(' and '), code(row.v2), rule(row.joiner.name), '']]
    case 'lookup': {
      const sources = row.sources.map(({ v1, by }) => (by === 'phraseIn' ? `a phrase in ${code(v1)}` : code(v1)))
      return [[sources.join(', or '), code(row.v2), `[${row.table}](#${row.table})`, describeFallbacks(row.fallbacks)]]
    }
    case 'fromQuote': {
      const onlyWith = row.onlyWith ? `if ${code(row.onlyWith.toUpperCase())}, or after an approval` : ''
      return [['', code(row.v2), onlyWith, describeFallbacks(row.fallbacks)]]
    }
    case 'callerNumber':
      return [[code(row.v1), code(row.v2), "the caller's own number, or this", '']]
    case 'fixed':
      return [[code(row.v1), '', `always ${code(row.value)}`, '']]
    case 'choose': {
      const cases = Object.entries(row.cases).map(([value, answer]) => `${code(answer)} for ${code(value)}`)
      return [[code(row.v1), code(row.v2), `${cases.join(', ')}, otherwise ${code(row.default)}`, '']]
    }
    case 'message':
      return [[code(row.v1), '', '[messages](wire.md#messages)', '']]
    case 'ref':
    case 'v1Only':
    case 'v2Only':
      return []
    default:
      return row satisfies never
  }
}

/** Returns the line of a reply's row, which has no fallback. */
export const replyRow = (row: Row): Lines =>
  requestRow(row).map(([v1 = '', v2 = '', how = '', more]) => [v1, v2, more === 'required' ? `${how}, required` : how])

/** Returns a sentence of a reply with its condition. */
export function describeSentence({ text, when }: Sentence): string {
  const quoted = `“${text}”`
  if (!when) return quoted
  const conditions = { present: 'with', absent: 'without', several: 'with several' }
  return `${quoted} ${conditions[when.is]} ${code(when.v2)}`
}

function describeFallback(fallback: Fallback): string {
  switch (fallback.kind) {
    case 'quoteFact':
      return `quote: ${fallback.facts.map(code).join(' or ')}`
    case 'setting':
      return code(`DEFAULT_${fallback.setting.toUpperCase()}`)
    case 'assumedAgain':
      return `${code(`DEFAULT_${fallback.setting.toUpperCase()}`)} if the quote assumed it`
    case 'guess':
      return `a guess from ${fallback.v1.map(code).join(' and ')}`
    default:
      return fallback satisfies never
  }
}

const describeFallbacks = (fallbacks: readonly Fallback[]): string => fallbacks.map(describeFallback).join(', or ')

const rule = (name: string) => `[${name}](#rules)`
