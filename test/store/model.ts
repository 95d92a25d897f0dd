import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TryOutcome } from '../../src/outside/store/events.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { ClaimState, Store } from '../../src/outside/store/store.ts'
import type { Place } from './places.ts'
import { batch, callsOf, named, newClaim, newEvent, scanned, usedName } from './samples.ts'

type Verb = (...args: readonly unknown[]) => Promise<unknown>
/** The verbs of a run, each with what may be its arguments. */
type Verbs = {
  readonly [Name in keyof Store]?: Store[Name] extends (...args: infer Args) => Promise<unknown>
    ? { readonly [Place in keyof Args]: fc.Arbitrary<Args[Place]> }
    : never
}

/* There are few of each kind, so that steps meet. */

const at = fc.integer({ min: 1, max: 4 })
/** Their byte order differs from their order in JavaScript. */
const tenant = fc.constantFrom('\uffee', '🚚')
const name = fc.constantFrom('n1', 'n2', "ÄÖ 🚚'); DROP TABLE names;--\n%\\")
const vin = fc.constantFrom('', 'V1', 'V2')
const id = fc.constantFrom('id1', 'id2', '0000000a-0000-4000-8000-000000000001', '0000000A-0000-4000-8000-000000000001')

/* Names and claims */

const kind = fc.constantFrom('quote', 'shipment')
const givenBy = fc.constantFrom('caller', 'service')
const oneName = fc.record({ tenant, name, kind, id, givenBy, at }).map(named)
const names = fc.array(oneName, { maxLength: 4 })
const newNames = fc.oneof(
  names,
  names.map((all) => all.map(({ at: _, ...timeless }) => timeless)),
)
const blank = fc.constant('')
const vehicles = fc.array(fc.record({ vin, year: fc.constantFrom('', '2020'), make: blank, model: blank }), {
  maxLength: 2,
})
const someParts: { requiredKeys: ('tenant' | 'id')[] } = { requiredKeys: ['tenant', 'id'] }
const quote = fc.record(
  {
    ...{ tenant, id, own: name, names: fc.array(name), price: name },
    facts: fc.option(fc.record({ a: fc.string(), b: fc.integer() })),
    approval: fc.constantFrom('', 'sent', 'approved'),
  },
  someParts,
)
const shown = fc.constantFrom('live', 'canceled', 'gone')
const shipment = fc.record(
  { tenant, id, own: name, vehicles, formerVins: fc.dictionary(vin, vin), state: shown, quote: id },
  someParts,
)
const write = fc.record({ names: newNames, quote, shipment }, { requiredKeys: ['names'] })
const loaded = fc.tuple(newNames, vin).map(([all, vin]) => all.map((one) => ({ ...one, vin })))

const state = fc.constantFrom<ClaimState>('sending', 'booked', 'refused', 'unknown', 'freed')
/** Two keys for each reference, with separate handles. */
const wanted = fc
  .record({
    ...{ tenant, reference: name, vin, isOfReference: fc.boolean(), body: fc.constantFrom('hash', 'other') },
    expiresInMs: fc.option(at, { nil: undefined }),
    doubtSince: fc.option(at, { nil: undefined }),
  })
  .map((one) => {
    const { tenant, reference, isOfReference, vin } = one
    const key = isOfReference ? `of ${reference}` : reference
    return newClaim({ ...one, key, ...(isOfReference && { handle: `bk_${tenant}_${reference}_${vin}` }) })
  })
const key = fc.oneof(
  name,
  name.map((text) => `of ${text}`),
)
const handle = fc.tuple(tenant, name).map(([one, of]) => `bk_${one}_${of}`)

const namesAndClaims: Verbs = {
  put: [write],
  noteApproval: [quote, fc.tuple(name)],
  unlink: [names],
  load: [loaded, fc.record({ replace: fc.boolean() })],
  noteUses: [tenant, fc.tuple(name)],
  named: [
    tenant,
    fc.oneof(
      name,
      name.map((text) => text.toUpperCase()),
    ),
  ],
  bears: [tenant, name, id],
  quote: [tenant, id],
  shipment: [tenant, id],
  shipmentsOfQuote: [tenant, id],
  approvals: [tenant, fc.tuple(name, id)],
  claim: [wanted],
  holderOf: [wanted],
  change: [
    fc.record({ tenant, key, version: at }),
    fc.record(
      { state, instance: fc.constant('g'), why: fc.string(), shipment: id },
      { requiredKeys: ['state', 'instance', 'why'] },
    ),
    fc.option(write, { nil: undefined }),
  ],
  findClaim: [tenant, key],
  claimByHandle: [handle],
  listClaims: [
    fc.record(
      {
        state,
        tenant,
        name: name.map((text) => text.toUpperCase()),
        newest: fc.boolean(),
        limit: at,
        since: at,
        until: at,
      },
      { requiredKeys: [] },
    ),
  ],
  countClaims: [at, tenant],
  claimsOfReference: [tenant, name],
  claimsOfShipment: [tenant, id],
  audit: [handle],
  declareDoubt: [fc.record({ since: at, until: fc.constantFrom(0, 3) })],
  doubt: [],
  trust: [],
  addCounts: [
    fc.tuple(at, fc.constantFrom('g1', 'g2'), tenant, at, name).map(([no, instance, tenant, count, name]) => ({
      ...batch(no, {
        days: [count],
        calls: [callsOf({ tenant, calls: count })],
        names: [usedName({ tenant, name, count, firstAt: count, lastAt: count, example: `${no}` })],
      }),
      instance,
    })),
  ],
}

