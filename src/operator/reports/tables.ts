import type { LinePlace } from '../../labs/rehearse/rehearsal.ts'
import { aligned, grouped, titled } from '../words.ts'

/* The tables of reports, which text and pages show alike. */

/** A table whose cells are text. */
export type TextTable = ReturnType<typeof tableOf>

/** The names of columns that are not named as their members. */
type Headings = Readonly<Record<string, string>>

/** Makes a table; `columns` names the members of its rows that it shows, with blanks between. */
export function tableOf(title: string, list: readonly object[], columns: string, headings: Headings) {
  const keys = columns.split(' ')
  const rows = list.map((row) => {
    // The members that a row lacks are empty cells.
    const members: Readonly<Record<string, unknown>> = { ...row }
    return keys.map((key) => cellOf(members[key]))
  })
  return { title, head: keys.map((key) => headings[key] ?? key), rows }
}

/** Returns a table as lines of text; none without rows. */
export const linesOf = ({ title, head, rows }: TextTable): readonly string[] =>
  titled(title, rows.length > 0 ? aligned([head, ...rows]) : [])

const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z$/

/** Writes any value of a report for people. */
function cellOf(value: unknown): string {
  if (typeof value === 'number') return grouped(value)
  if (typeof value === 'string') return value.replace(TIME, '$1 $2')
  if (Array.isArray(value)) {
    if (typeof value[0] === 'string') return value.join(', ')
    const [most, ...others] = value.flatMap(({ caller }: { readonly caller: string }) => caller || [])
    return most ? `${most}${others.length > 0 ? ` and ${others.length} more` : ''}` : ''
  }
  // The only objects are places.
  return typeof value === 'object' && value !== null ? at(value as LinePlace) : String(value ?? '')
}

const at = ({ file, line }: LinePlace): string => `${file}:${line}`
