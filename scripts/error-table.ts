import { errorTable as errors } from '../src/errors.ts'
import { table } from './table.ts'

/** Returns the table of errors as Markdown. */
export function errorTable(): string {
  return table(
    ['Code', 'Status', 'Title'],
    Object.entries(errors).map(([code, { status, title }]) => [`\`${code}\``, String(status), title]),
  )
}
