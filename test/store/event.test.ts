import { describe, expect, test } from 'vitest'
import {
  afterTry,
  EVENT_LIST_LIMIT,
  EVENTS_PER_SHIPMENT,
  eventId,
  isFailure,
  isFinished,
  PRUNE_BATCH,
  passes,
  receivedEvent,
  replayed,
  skipped,
} from '../../src/store/event.ts'
import type { EventFilter, EventState } from '../../src/store/events.ts'
import { newEvent } from './event-contract.ts'

const taken = newEvent()
const event = { ...receivedEvent(taken, 7, 1_000), failures: 2, version: 5 }

test('an event has an id of what identifies it', () => {
  expect(eventId(taken)).toMatch(/^msg_[0-9a-f]{32}$/)
  expect(eventId({ ...taken, payload: '{}', deliver: !taken.deliver })).toBe(eventId(taken))
  const others = (['tenant', 'shipment', 'event', 'date', 'digest'] as const).map((name) => ({ ...taken, [name]: 'x' }))
  expect(new Set([taken, ...others].map(eventId)).size).toBe(6)
})

test('a received event is due if it is to be delivered', () => {
  const { deliver: _, ...told } = taken
  expect(receivedEvent({ ...taken, deliver: true }, 7, 1_000)).toEqual({
    ...told,
    id: eventId(taken),
    no: 7,
    receivedAt: 1_000,
    state: 'due',
    version: 1,
    failures: 0,
    retryAt: 1_000,
    changedAt: 1_000,
    outcome: '',
    body: undefined,
  })
  expect(receivedEvent({ ...taken, deliver: false }, 7, 1_000).state).toBe('recorded')
})

describe('an event has another version', () => {
  test('after a try, which may have failed', () => {
    const changed = { ...event, version: 6, changedAt: 2_000 }
    expect(afterTry(event, { state: 'delivered', outcome: 'answered 200' }, 2_000)).toEqual({
      ...changed,
      state: 'delivered',
      outcome: 'answered 200',
      retryAt: 2_000,
    })
    expect(afterTry(event, { state: 'due', outcome: 'answered 500', retryInMs: 5 }, 2_000)).toEqual({
      ...changed,
      state: 'due',
      outcome: 'answered 500',
      failures: 3,
      retryAt: 2_005,
    })
  })

  test('after a replay, which begins anew, and after a skip', () => {
    expect(replayed(event, 2_000)).toEqual({
      ...event,
      state: 'due',
      outcome: 'replayed by an operator',
      failures: 0,
      retryAt: 2_000,
      version: 6,
      changedAt: 2_000,
    })
    expect(skipped(event, 2_000)).toEqual({
      ...event,
      state: 'skipped',
      outcome: 'skipped by an operator',
      version: 6,
      changedAt: 2_000,
    })
  })
})

test('a try counts as failed unless it delivered, or says so itself', () => {
  expect(isFailure({ state: 'delivered', outcome: '' })).toBe(false)
  expect(isFailure({ state: 'due', outcome: '' })).toBe(true)
  expect(isFailure({ state: 'parked', outcome: '' })).toBe(true)
  expect(isFailure({ state: 'due', outcome: '', isFailure: false })).toBe(false)
})

test('an event is finished if nothing more is to be done for it', () => {
  const states: readonly EventState[] = ['recorded', 'due', 'delivered', 'parked', 'skipped']
  expect(states.filter((state) => isFinished({ ...event, state }))).toEqual(['recorded', 'delivered', 'skipped'])
})

const filters: readonly (readonly [EventFilter, boolean])[] = [
  [{}, true],
  [{ tenant: event.tenant }, true],
  [{ tenant: 'zeta' }, false],
  [{ state: event.state }, true],
  [{ state: 'parked' }, false],
  [{ since: 1_000 }, true],
  [{ since: 1_001 }, false],
  [{ until: 1_001 }, true],
  [{ until: 1_000 }, false],
  [{ after: 6 }, true],
  [{ after: 7 }, false],
]
test.each(filters)('the filter %j lets it pass: %s', (filter, isPassing) => {
  expect(passes(filter, event)).toBe(isPassing)
})

test('lists and steps are bounded', () => {
  expect({ EVENT_LIST_LIMIT, EVENTS_PER_SHIPMENT, PRUNE_BATCH }).toEqual({
    EVENT_LIST_LIMIT: 1_000,
    EVENTS_PER_SHIPMENT: 4,
    PRUNE_BATCH: 200,
  })
})