/* Events */

/** One of the stored events, perhaps in the state before its last change. */
const choice = fc.record({ nth: fc.nat(20), isOutdated: fc.constantFrom(false, false, true) })
type Choice = typeof choice extends fc.Arbitrary<infer Chosen> ? Chosen : never

async function chosen(store: Store, { nth, isOutdated }: Choice) {
  const all = await store.listEvents({})
  const { id, version } = all[nth % all.length] ?? { id: 'none', version: 1 }
  return { id, version: isOutdated ? version - 1 : version }
}

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
const event = fc.record({ tenant, shipment: id, event: fc.constantFrom('e1', 'e2', 'e3', 'e4'), deliver: fc.boolean() })

/** The operations on events; those that advance them are more frequent. */
const events: Verbs = {
  takeEvent: [event.map(newEvent)],
  leaseEvents: [tenant, fc.constant(100), fc.constant(5)],
  resumeEndpoint: [tenant],
  listEvents: [fc.record({ tenant, since: at, until: at, limit: at }, { requiredKeys: [] })],
  eventsOfShipment: [tenant, id],
  abandonedEvents: [fc.tuple(tenant), at],
  shipmentsWithEvents: [tenant, at, at],
}
const OFTEN = { takeEvent: 5, leaseEvents: 5, finishTry: 5 }

/* Runs */

/** One step of a run: the verb, which of two gateways, and the time of the call, or the time since the last one. */
interface Step {
  readonly gateway: 0 | 1
  readonly at: number
  readonly call: (store: Store) => Promise<unknown>
  readonly text: string
}

const step = <A>(name: string, args: fc.Arbitrary<A>, call: (store: Store, args: A) => Promise<unknown>) => ({
  weight: { ...OFTEN }[name] ?? 1,
  arbitrary: fc.tuple(args, fc.constantFrom(0 as const, 1 as const), at).map(
    ([given, gateway, time]): Step => ({
      gateway,
      at: time,
      call: (store) => call(store, given),
      text: `${name} ${JSON.stringify(given)} at ${gateway}, ${time} ms`,
    }),
  ),
})

const stepsOf = (verbs: Verbs) =>
  Object.entries(verbs).map(([name, args]) =>
    // The arguments are those of the verb.
    step(name, fc.tuple(...(args as readonly fc.Arbitrary<unknown>[])), (store, given) =>
      (store[name as keyof Store] as Verb)(...given),
    ),
  )

const eventSteps = [
  ...stepsOf(events),
  step('finishTry', fc.tuple(choice, outcome), async (store, [one, end]) =>
    store.finishTry(await chosen(store, one), end),
  ),
  step('keepBody', choice, async (store, one) =>
    store.keepBody(await chosen(store, one), { text: `${one.nth}`, format: 'form' }),
  ),
  ...(['replayEvents', 'skipEvents'] as const).map((name) =>
    step(name, choice, async (store, one) => store[name]([(await chosen(store, one)).id])),
  ),
]

/** An answer without the numbers of events, which engines count differently. */
const comparable = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer ?? null, (key, value) => (key === 'no' ? undefined : value)))

/** Returns a store's content for tenants. */
export async function contentOf(store: Store, tenants: readonly string[] = ['\uffee', '🚚']) {
  const byText = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
  const names = await scanned(store)
  const claims = await store.listClaims({})
  const things = names.map(({ tenant, id }) => [store.quote(tenant, id), store.shipment(tenant, id)])
  return comparable([
    ...[names, claims, await Promise.all(things.flat())],
    await Promise.all(claims.map(({ handle }) => store.audit(handle))),
    await store.listEvents({}),
    await store.tenantsWithDue(tenants),
    await store.endpoints(),
    (await store.openEvents()).toSorted(byText),
    await store.callCounts(tenants, 0),
    await Promise.all(tenants.map((tenant) => store.nameCounts(tenant))),
    await store.watchedDays(),
    await store.doubt(),
  ])
}

/** For a busy machine. */
const TIMEOUT_MS = 120_000

/** Tests that two gateways on one database, called in turn, answer as the store in memory does. */
export function storeModel(newPlace: () => Promise<Place>, numRuns: number): void {
  test.each([
    { what: 'names and claims', steps: stepsOf(namesAndClaims), timeAfter: (_: number, at: number) => at },
    { what: 'events', steps: eventSteps, timeAfter: (now: number, at: number) => now + at },
  ])('$what are those of the model, whichever gateway is asked', { timeout: TIMEOUT_MS }, async (row) => {
    const steps = fc.array(fc.oneof(...row.steps), { minLength: 20, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(steps, async (run) => {
        const place = await newPlace()
        const stores = [await place.open(), await place.open()] as const
        let now = 0
        const model = createMemoryStore({ now: () => now })
        try {
          for (const { call, gateway, at, text } of run) {
            now = row.timeAfter(now, at)
            await place.setClock(now)
            const expected = comparable(await call(model))
            expect(comparable(await call(stores[gateway])), text).toEqual(expected)
          }
          for (const store of stores) expect(await contentOf(store)).toEqual(await contentOf(model))
        } finally {
          await place.close()
        }
      }),
      { numRuns },
    )
  })
}
