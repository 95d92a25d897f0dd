import { LRUCache } from 'lru-cache'
import type { Acceptance } from '../service/acceptance.ts'

/** A credential that the service has accepted in this process, with its account. */
export interface Accepted<T> {
  readonly value: T
  readonly acceptance: Acceptance
}

/** Accepted credentials, by the `Authorization` header that carries them. */
export interface AcceptedCredentials<T> {
  readonly find: (header: string) => Accepted<T> | undefined
  /**
   * Makes the entry of a header that is not accepted yet. Acceptance stores it, and a refusal removes it again.
   * `decided` is called for both.
   */
  readonly open: (header: string, value: (acceptance: Acceptance) => T, decided?: Decided) => Accepted<T>
}

/** Called with the service's verdict on a header. */
export type Decided = (header: string, isAccepted: boolean) => void

/** Time after the last acceptance until the service is asked again. */
const PROVEN_MS = 15 * 60_000
const KEPT = 10_000
const KEPT_BYTES = 32 * 1024 * 1024
/** The size of an account with its token and three encodings of the credential. */
const ACCOUNT_BYTES = 2_048
const SPELLINGS = 3
/** The size that counts for a small entry: it limits their number. */
const LEAST_BYTES = Math.ceil(KEPT_BYTES / KEPT)

/** Makes the cache of accepted credentials; a credential that the service has not accepted takes no place in it. */
export function createAcceptedCredentials<T>(): AcceptedCredentials<T> {
  const kept = new LRUCache<string, Accepted<T>>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (_entry, { length }) => Math.max(LEAST_BYTES, ACCOUNT_BYTES + SPELLINGS * length),
  })
  return {
    find: (header) => kept.get(header),
    open: (header, value, decided = () => undefined) => {
      let provenUntil = Number.NEGATIVE_INFINITY
      const acceptance: Acceptance = {
        isProven: () => performance.now() < provenUntil,
        accepted: () => {
          provenUntil = performance.now() + PROVEN_MS
          if (kept.peek(header) !== entry) kept.set(header, entry)
          decided(header, true)
        },
        refused: () => {
          provenUntil = Number.NEGATIVE_INFINITY
          if (kept.peek(header) === entry) kept.delete(header)
          decided(header, false)
        },
      }
      const entry: Accepted<T> = { value: value(acceptance), acceptance }
      return entry
    },
  }
}
