import type { Link } from '../store/store.ts'
import { printableJson } from '../text/plain-text.ts'
import { COLUMNS } from './columns.ts'
import { toCell } from './csv-cell.ts'
import type { Format } from './file-records.ts'

/** The first line of an export. */
export const headerOf = (format: Format): string => (format === 'csv' ? `${COLUMNS.join(',')}\n` : '')

/** Writes a link as a line of an export; `readRows` reads it back. */
export function lineOf(link: Link, format: Format): string {
  const row = { ...link, at: new Date(link.at).toISOString(), given_by: link.givenBy }
  if (format === 'csv') return `${COLUMNS.map((column) => toCell(row[column])).join(',')}\n`
  return `${printableJson(Object.fromEntries(COLUMNS.map((column) => [column, row[column]])))}\n`
}
