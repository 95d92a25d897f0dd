import type { LinePlace } from '../../labs/rehearse/rehearsal.ts'
import { grouped } from '../words.ts'

/* The tables of a report, which text and pages show alike. */

/** The names of columns that are not named as their members. */
type Headings = Readonly<Record<string, string>>

/** Makes the head and the rows of a table; `columns` names the members of its rows that it shows, with blanks between. */
export function tableOf(list: readonly object[], columns: string, headings: Headings = {}) {
  const keys = columns.split(' ')
  const rows = list.map((row) => {
    // The members that a row lacks are empty cells.
    const members: Readonly<Record<string, unknown>> = { ...row }
    return keys.map((key) => cellOf(members[key]))
  })
  return { head: keys.map((key) => headings[key] ?? key), rows }
}

/** Writes any value of a report for people. */
function cellOf(value: unknown): string {
  if (typeof value === 'number') return grouped(value)
  if (Array.isArray(value)) {
    const [most, ...others] = value.flatMap(({ caller }: { readonly caller: string }) => caller || [])
    return most ? `${most}${others.length > 0 ? ` and ${others.length} more` : ''}` : ''
  }
  // The only objects are places.
  return typeof value === 'object' && value !== null ? at(value as LinePlace) : String(value ?? '')
}

const at = ({ file, line }: LinePlace): string => `${file}:${line}`
