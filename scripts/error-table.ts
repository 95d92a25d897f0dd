import { errorTable as errors } from '../src/errors.ts'
import { table } from './table.ts'

/** The table of `src/errors.ts`, for people. */
export function errorTable(): string {
  return table(
    ['Code', 'Status', 'Meaning'],
    Object.entries(errors).map(([code, { status, title }]) => [`\`${code}\``, String(status), title]),
  )
}
