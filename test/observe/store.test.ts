import { expect, test } from 'vitest'
import { observeStore } from '../../src/observe/store.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'

const OPERATIONS = {
  put: 'put',
  unlink: 'unlink',
  load: 'load',
  claim: 'claim',
  change: 'change',
  findClaim: 'find-claim',
  claimByHandle: 'claim-by-handle',
  claimsOfShipment: 'claims-of-shipment',
  listClaims: 'list-claims',
  audit: 'audit',
  renewLease: 'renew-lease',
  endLease: 'end-lease',
  prune: 'prune',
  noteUses: 'note-uses',
  orphanClaims: 'orphan-claims',
  takeEvent: 'take-event',
  eventsOfShipment: 'events-of-shipment',
  shipmentsWithEvents: 'shipments-with-events',
  leaseEvents: 'lease-events',
  finishTry: 'finish-try',
  exclusive: 'lock',
} as const

type Name = keyof typeof OPERATIONS | 'links' | 'thing'

/** Returns a store of an engine, each of whose operations resolves with what it was asked. */
function echo(engine: Store['engine'], fails = false): Store {
  const answer = async (...asked: readonly unknown[]) => {
    if (fails) throw new Error('the store is down')
    return asked
  }
  const names: readonly Name[] = [...(Object.keys(OPERATIONS) as Name[]), 'links', 'thing']
  const exclusive = async (_key: string, _waitMs: number, work: (isHeld: () => boolean) => unknown) =>
    fails ? answer() : work(() => true)
  return Object.assign(createMemoryStore(), Object.fromEntries(names.map((name) => [name, answer])), {
    engine,
    exclusive,
  })
}

function observed(store: Store) {
  const counted: string[] = []
  const { store: timed, pending } = observeStore(store, {
    countStore: (operation, ms) => counted.push(ms >= 0 && ms < 1_000 ? operation : `${operation} ${ms}`),
  })
  // Operations differ in what they take; this test passes them something, and looks at what comes back.
  const call = (name: Name, ...asked: readonly unknown[]) =>
    (timed[name] as (...a: unknown[]) => Promise<unknown>)(...asked)
  const waiting = async () => Object(await pending.get()).values[0].value
  return { call, counted, waiting }
}

test.each(Object.entries(OPERATIONS) as [Name, string][])('%s is timed as %s', async (name, operation) => {
  const { call, counted, waiting } = observed(echo('sqlite'))
  const asked = name === 'exclusive' ? ['key', 1, () => 'done'] : [{ tenant: 'acme' }, 'more']
  const ended = call(name, ...asked)
  if (name !== 'exclusive') expect(await waiting()).toBe(1)
  expect(await ended).toEqual(name === 'exclusive' ? 'done' : asked)
  expect(counted).toEqual([operation])
  expect(await waiting()).toBe(0)
})

test.each(Object.entries(OPERATIONS) as [Name, string][])('%s is timed when it fails', async (name, operation) => {
  const { call, counted, waiting } = observed(echo('sqlite', true))
  await expect(call(name, 'key', 1, () => 'done')).rejects.toThrow('the store is down')
  expect(counted).toEqual([operation])
  expect(await waiting()).toBe(0)
})

test('links and things are timed only where they come from a server', async () => {
  for (const engine of ['memory', 'sqlite', 'postgres'] as const) {
    const { call, counted } = observed(echo(engine))
    expect(await call('links', 'acme')).toEqual(['acme'])
    expect(await call('thing', 'id')).toEqual(['id'])
    expect(counted).toEqual(engine === 'postgres' ? ['links', 'thing'] : [])
  }
})

test('the work under a lock is not the time of the store', async () => {
  const { call, counted, waiting } = observed(echo('sqlite'))
  const inside = await call('exclusive', 'key', 1, async () => [await waiting(), [...counted]])
  expect(inside).toEqual([0, ['lock']])
  expect(counted).toEqual(['lock'])
})
