import { LRUCache } from 'lru-cache'

type Options<Key extends {}, Value extends {}> = Pick<LRUCache.OptionsBase<Key, Value, unknown>, 'ttl' | 'noUpdateTTL'>

/**
 * Makes a cache of so many entries, those that were used last. Its memory grows with them: with `max`, lru-cache would take
 * the memory of all of them at once.
 */
export function createBoundedCache<Key extends {}, Value extends {}>(
  entries: number,
  options: Options<Key, Value> = {},
): LRUCache<Key, Value> {
  return new LRUCache({ ...options, maxSize: entries, sizeCalculation: one })
}

const one = () => 1
