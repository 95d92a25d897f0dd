import { describe, expect, test } from 'vitest'
import {
  afterAnother,
  courseOf,
  HELD_FOR_MS,
  isHeldSince,
  isOpen,
  isStale,
  LEASE_MS,
  NO_LEASE,
  NotBooked,
  proofOf,
  renewed,
} from '../../src/bookings/protocol.ts'
import { gatewayError } from '../../src/errors.ts'
import { NoReply, type Silence } from '../../src/service/exchange.ts'
import { newlyClaimed } from '../../src/store/claim.ts'
import type { Claim, ClaimState } from '../../src/store/store.ts'
import { newClaim } from '../store/samples.ts'
import { STATES } from './desk.ts'

const claim = (state: ClaimState, given: Partial<Claim> = {}): Claim => ({
  ...newlyClaimed(newClaim({ body: 'the same' }), undefined, 0),
  state,
  ...given,
})

describe('a call that found its key claimed', () => {
  test.each<[ClaimState, string, boolean, string]>([
    ['sending', 'the same', false, 'wait'],
    ['sending', 'the same', true, 'unknown'],
    ['sending', 'another', false, 'another-booking'],
    ['sending', 'another', true, 'another-booking'],
    ['booked', 'the same', false, 'replay'],
    ['booked', 'another', false, 'another-booking'],
    ['unknown', 'the same', false, 'unknown'],
    ['unknown', 'another', false, 'unknown'],
    ['refused', 'the same', false, 'claim-again'],
    ['refused', 'another', false, 'claim-again'],
    ['freed', 'the same', false, 'claim-again'],
    ['freed', 'another', false, 'claim-again'],
  ])('that is %s, with %s body, unrecorded: %s, goes on with: %s', (state, body, isUnrecorded, course) => {
    expect(courseOf(claim(state), body, isUnrecorded)).toBe(course)
  })
})

describe('a failed attempt', () => {
  const answered = (serviceStatus: number) =>
    gatewayError('service-failed', { status: serviceStatus, serviceSays: '' }, { serviceStatus })

  test.each([
    ['that made nothing', new NotBooked(new Error('no')), { state: 'freed', why: 'nothing was booked' }],
    ...(['unsent', 'busy', 'withdrawn'] as const).map(
      (silence: Silence) => [silence, new NoReply(silence), { state: 'freed', why: 'never sent' }] as const,
    ),
    ...(['late', 'lost', 'too-large'] as const).map(
      (silence: Silence) => [silence, new NoReply(silence), { state: 'unknown', why: silence }] as const,
    ),
    ['before an open circuit', gatewayError('circuit-open', {}), { state: 'freed', why: 'circuit-open' }],
    ['without a login', gatewayError('login-failed/unreadable', {}), { state: 'freed', why: 'login-failed' }],
    [
      'with a credential that the service refused with a status that proves nothing else',
      gatewayError('login-refused', { serviceSays: '' }, { serviceStatus: 503 }),
      { state: 'freed', why: 'login-refused' },
    ],
    ['with a refusal', answered(422), { state: 'refused', why: 'answered 422' }],
    ['with a status that proves nothing', answered(503), { state: 'unknown', why: 'answered 503' }],
    [
      'with a doubtful reply',
      gatewayError('reply-doubtful', { fault: '' }),
      { state: 'unknown', why: 'reply-doubtful' },
    ],
    ['with a fault of the gateway', new TypeError('oops'), { state: 'unknown', why: 'gateway-failed' }],
  ] as const)('%s proves what is known', (_, error, outcome) => {
    expect(proofOf(error, (status) => status === 422)).toEqual(outcome)
  })
})

test('only a claim under way or in doubt has no outcome', () => {
  expect(STATES.filter((state) => isOpen(claim(state)))).toEqual(['sending', 'unknown'])
})

describe('a change after another one', () => {
  const change = (state: ClaimState, shipment?: string) => ({
    state,
    instance: 'gateway-1',
    why: 'late',
    ...(shipment !== undefined && { shipment }),
  })

  test.each([
    ['the same shipment', claim('booked', { shipment: 'S-1' }), change('booked', 'S-1'), 'told-already'],
    ['another shipment', claim('booked', { shipment: 'S-2' }), change('booked', 'S-1'), 'lost'],
    ['a booking that is unknown by now', claim('unknown'), change('booked', 'S-1'), 'override'],
    ['a refusal that is unknown by now', claim('unknown'), change('refused'), 'override'],
    ['nothing that is not known already', claim('unknown'), change('unknown'), 'lost'],
    ['the shipment of a claim that was freed', claim('freed', { shipment: 'S-1' }), change('booked', 'S-1'), 'lost'],
    ['a claim that is sent again', claim('sending'), change('freed'), 'lost'],
    ['a claim that is gone', undefined, change('booked', 'S-1'), 'lost'],
  ] as const)('tells of %s', (_, current, late, decision) => {
    expect(afterAnother(current, late)).toBe(decision)
  })
})

describe('a lease', () => {
  const at = { monotonic: 5, wall: 6 }

  test('counts a term for each renewal that may have come too late', () => {
    expect(NO_LEASE).toEqual({ confirmedAt: undefined, term: 0 })
    expect(renewed({ confirmedAt: undefined, term: 4 }, at, true)).toEqual({ confirmedAt: at, term: 4 })
    expect(renewed({ confirmedAt: undefined, term: 4 }, at, false)).toEqual({ confirmedAt: at, term: 5 })
  })

  test('lasts ten seconds, is relied on for half of them, and is renewed before', () => {
    expect([LEASE_MS, HELD_FOR_MS]).toEqual([10_000, 5_000])
    expect([3_000, 3_001].map(isStale)).toEqual([false, true])
  })

  test.each([
    [4, 5_000, true],
    [4, 5_001, false],
    [3, 0, false],
    [5, 0, false],
  ])('of term 4 holds claims of term %d after %d ms: %s', (term, ageMs, isHeld) => {
    expect(isHeldSince(term, { confirmedAt: at, term: 4 }, ageMs)).toBe(isHeld)
  })
})
