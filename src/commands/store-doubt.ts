import type { NewDoubt } from '../store/doubt.ts'
import { print } from './output.ts'
import { withExistingStore } from './store.ts'

/** Declares that bookings may be missing in the store. Gateways that run know it within seconds. */
export function declareDoubt(doubt: NewDoubt): Promise<number> {
  return withExistingStore(async (store) => {
    print(...doubtLines(await store.declareDoubt(doubt)))
    return 0
  })
}

/** Ends the doubt about a store, and accepts a copied store as that of its place. */
export function trust(): Promise<number> {
  return withExistingStore(async (store) => {
    const changed = await store.trust()
    print(changed ? 'The store is trusted: bookings that it does not know are sent.' : 'Nothing was in doubt.')
    return 0
  })
}

/** Says what a doubt means. */
export function doubtLines({ since, until }: NewDoubt): readonly string[] {
  const end = until === 0 ? 'until "transload store trust"' : `until ${new Date(until).toISOString()}`
  return [
    `Bookings since ${new Date(since).toISOString()} may be missing. A booking that the store does not know is answered Unknown, and not sent, ${end}.`,
    '"transload bookings list --state unknown" shows those that callers have asked for.',
  ]
}
