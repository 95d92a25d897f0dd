import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StoredEvent, TryOutcome } from '../../src/store/events.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { newEvent } from './event-contract.ts'
import type { Place } from './places.ts'

const START = 1_000_000
const LEASE_MS = 60
const LONG_MS = 120_000

const tenant = fc.constantFrom('acme', 'other')
const outcome: fc.Arbitrary<TryOutcome> = fc.record(
  {
    state: fc.constantFrom('delivered', 'due', 'due', 'parked'),
    outcome: fc.constantFrom('answered 200', 'answered 500'),
    retryInMs: fc.constantFrom(0, 30, 100),
    isFailure: fc.boolean(),
    endpoint: fc.constantFrom({ stop: true } as const, { pauseMs: 50 }),
  },
  { requiredKeys: ['state', 'outcome'] },
)
/** One step; `nth` chooses among the events that were leased, or stored, so far. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ take: tenant, shipment: fc.nat(3), event: fc.nat(20), deliver: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ lease: tenant }) },
  { weight: 5, arbitrary: fc.record({ finish: outcome, nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ keep: fc.constantFrom('a', 'b'), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ replay: fc.array(fc.nat(20), { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ skip: fc.array(fc.nat(20), { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ resume: tenant }) },
  { weight: 4, arbitrary: fc.record({ pass: fc.constantFrom(1, 40, 100) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Taken> ? Taken : never

/** Compares an engine with the memory store: the same steps have the same results, whichever of two stores takes them. */
export function eventModel(newPlace: () => Promise<Place>, runs: number): void {
  test('events and deliveries are those of the model', { timeout: LONG_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const place = await newPlace()
        const engines = [await place.open(), await place.open()]
        let now = START
        const model = createMemoryStore({ now: () => now })
        await place.setClock(now)
        const real = actor((i) => engines[i % 2] ?? model)
        const expected = actor(() => model)
        try {
          for (const [i, taken] of steps.entries()) {
            if ('pass' in taken) {
              now += taken.pass
              await place.setClock(now)
            }
            expect(await real(taken, i)).toEqual(await expected(taken, i))
          }
        } finally {
          await place.close()
        }
      }),
      { numRuns: runs },
    )
  })
}

/** Takes steps on a store, and returns what can be seen after each. */
function actor(storeOf: (i: number) => Store) {
  const leased: StoredEvent[] = []
  const ids: string[] = []
  const pick = <T>(list: readonly T[], nth: number): T | undefined => list[nth % Math.max(1, list.length)]

  async function act(taken: Step, store: Store): Promise<unknown> {
    if ('take' in taken) {
      const { take, shipment, event, deliver } = taken
      const given = { tenant: take, shipment: `s-${shipment}`, event: `e-${event}`, deliver }
      const stored = await store.takeEvent(newEvent(given))
      ids.push(stored.id)
      return stored
    }
    if ('lease' in taken) {
      const events = await store.leaseEvents(taken.lease, 100, LEASE_MS)
      const sorted = events.toSorted((one, other) => (one.id < other.id ? -1 : 1))
      leased.push(...sorted)
      return sorted.map(seen)
    }
    const version = 'nth' in taken ? pick(leased, taken.nth) : undefined
    if ('finish' in taken) return version && store.finishTry(version, taken.finish)
    if ('keep' in taken) return version && store.keepBody(version, { text: taken.keep, format: 'form' })
    const idsOf = (list: readonly number[]) => [...new Set(list.flatMap((nth) => pick(ids, nth) ?? []))]
    if ('replay' in taken) return store.replayEvents(idsOf(taken.replay))
    if ('skip' in taken) return store.skipEvents(idsOf(taken.skip))
    if ('resume' in taken) return store.resumeEndpoint(taken.resume)
    return undefined
  }

  return async (taken: Step, i: number) => {
    const store = storeOf(i)
    const result = await act(taken, store)
    const open = await store.openEvents()
    return {
      result,
      events: (await store.listEvents({})).map(seen),
      due: await store.tenantsWithDue(['acme', 'other']),
      endpoints: (await store.endpoints()).toSorted((one, other) => (one.tenant < other.tenant ? -1 : 1)),
      open: open.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    }
  }
}

/** Returns an event without its number, which engines count differently. */
const seen = ({ no: _, ...event }: StoredEvent) => event
