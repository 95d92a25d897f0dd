import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TryOutcome } from '../../src/outside/store/events.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { ClaimState, Store } from '../../src/outside/store/store.ts'
import type { Place } from './places.ts'
import { named, newClaim, newEvent, scanned } from './samples.ts'

/** One step of a model run: what is called, on which of the two gateways, and what it answered. */
interface Step {
  readonly gateway: 0 | 1
  /** The time by the store's clock, or how much of it passes. */
  readonly at: number
  readonly call: (store: Store) => Promise<unknown>
  readonly text: string
}

/** A call with arguments that fast-check chose, and shows when it fails. */
function step<A>(text: string, args: fc.Arbitrary<A>, call: (store: Store, args: A) => Promise<unknown>) {
  return fc.tuple(args, fc.constantFrom(0 as const, 1 as const), at).map(
    ([chosen, gateway, time]): Step => ({
      gateway,
      at: time,
      call: (store) => call(store, chosen),
      text: `${text} ${JSON.stringify(chosen)} at ${gateway}, ${time} ms`,
    }),
  )
}

const tenant = fc.constantFrom('a', 'b')
const at = fc.integer({ min: 1, max: 4 })

/* Names and claims */

const name = fc.constantFrom('n1', 'n2', 'n3')
const kind = fc.constantFrom('quote', 'shipment')
const vin = fc.constantFrom('', 'V1', 'V2')
const id = fc.constantFrom('id1', 'id2', '0000000a-0000-4000-8000-000000000001', '0000000A-0000-4000-8000-000000000001')
const state = fc.constantFrom<ClaimState>('sending', 'booked', 'refused', 'unknown', 'freed')
const givenBy = fc.constantFrom('caller', 'service')
const names = fc.array(fc.record({ tenant, name, kind, id, givenBy, at }).map(named), { maxLength: 4 })
const timeless = names.map((all) => all.map(({ at: _, ...rest }) => rest))
const newNames = fc.oneof(names, timeless)
const facts = fc.option(fc.record({ a: fc.string(), b: fc.integer() }))
const vehicles = fc.array(
  fc.record({ vin, year: fc.constantFrom('', '2020'), make: fc.constant(''), model: fc.constant('') }),
  { maxLength: 2 },
)
const parts: { requiredKeys: ('tenant' | 'id')[] } = { requiredKeys: ['tenant', 'id'] }
const approval = fc.constantFrom('', 'sent', 'approved')
const someQuote = fc.record({ tenant, id, own: name, names: fc.array(name), facts, price: name, approval }, parts)
const shown = fc.constantFrom('live', 'canceled', 'gone')
const formerVins = fc.dictionary(vin, vin)
const someShipment = fc.record({ tenant, id, own: name, vehicles, formerVins, state: shown }, parts)
const someNames = fc.record({ names: newNames, quote: someQuote, shipment: someShipment }, { requiredKeys: ['names'] })
const tenantAndName = fc.tuple(tenant, name)
const tenantAndId = fc.tuple(tenant, id)
const loads = fc.record({ names: newNames, vin, replace: fc.boolean() })
/** Two handles for each reference: those of its claims differ. */
const wanted = fc
  .record({
    tenant,
    key: name,
    vin,
    body: fc.constantFrom('hash', 'other'),
    isOfReference: fc.boolean(),
    expiresInMs: fc.option(at, { nil: undefined }),
    doubtSince: fc.option(at, { nil: undefined }),
  })
  .map(({ key, isOfReference, ...one }) =>
    isOfReference
      ? newClaim({
          ...one,
          key: `of ${key}`,
          reference: key,
          isOfReference,
          handle: `bk_${one.tenant}_${key}_${one.vin}`,
        })
      : newClaim({ ...one, key, isOfReference }),
  )

const namesAndClaims = fc.oneof(
  step('put', someNames, (store, some) => store.put(some)),
  step('unlink', names, (store, some) => store.unlink(some)),
  step('load', loads, (store, { names, vin, replace }) =>
    store.load(
      [...names].map((one) => ({ ...one, vin })),
      { replace },
    ),
  ),
  step('noteUses', tenantAndName, (store, [one, of]) => store.noteUses(one, [of])),
  step('named', tenantAndName, (store, [one, of]) => store.named(one, of)),
  step('named', tenantAndName, (store, [one, of]) => store.named(one, of.toUpperCase())),
  step('quote', tenantAndId, (store, [one, of]) => store.quote(one, of)),
  step('shipment', tenantAndId, (store, [one, of]) => store.shipment(one, of)),
  step('claim', wanted, (store, given) => store.claim(given)),
  step(
    'change',
    fc.record({
      claim: fc.record({
        tenant,
        key: fc.oneof(
          name,
          name.map((text) => `of ${text}`),
        ),
        version: fc.integer({ min: 1, max: 4 }),
      }),
      change: fc.record({ state, shipment: fc.option(id) }),
      names: fc.option(someNames, { nil: undefined }),
    }),
    (store, { claim, change: { state, shipment }, names }) =>
      store.change(claim, { state, instance: 'g', why: 'model', ...(shipment === null ? {} : { shipment }) }, names),
  ),
  step(
    'listClaims',
    fc.record({ state, tenant, newest: fc.boolean(), limit: at, since: at, until: at }, { requiredKeys: [] }),
    (store, options) => store.listClaims(options),
  ),
  step('countClaims', fc.tuple(at, tenant), (store, [most, one]) => store.countClaims(most, one)),
  step('claimsNamed', name, async (store, of) =>
    (await store.claimsNamed(of.toUpperCase(), 9)).map(({ handle }) => handle).sort(),
  ),
  step('declareDoubt', fc.record({ since: at, until: fc.constantFrom(0, 3) }), (store, doubt) =>
    store.declareDoubt(doubt),
  ),
  step('trust', tenant, async (store) => [await store.doubt(), await store.trust()]),
  step('claimsOfReference', tenantAndName, (store, [one, of]) => store.claimsOfReference(one, of)),
  step('claimsOfShipment', tenantAndId, (store, [one, of]) => store.claimsOfShipment(one, of)),
  step('audit', tenantAndName, (store, [one, of]) => store.audit(`bk_${one}_${of}`)),
)

