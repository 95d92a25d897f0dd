import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { ClaimState, Store } from '../../src/store/store.ts'
import type { Place } from './places.ts'
import { link, newClaim, scanned, thing } from './samples.ts'

/** One step of a model run: what is called, on which of the two gateways, and what it answered. */
interface Step {
  readonly gateway: 0 | 1
  /** The time by the store's clock. */
  readonly at: number
  readonly call: (store: Store) => Promise<unknown>
  readonly text: string
}

const tenant = fc.constantFrom('a', 'b')
const name = fc.constantFrom('n1', 'n2', 'n3')
const kind = fc.constantFrom('quote', 'shipment')
const vin = fc.constantFrom('', 'V1')
const id = fc.constantFrom('id1', 'id2', 'id3')
const at = fc.integer({ min: 1, max: 4 })
const state = fc.constantFrom<ClaimState>('sending', 'booked', 'refused', 'unknown', 'freed')
const givenBy = fc.constantFrom('caller', 'service')
const links = fc.array(fc.record({ tenant, name, kind, vin, id, givenBy, at }).map(link), { maxLength: 4 })
const timeless = links.map((all) => all.map(({ at: _, ...rest }) => rest))
const newLinks = fc.oneof(links, timeless)
const facts = fc.option(fc.record({ a: fc.string(), b: fc.integer() }))
const someThing = fc.record({ tenant, id, own: name, facts }).map(thing)

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

const someNames = fc
  .record({ links: newLinks, thing: fc.option(someThing, { nil: undefined }) })
  .map(({ links, thing }) => (thing ? { links, thing } : { links }))

const steps = fc.oneof(
  step('put', someNames, (store, some) => store.put(some)),
  step('unlink', links, (store, some) => store.unlink(some)),
  step('load', fc.record({ links: newLinks, replace: fc.boolean() }), (store, { links, replace }) =>
    store.load(links, { replace }),
  ),
  step('noteUses', fc.tuple(tenant, name), (store, [one, of]) => store.noteUses(one, [of])),
  step('links', fc.tuple(tenant, name), (store, [one, of]) => store.links(one, of)),
  step('named', fc.tuple(tenant, name), (store, [one, of]) => store.named(one, of.toUpperCase())),
  step('thing', fc.tuple(tenant, id), (store, [one, of]) => store.thing(one, of)),
  step('claim', fc.record({ tenant, key: name, expiresInMs: fc.option(at, { nil: undefined }) }), (store, given) =>
    store.claim(newClaim(given)),
  ),
  step(
    'change',
    fc.record({
      claim: fc.record({ tenant, key: name, version: fc.integer({ min: 1, max: 4 }) }),
      change: fc.record({ state, shipment: fc.option(id) }),
      names: fc.option(someNames, { nil: undefined }),
    }),
    (store, { claim, change: { state, shipment }, names }) =>
      store.change(claim, { state, instance: 'g', why: 'model', ...(shipment === null ? {} : { shipment }) }, names),
  ),
  step('listClaims', fc.record({ state, tenant, newest: fc.boolean() }), (store, options) => store.listClaims(options)),
  step('claimsOfShipment', fc.tuple(tenant, id), (store, [one, of]) => store.claimsOfShipment(one, of)),
  step('audit', fc.tuple(tenant, name), (store, [one, of]) => store.audit(`bk_${one}_${of}`)),
)

/** On a machine that does other things as well. */
const TIMEOUT_MS = 120_000

/** The options of a model run. */
export interface ModelOptions {
  readonly runs: number
}

/** Two gateways on one database, called in turn, answer as the store in memory does. */
export function storeModel(newPlace: () => Promise<Place>, { runs }: ModelOptions): void {
  test('answers as the model does, whichever gateway is asked', { timeout: TIMEOUT_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 60 }), async (run) => {
        const place = await newPlace()
        const stores = [await place.open(), await place.open()] as const
        let now = 0
        const model = createMemoryStore({ now: () => now })
        try {
          for (const { call, gateway, at, text } of run) {
            now = at
            await place.setClock(at)
            const expected = await call(model)
            const agrees = async () => expect(await call(stores[gateway]), text).toEqual(expected)
            await agrees()
          }
          for (const store of stores) {
            expect(await scanned(store)).toEqual(await scanned(model))
            expect(await store.listClaims({})).toEqual(await model.listClaims({}))
          }
        } finally {
          await place.close()
        }
      }),
      { numRuns: runs },
    )
  })
}
