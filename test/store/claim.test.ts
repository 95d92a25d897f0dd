import { describe, expect, test } from 'vitest'
import { changed, claimReason, isFree, LIST_LIMIT, newlyClaimed } from '../../src/store/claim.ts'
import type { Claim, ClaimState } from '../../src/store/store.ts'
import { newClaim } from './samples.ts'

const CLAIMED_AT = 1_000

const claim = (given: Partial<Claim> = {}): Claim => ({ ...newlyClaimed(newClaim(), undefined, CLAIMED_AT), ...given })

describe('a key', () => {
  test.each<[ClaimState, Partial<Claim>, boolean]>([
    ['sending', {}, false],
    ['sending', { expires: 1 }, false],
    ['unknown', {}, false],
    ['unknown', { expires: 1 }, false],
    ['refused', {}, true],
    ['refused', { expires: 9_999 }, true],
    ['freed', {}, true],
    ['freed', { expires: 9_999 }, true],
    ['booked', { expires: 0 }, false],
    ['booked', { expires: 4_999 }, true],
    ['booked', { expires: 5_000 }, true],
    ['booked', { expires: 5_001 }, false],
  ])('that is %s with %j is free: %s', (state, given, free) => {
    expect(isFree(claim({ state, ...given }), 5_000)).toBe(free)
  })
})

describe('a new claim', () => {
  test('is being sent, is not booked and never expires', () => {
    expect(newlyClaimed(newClaim(), undefined, CLAIMED_AT)).toEqual({
      ...newClaim(),
      state: 'sending',
      version: 1,
      shipment: '',
      reply: '',
      expires: 0,
      createdAt: CLAIMED_AT,
      changedAt: CLAIMED_AT,
    })
  })

  test('has nothing of the claim before but the next version', () => {
    const before = claim({ state: 'booked', version: 7, shipment: 'S-1', reply: '{}', expires: 5, body: 'other' })
    expect(newlyClaimed(newClaim(), before, 2_000)).toEqual({
      ...claim(),
      version: 8,
      createdAt: 2_000,
      changedAt: 2_000,
    })
  })

  test('expires as long after it as asked', () => {
    const taken = newlyClaimed(newClaim({ expiresInMs: 600 }), undefined, CLAIMED_AT)
    expect(taken.expires).toBe(CLAIMED_AT + 600)
    expect(taken).not.toHaveProperty('expiresInMs')
    expect(newlyClaimed(newClaim({ expiresInMs: 0 }), undefined, CLAIMED_AT).expires).toBe(CLAIMED_AT)
  })
})

test('a new claim in doubt is unknown from the start, and as old as the doubt', () => {
  const doubtful = newlyClaimed(newClaim({ doubtSince: 300, expiresInMs: 600 }), undefined, CLAIMED_AT)
  expect(doubtful).toMatchObject({ state: 'unknown', createdAt: 300, changedAt: CLAIMED_AT, expires: 900 })
  expect(doubtful).not.toHaveProperty('doubtSince')
})

describe('a change of a claim', () => {
  const before = claim({ version: 3, shipment: 'S-1', reply: '{"a":1}' })

  test.each<ClaimState>(['sending', 'booked', 'refused', 'unknown', 'freed'])(
    'to %s keeps what it does not name',
    (state) => {
      expect(changed(before, { state, instance: 'gateway-2', why: 'because' }, 2_000)).toEqual({
        ...before,
        state,
        version: 4,
        instance: 'gateway-2',
        changedAt: 2_000,
      })
    },
  )

  test('begins its time once it is booked, and takes it back with the booking', () => {
    const lasting = claim({ expires: CLAIMED_AT + 600 })
    const to = (state: ClaimState, from: Claim, at: number) => changed(from, { state, instance: 'g', why: 'test' }, at)
    const unknown = to('unknown', lasting, 1_050)
    expect(unknown.expires).toBe(CLAIMED_AT + 600)
    const settled = to('booked', unknown, 9_000)
    expect(settled.expires).toBe(9_600)
    const reopened = to('unknown', settled, 9_500)
    expect(reopened.expires).toBe(CLAIMED_AT + 600)
    expect(to('booked', reopened, 20_000).expires).toBe(20_600)
    expect(to('booked', claim(), 9_000).expires).toBe(0)
  })

  test('sets the shipment and the reply, also to nothing', () => {
    const made = { state: 'booked', instance: 'g', why: 'made', shipment: 'S-2', reply: '{}' } as const
    expect(changed(before, made, 2_000)).toMatchObject({ shipment: 'S-2', reply: '{}' })
    expect(changed(before, { ...made, shipment: '', reply: '' }, 2_000)).toMatchObject({ shipment: '', reply: '' })
  })
})

test('what operators read keeps its form', () => {
  expect([claimReason({}), LIST_LIMIT]).toEqual(['claimed', 1_000])
  expect(claimReason({ doubtSince: 0 })).toBe('may have been booked before the store was restored')
})
