import { expect, test } from 'vitest'
import { createKnownDoubt, doubtView, originText } from '../../src/bookings/doubts.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Doubt } from '../../src/store/doubt.ts'

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
  expect(text).toMatch(/bookings that were made after the copy can be booked again; see docs\/backup\.md$/)
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
