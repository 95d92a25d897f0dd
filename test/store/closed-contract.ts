import { expect, test } from 'vitest'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { newEvent } from './event-contract.ts'
import type { Place } from './places.ts'
import { link, newClaim, scanned } from './samples.ts'

const CLAIM = { tenant: 'acme', key: 'REF-1', version: 1 }
const CHANGE = { state: 'freed', instance: 'me', why: 'no' } as const
const EVENT = { id: 'e', version: 1, tenant: 'acme', shipment: 's-1' } as const
const BATCH = { instance: 'me', no: 1 }

/** Every call of the contract that needs the engine. */
const CALLS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  put: (store) => store.put({ links: [link()] }),
  unlink: (store) => store.unlink([link()]),
  load: (store) => store.load([link()], { replace: false }),
  links: (store) => store.links('acme', 'Q-1'),
  named: (store) => store.named('acme', 'Q-1'),
  thing: (store) => store.thing('acme', 'id-1'),
  scan: (store) => scanned(store),
  claim: (store) => store.claim(newClaim()),
  change: (store) => store.change(CLAIM, CHANGE),
  findClaim: (store) => store.findClaim('acme', 'REF-1'),
  claimByHandle: (store) => store.claimByHandle('bk_1'),
  claimsOfShipment: (store) => store.claimsOfShipment('acme', 's-1'),
  listClaims: (store) => store.listClaims({}),
  audit: (store) => store.audit('bk_1'),
  renewLease: (store) => store.renewLease('me', 1_000),
  endLease: (store) => store.endLease('me'),
  orphanClaims: (store) => store.orphanClaims(1_000, 'me'),
  exclusive: (store) => store.exclusive('key', 1_000, async () => {}),
  addCounts: (store) => store.addCounts({ ...BATCH, days: [1], calls: [], names: [] }),
  countedTenants: (store) => store.countedTenants(),
  callCounts: (store) => store.callCounts(['acme'], 1),
  nameCounts: (store) => store.nameCounts('acme'),
  watchedDays: (store) => store.watchedDays(),
  rowsAfter: (store) => store.rowsAfter('claims', undefined),
  addRows: (store) => store.addRows('claims', []),
  liveInstances: (store) => store.liveInstances(),
  copiedFrom: (store) => store.copiedFrom(),
  beginCopy: (store) => store.beginCopy('x'),
  endCopy: (store) => store.endCopy(1),
  doubt: (store) => store.doubt(),
  declareDoubt: (store) => store.declareDoubt({ since: 1, until: 0 }),
  trust: (store) => store.trust(),
  origin: (store) => store.origin(),
  takeEvent: (store) => store.takeEvent(newEvent()),
  findEvent: (store) => store.findEvent('e'),
  eventsOfShipment: (store) => store.eventsOfShipment('acme', 's-1'),
  shipmentsWithEvents: (store) => store.shipmentsWithEvents('acme', 0),
  listEvents: (store) => store.listEvents({}),
  tenantsWithDue: (store) => store.tenantsWithDue(['acme']),
  leaseEvents: (store) => store.leaseEvents('acme', 1, 1_000),
  leaseholders: (store) => store.leaseholders(),
  keepBody: (store) => store.keepBody(EVENT, { text: '', format: 'json' }),
  finishTry: (store) => store.finishTry(EVENT, { state: 'delivered', outcome: '' }),
  replayEvents: (store) => store.replayEvents(['e']),
  skipEvents: (store) => store.skipEvents(['e']),
  resumeEndpoint: (store) => store.resumeEndpoint('acme'),
  endpoints: (store) => store.endpoints(),
  openEvents: (store) => store.openEvents(),
  noteUses: (store) => store.noteUses('acme', ['Q-1']),
  prune: (store) => store.prune({ table: 'links', olderThanMs: 1 }),
  turnDay: (store) => store.turnDay(1),
  size: (store) => store.size(),
}
/** What a store says of itself, whatever its state. */
const ALWAYS: ReadonlySet<string> = new Set(['engine', 'ready', 'now', 'close'])

/** Tests that an engine does nothing more once it is closed. */
export function closedContract(newPlace: () => Promise<Place>): void {
  test('every call of a closed store is rejected', async () => {
    const place = await newPlace()
    const store = await place.open()
    const names = Object.keys(store).filter((name) => !ALWAYS.has(name))
    expect(names.toSorted()).toEqual(Object.keys(CALLS).toSorted())
    await store.close()
    await store.close()
    expect(store.ready()).toBe(false)
    for (const [name, call] of Object.entries(CALLS)) await expect(call(store), name).rejects.toThrow(StoreDown)
    await place.close()
  })
}
