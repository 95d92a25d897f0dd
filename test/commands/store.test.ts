/** Promise: pruning removes from the store what is no longer needed (contract, section 7). */

import { join } from 'node:path'
import { test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { named, quote } from '../store/samples.ts'
import { addBooking, replay } from './transcript.ts'

const DAY_MS = 86_400_000

test('what is no longer needed is shown and deleted', async () => {
  const place = folder()
  let daysAgo = 500
  const store = await openStore(join(place, 'store.db'), { now: () => Date.now() - daysAgo * DAY_MS })
  const { at: _, ...given } = named()
  await store.put({ names: [given, { ...given, name: 'Q-2' }], quote: quote() })
  await addBooking(store, 1, 'booked', 'made')
  await addBooking(store, 2, 'unknown', 'timeout')
  for (; daysAgo > 0; daysAgo -= 1) await store.turnDay(DAY_MS)
  await store.close()
  await replay('output/store-prune', {}, place)
})
