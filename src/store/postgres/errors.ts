import { StoreDown, StoreTooNew } from '../store.ts'

/** SQLSTATE classes of an invalid write: data exceptions and integrity constraint violations. */
const INVALID_WRITE = /^2[23]/
/**
 * SQLSTATEs after which nothing of a statement was done, and the reason may be one of its rows: also a limit of the program, a
 * lock that one of two transactions had to give up, or one that was not to be had in time.
 */
const ROLLED_BACK = /^(?:2[23]|54|40001|40P01|55P03)/
/** The SQLSTATE of a write to a standby, or to a server that was made read-only. */
const READ_ONLY = '25006'

/** The store works, and refused this write. */
export class WriteRefused extends Error {
  override readonly name = 'WriteRefused'
}

/** `STORE_URL` cannot be used. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
  /** The message without the name of the variable. */
  readonly mistake: string

  constructor(mistake: string) {
    super(`STORE_URL ${mistake}.`)
    this.mistake = mistake
  }
}

/** The servers of `STORE_URL` answer, and the gateway can use none of them. */
export class NoServer extends StoreDown {}

/** SQLSTATE classes of a wrong address: unknown user, wrong password, no such database. */
const WRONG_ADDRESS = /^(28|3D)/

/** Returns the SQLSTATE of an error of the server; else an empty string. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Tells an invalid write from a failure of the server. */
export function isInvalidWrite(error: unknown): boolean {
  return INVALID_WRITE.test(codeOf(error))
}

/** Tells if the server has rolled back a statement, and goes on: its rows may be tried one by one. */
export const isRolledBack = (error: unknown): boolean => ROLLED_BACK.test(codeOf(error))

/** Tells if the server takes no writes. */
export const isReadOnly = (error: unknown): error is Error => codeOf(error) === READ_ONLY

/** Tells if a retry of the first connection cannot help. */
export function isPermanent(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isPermanent)
  return error instanceof StoreTooNew || WRONG_ADDRESS.test(codeOf(error))
}

/** Returns the error for the caller: `WriteRefused` for an invalid write, else `StoreDown`. */
export function asStoreError(error: unknown): Error {
  if (error instanceof StoreDown || error instanceof StoreTooNew || error instanceof WriteRefused) return error
  const message = messageOf(error)
  if (isInvalidWrite(error)) return new WriteRefused(`The store refused a write: ${message}`, { cause: error })
  return new StoreDown(`PostgreSQL does not answer: ${message}`, { cause: error })
}

/** Returns the message of an error. A host with several addresses fails with one error for each, and an empty message around them. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

/** The codes of a prepared statement that the session does not know, or knows already. */
const NOT_PREPARED = new Set(['26000', '42P05'])

/** Tells if a statement failed because another session prepared it. Nothing was done. */
export const isNotPrepared = (error: unknown): boolean => NOT_PREPARED.has(codeOf(error))
