import { expect, test } from 'vitest'
import { doubtView, originText } from '../../src/bookings/doubts.ts'

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
