import { messageOf } from '../../../language/config/store-address.ts'
import { StoreDown, StoreTooNew } from '../store.ts'

/** Reports whether a server error is in a class, by its SQLSTATE. */
const hasCode = (codes: RegExp) => (error: unknown) =>
  error instanceof Error && 'code' in error && codes.test(String(error.code))

/**
 * Reports whether an error means an invalid write, not a failure of the server: data exceptions, constraint violations, and values too
 * large for an index.
 */
export const isInvalidWrite = hasCode(/^(?:2[23]|54)/)

/**
 * Reports whether the server has rolled back a statement and keeps working, so that its rows may be tried one by one. One of the rows may
 * be the reason, or a program limit, a deadlock in which one of two transactions had to give up, or a lock that was not available in time.
 */
export const isRolledBack = hasCode(/^(?:2[23]|54|40001|40P01|55P03)/)

/** Reports whether the server accepts no writes: a standby, or one that was made read-only. */
export const isReadOnly = hasCode(/^25006$/)

/** Reports whether a statement failed because another session prepared it. Nothing was done. */
export const isNotPrepared = hasCode(/^(?:26000|42P05)$/)

/**
 * Reports whether the database is not the gateway's: unknown user, wrong password, no such database, a user without a permission, or tables
 * and columns that no release made.
 */
const isNotOurs = hasCode(/^(?:28|3D|42501|4270[13]|42P0[17])/)

/** Reports whether a retry of the first connection cannot help. */
export function isPermanent(error: unknown): boolean {
  return error instanceof StoreTooNew || isNotOurs(error)
}

/** Returns the error for the caller: `StoreDown`, unless the store works but refuses this write. */
export function asStoreError(error: unknown): Error {
  if (error instanceof StoreDown || error instanceof StoreTooNew) return error
  const message = messageOf(error)
  if (isInvalidWrite(error)) return new Error(`The store refused a write: ${message}`, { cause: error })
  const what = isNotOurs(error) ? 'refuses the gateway' : 'does not answer'
  return new StoreDown(`PostgreSQL ${what}: ${message}`, { cause: error })
}