/* Events */

const outcome: fc.Arbitrary<TryOutcome> = fc.record(
  {
    state: fc.constantFrom('delivered', 'due', 'due', 'parked'),
    outcome: fc.constantFrom('answered 200', 'answered 500'),
    retryInMs: fc.constantFrom(0, 3, 9),
    isFailure: fc.boolean(),
    endpoint: fc.constantFrom({ stop: true } as const, { pauseMs: 9 }),
  },
  { requiredKeys: ['state', 'outcome'] },
)
/** One of the events that are stored, which may be read before its last change. */
const choice = fc.record({ nth: fc.nat(20), isOutdated: fc.constantFrom(false, false, true) })

async function chosenEvent(store: Store, { nth, isOutdated }: { nth: number; isOutdated: boolean }) {
  const all = await store.listEvents({})
  const { version, ...event } = all[nth % all.length] ?? { ...newEvent(), id: 'none', version: 1 }
  return { ...event, version: isOutdated ? version - 1 : version }
}

const events = fc.oneof(
  {
    weight: 5,
    arbitrary: step(
      'takeEvent',
      fc.record({ tenant, shipment: id, event: fc.constantFrom('e1', 'e2', 'e3', 'e4', 'e5'), deliver: fc.boolean() }),
      (store, given) => store.takeEvent(newEvent(given)),
    ),
  },
  {
    weight: 5,
    arbitrary: step('leaseEvents', tenant, async (store, one) =>
      (await store.leaseEvents(one, 100, 5)).map(({ id }) => id).sort(),
    ),
  },
  {
    weight: 5,
    arbitrary: step('finishTry', fc.tuple(choice, outcome), async (store, [chosen, given]) =>
      store.finishTry(await chosenEvent(store, chosen), given),
    ),
  },
  step('keepBody', choice, async (store, chosen) =>
    store.keepBody(await chosenEvent(store, chosen), { text: `${chosen.nth}`, format: 'form' }),
  ),
  step('replayEvents', choice, async (store, chosen) => store.replayEvents([(await chosenEvent(store, chosen)).id])),
  step('skipEvents', choice, async (store, chosen) => store.skipEvents([(await chosenEvent(store, chosen)).id])),
  step('resumeEndpoint', tenant, (store, one) => store.resumeEndpoint(one)),
  step(
    'listEvents',
    fc.record({ tenant, since: at, until: at, limit: at }, { requiredKeys: [] }),
    async (store, filter) => (await store.listEvents(filter)).map(({ id }) => id),
  ),
  step('eventsOfShipment', tenantAndId, async (store, [one, of]) =>
    (await store.eventsOfShipment(one, of)).map(({ id }) => id),
  ),
  step('shipmentsWithEvents', fc.tuple(tenant, at, at), (store, [one, since, limit]) =>
    store.shipmentsWithEvents(one, since, limit),
  ),
)

/* Runs */

/** Returns what a store has, without the numbers of events, which engines count differently. */
async function seen(store: Store) {
  const byText = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
  return {
    names: await scanned(store),
    claims: await store.listClaims({}),
    events: (await store.listEvents({})).map(({ no: _, ...event }) => event),
    due: await store.tenantsWithDue(['a', 'b']),
    endpoints: (await store.endpoints()).toSorted(byText),
    open: (await store.openEvents()).toSorted(byText),
  }
}

/** On a machine that does other things as well. */
const TIMEOUT_MS = 120_000

/** Two gateways on one database, called in turn, answer as the store in memory does. */
export function storeModel(newPlace: () => Promise<Place>, numRuns: number): void {
  test.each([
    { what: 'names and claims', steps: namesAndClaims, timeAfter: (_: number, at: number) => at },
    { what: 'events', steps: events, timeAfter: (now: number, at: number) => now + at },
  ])('$what are those of the model, whichever gateway is asked', { timeout: TIMEOUT_MS }, async (row) => {
    await fc.assert(
      fc.asyncProperty(fc.array(row.steps, { minLength: 20, maxLength: 60 }), async (run) => {
        const place = await newPlace()
        const stores = [await place.open(), await place.open()] as const
        let now = 0
        const model = createMemoryStore({ now: () => now })
        try {
          for (const { call, gateway, at, text } of run) {
            now = row.timeAfter(now, at)
            await place.setClock(now)
            const expected = await call(model)
            expect(await call(stores[gateway]), text).toEqual(expected)
          }
          for (const store of stores) expect(await seen(store)).toEqual(await seen(model))
        } finally {
          await place.close()
        }
      }),
      { numRuns },
    )
  })
}
