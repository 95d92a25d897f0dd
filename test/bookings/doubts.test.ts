import { expect, test } from 'vitest'
import { createKnownDoubt, doubtView, inDoubt, originText } from '../../src/bookings/doubts.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Doubt } from '../../src/store/doubt.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { newClaim } from '../store/samples.ts'

const AT = Date.UTC(2026, 0, 2, 3, 4, 5)

test.each([
  [{ kind: 'own' } as const, undefined],
  [
    { kind: 'backup', at: AT } as const,
    /^the store is a backup of 2026-01-02T03:04:05\.000Z that was put in place without/,
  ],
  [{ kind: 'moved' } as const, /^the store was copied or moved here without its stamp: if it is a copy, bookings/],
  [{ kind: 'other' } as const, /^the store is a copy of another one than the store that stood here: bookings/],
  [{ kind: 'older' } as const, /^the store is an old copy of the one that stood here: bookings/],
])('a store of the origin %o says so, with the remedy', (origin, said) => {
  const text = originText(origin)
  if (said === undefined) return expect(text).toBeUndefined()
  expect(text).toMatch(said)
  expect(text).toMatch(
    /bookings that were made after the copy can be booked again; see “Back up and restore” in docs\/operations\.md$/,
  )
})

test('a doubt has its times as text, and its end if it has one', () => {
  const [since, declared] = ['2026-01-02T03:04:05.000Z', '2026-01-02T03:04:06.000Z']
  expect(doubtView({ since: AT, declaredAt: AT + 1_000, until: 0 })).toEqual({ since, declared })
  expect(doubtView({ since: AT, declaredAt: AT + 1_000, until: AT + 2_000 })).toEqual({
    since,
    declared,
    until: '2026-01-02T03:04:07.000Z',
  })
})

test('a copied store is logged once, and a doubt when it begins, changes and ends', async () => {
  const said: string[] = []
  const log = createLog('info', { write: (line) => void said.push(JSON.parse(line).msg) })
  let declared: Doubt | undefined
  const store = { origin: async () => ({ kind: 'moved' }) as const, doubt: async () => declared }
  const known = createKnownDoubt(store, log)
  const saidOnRefresh = async (doubt: Doubt | undefined) => {
    declared = doubt
    await known.refresh()
    expect(known.current()).toEqual(doubt)
    return said.splice(0)
  }
  const doubt = { since: AT, declaredAt: AT + 1_000, until: 0 }
  const begins = ['bookings that the store does not know are in doubt']
  expect(await saidOnRefresh(undefined)).toEqual([originText({ kind: 'moved' })])
  expect(await saidOnRefresh(undefined)).toEqual([])
  expect(await saidOnRefresh(doubt)).toEqual(begins)
  expect(await saidOnRefresh({ ...doubt })).toEqual([])
  expect(await saidOnRefresh({ ...doubt, until: AT + 9_000 })).toEqual(begins)
  expect(await saidOnRefresh({ ...doubt, declaredAt: AT + 2_000, until: AT + 9_000 })).toEqual(begins)
  expect(await saidOnRefresh(undefined)).toEqual(['bookings are not in doubt any more'])
})

test('a booking is in doubt if the store has learnt nothing of its key since the doubt was declared', async () => {
  const DECLARED = 1_000
  const doubt = { since: 500, declaredAt: DECLARED, until: 0 }
  let now = DECLARED - 1
  const store = createMemoryStore({ now: () => now })
  const wanted = newClaim()
  const doubted = { ...wanted, doubtSince: 500 }
  expect(await inDoubt(wanted, doubt, store)).toEqual(doubted)
  const { claim } = await store.claim(wanted)
  expect(await inDoubt(wanted, doubt, store)).toEqual(doubted)
  now = DECLARED
  await store.change(claim, { state: 'freed', instance: 'me', why: 'settled' })
  expect(await inDoubt(wanted, doubt, store)).toEqual(wanted)

  // A booking without a reference is another one after the time of duplicates.
  const byBody = newClaim({ key: 'body', expiresInMs: 50 })
  now = DECLARED + 49
  expect(await inDoubt(byBody, doubt, store)).toEqual({ ...byBody, doubtSince: 500 })
  now = DECLARED + 50
  expect(await inDoubt(byBody, doubt, store)).toEqual(byBody)
})
