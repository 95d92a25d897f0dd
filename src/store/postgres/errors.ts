import { StoreDown, StoreTooNew } from '../store.ts'

/** What PostgreSQL blames on the values rather than on itself: data exceptions and broken constraints. */
const OWN_FAULT = /^2[23]/

/** One write is at fault, and the store is well. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** Wrong at the start: unknown user, wrong password, no such database. */
const WRONG_ADDRESS = /^(28|3D)/

/** The five characters that name an error of the server; empty where the server did not say anything. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Whether one write failed by its own fault, rather than all of them by the server's. */
export function isOwnFault(error: unknown): boolean {
  return OWN_FAULT.test(codeOf(error))
}

/** Whether trying again at the start would change nothing. */
export function isHopeless(error: unknown): boolean {
  return error instanceof StoreTooNew || WRONG_ADDRESS.test(codeOf(error))
}

/** The error that a caller sees: its own fault as it is, everything else as the store being down. */
export function asStoreError(error: unknown): Error {
  if (error instanceof StoreDown || error instanceof StoreTooNew || error instanceof Refused) return error
  const message = messageOf(error)
  if (isOwnFault(error)) return new Refused(`The store refused a write: ${message}`, { cause: error })
  return new StoreDown(`PostgreSQL does not answer: ${message}`, { cause: error })
}

/** A host with two addresses fails with one error for each, and an empty message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
