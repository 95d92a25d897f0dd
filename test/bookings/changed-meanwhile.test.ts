/** Promise: changes that could not be seen or recorded book nothing twice (contract, sections 6 and 7). */

import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { OWN, startGateway } from '../gateway.ts'
import { book, claimOf, heartbeats } from './desk.ts'
import { play, storiesIn } from './stories.ts'

test.each(storiesIn(import.meta.dirname, 'changed-meanwhile.txt'))('%s', (_, steps) => play(steps))

test('a claim that the store takes after its failure becomes free again', async () => {
  const beat = heartbeats()
  const inner = createMemoryStore()
  const late = Promise.withResolvers<Parameters<Store['claim']>[0]>()
  const claim: Store['claim'] = (wanted) => {
    late.resolve(wanted)
    return Promise.reject(new Error('Query read timeout'))
  }
  const first = await startGateway({ store: { ...inner, claim }, env: OWN })
  expect((await book(first)).status).toBe(500)
  // The claim must exist before a heartbeat of its gateway looks for it.
  await beat(async () => expect(await inner.listClaims({})).toEqual([]))
  await inner.claim(await late.promise)
  await beat(async () => expect((await claimOf(first)).state).toBe('freed'))
})
