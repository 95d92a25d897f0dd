/** Something in a bag, and where it lies. */
export interface Held<T> {
  readonly item: T
  place: number
}

/** A collection without an order. */
export interface UnorderedList<T> {
  readonly add: (item: T) => Held<T>
  /** Takes it out; what was taken out before stays out. */
  readonly take: (held: Held<T>) => void
  readonly size: () => number
  /** All that is in it now; it may be taken from meanwhile. */
  readonly items: () => readonly T[]
}

const OUT = -1

/**
 * Makes a bag for what comes and goes with every call. Not a `Set` or a `Map`: V8 makes theirs anew every few dozen
 * changes, each old one points to the next, and once one of them has grown old it keeps all that follow it, and what they
 * held, until the next full collection. Under load that was 40 MB of garbage a second (docs/decisions/0010).
 */
export function createUnorderedList<T>(): UnorderedList<T> {
  const all: Held<T>[] = []
  return {
    add: (item) => {
      const held = { item, place: all.length }
      all.push(held)
      return held
    },
    take: (held) => {
      const { place } = held
      if (place === OUT) return
      held.place = OUT
      const last = all.pop()
      if (!last || last === held) return
      all[place] = last
      last.place = place
    },
    size: () => all.length,
    items: () => all.map(({ item }) => item),
  }
}
