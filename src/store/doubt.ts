/**
 * The doubt about a store that was restored: it lacks what was written after its backup, and a booking that it does not know may
 * have been made.
 */
export interface Doubt {
  /** Bookings may be missing since then, in milliseconds since 1970. */
  readonly since: number
  /** When the doubt was declared. Everything that the store has learnt since then is certain. */
  readonly declaredAt: number
  /** When the doubt ends by itself; 0: never. */
  readonly until: number
}

/** A doubt that is to be declared. */
export type NewDoubt = Omit<Doubt, 'declaredAt'>

/**
 * How a store came to its place: `own` where it was written there; else it is a copy, and bookings that were made after the copy
 * may be missing.
 */
export type Origin =
  | { readonly kind: 'own' }
  /** A file of `transload store backup`. */
  | { readonly kind: 'backup'; readonly at: number }
  /** Nothing beside it says that it belongs there. */
  | { readonly kind: 'moved' }
  /** Another store stood there. */
  | { readonly kind: 'other' }
  /** The store that stood there had more commits. */
  | { readonly kind: 'older' }

/** Keeps the doubt about a store that may lack bookings, and the decision that ends it. */
export interface Doubts {
  /** Returns the doubt that is in force; undefined if there is none. */
  doubt(): Promise<Doubt | undefined>
  /** Declares a doubt from now on. One that is in force already keeps its beginning, if that is earlier. */
  declareDoubt(doubt: NewDoubt): Promise<Doubt>
  /** Ends the doubt, and accepts a copy as the store of its place; returns false if there was neither. */
  trust(): Promise<boolean>
  /** Returns how the store came to its place. */
  origin(): Promise<Origin>
}

/** Returns the doubt of a declaration, given the one before it. */
export function declaredDoubt({ since, until }: NewDoubt, before: Doubt | undefined, now: number): Doubt {
  const earlier = before && isInForce(before, now) ? before.since : since
  return { since: Math.min(since, earlier), declaredAt: now, until }
}

/** Tells if a doubt is in force at a time. */
export const isInForce = ({ until }: Doubt, now: number): boolean => until === 0 || until > now

/** Creates the doubts of a store in memory, which is never a copy. */
export function createMemoryDoubts(now: () => number, checkOpen: () => void): Doubts {
  let current: Doubt | undefined
  return {
    async doubt() {
      checkOpen()
      return current && isInForce(current, now()) ? current : undefined
    },
    async declareDoubt(doubt) {
      checkOpen()
      current = declaredDoubt(doubt, current, now())
      return current
    },
    async trust() {
      checkOpen()
      const had = current !== undefined
      current = undefined
      return had
    },
    async origin() {
      checkOpen()
      return { kind: 'own' }
    },
  }
}
