import { beforeEach, describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/memory.ts'
import { isStorableText, withTextChecks } from '../../src/store/storable-text.ts'
import type { Claim, Store } from '../../src/store/store.ts'
import { newEvent } from './event-contract.ts'
import { link, newClaim, thing } from './samples.ts'

const BAD = ['a\0b', '\ud83d', 'x\udc00'] as const

test('text is storable without NUL and without half of a character', () => {
  for (const text of ['', '🚚 é \u0001 \ufffe']) expect(isStorableText(text)).toBe(true)
  for (const text of BAD) expect(isStorableText(text)).toBe(false)
})

/** The calls that have come through to the engine. */
let calls: string[]
let store: Store
beforeEach(() => {
  calls = []
  const engine = createMemoryStore()
  store = withTextChecks(
    Object.fromEntries(
      Object.entries(engine).map(([name, value]) => [
        name,
        typeof value === 'function'
          ? (...args: readonly unknown[]) => void calls.push(`${name} ${args.length}`)
          : value,
      ]),
      // Every method of an engine, each of which notes its call and answers nothing.
    ) as unknown as Store,
  )
})

const claim = { ...newClaim(), state: 'sending', version: 1 } as unknown as Claim
const change = { state: 'freed', instance: 'me', why: 'no' } as const
const event = { id: 'e', version: 1 } as never
const COUNTS = { instance: 'me', no: 1, days: [] }
const NAME = {
  tenant: 'acme',
  kind: 'used',
  action: '',
  name: 'n',
  count: 1,
  firstAt: 1,
  lastAt: 1,
  example: '',
} as const
const CALLS = { tenant: 'acme', day: 1, use: 'version-1', action: '', outcome: 'done', calls: 1 } as const
const BODY = { format: 'json' } as const

type Call = (text: string) => Promise<unknown>

describe('a write of such text is refused', () => {
  const writes: Readonly<Record<string, Call>> = {
    'put 1': (name) => store.put({ links: [link(), link({ name })] }),
    'put 1, of a thing': (own) => store.put({ links: [], thing: thing({ own }) }),
    'unlink 1': (id) => store.unlink([link(), link({ id })]),
    'load 2': (vin) => store.load([link(), link({ vin })], { replace: true }),
    'claim 1': (reference) => store.claim(newClaim({ reference })),
    'change 3': (why) => store.change(claim, { ...change, why }),
    'change 3, with names': (name) => store.change(claim, change, { links: [link({ name })] }),
    'renewLease 2': (instance) => store.renewLease(instance, 1),
    'endLease 1': (instance) => store.endLease(instance),
    'orphanClaims 2': (by) => store.orphanClaims(1, by),
    'addCounts 1': (name) => store.addCounts({ ...COUNTS, calls: [], names: [NAME, { ...NAME, name }] }),
    'addCounts 1, of calls': (outcome) => store.addCounts({ ...COUNTS, calls: [{ ...CALLS, outcome }], names: [] }),
    'exclusive 3': (key) => store.exclusive(key, 1, async () => {}),
    'takeEvent 1': (date) => store.takeEvent(newEvent({ date })),
    'keepBody 2': (text) => store.keepBody(event, { ...BODY, text }),
    'finishTry 2': (outcome) => store.finishTry(event, { state: 'due', outcome }),
  }

  test.each(Object.entries(writes))('%s', async (name, write) => {
    for (const text of BAD) {
      await expect(write(text)).rejects.toThrow(
        new RangeError('Text with a NUL character or an unpaired surrogate cannot be stored.'),
      )
    }
    expect(calls).toEqual([])
    await write('good')
    expect(calls).toEqual([name.split(',')[0]])
  })
})

describe('a read by such text finds nothing', () => {
  const reads: Readonly<Record<string, readonly [read: Call, found: unknown]>> = {
    'links 2': [(name) => store.links('acme', name), []],
    'links 2, of a tenant': [(tenant) => store.links(tenant, 'Q-1'), []],
    'thing 2': [(id) => store.thing('acme', id), undefined],
    'change 3': [(key) => store.change({ tenant: 'acme', key, version: 1 }, change), undefined],
    'change 3, of a tenant': [(tenant) => store.change({ tenant, key: 'k', version: 1 }, change), undefined],
    'findClaim 2': [(key) => store.findClaim('acme', key), undefined],
    'claimByHandle 1': [(handle) => store.claimByHandle(handle), undefined],
    'claimsOfShipment 2': [(shipment) => store.claimsOfShipment('acme', shipment), []],
    'listClaims 1': [(tenant) => store.listClaims({ tenant }), []],
    'audit 1': [(handle) => store.audit(handle), []],
    'callCounts 2': [(tenant) => store.callCounts(tenant, 0), []],
    'nameCounts 1': [(tenant) => store.nameCounts(tenant), []],
    'findEvent 1': [(id) => store.findEvent(id), undefined],
    'eventsOfShipment 2': [(shipment) => store.eventsOfShipment('acme', shipment), []],
    'shipmentsWithEvents 3': [(tenant) => store.shipmentsWithEvents(tenant, 0), []],
    'listEvents 1': [(tenant) => store.listEvents({ tenant }), []],
  }

  test.each(Object.entries(reads))('%s', async (name, [read, found]) => {
    for (const text of BAD) expect(await read(text)).toEqual(found)
    expect(calls).toEqual([])
    await read('good')
    expect(calls).toEqual([name.split(',')[0]])
  })

  test('and a claim of no shipment is none', async () => {
    expect(await store.claimsOfShipment('acme', '')).toEqual([])
    expect(calls).toEqual([])
  })
})

test('lists without a filter are read', async () => {
  await store.listClaims({})
  await store.listEvents({})
  expect(calls).toEqual(['listClaims 1', 'listEvents 1'])
})

test('of several names and ids, those are taken that can be stored', async () => {
  const taken: unknown[] = []
  const engine = createMemoryStore()
  const note = async (...args: readonly unknown[]) => {
    taken.push(args.at(-1))
    return 0
  }
  const checked = withTextChecks({
    ...engine,
    noteUses: async (...args) => void note(...args),
    replayEvents: note,
    skipEvents: note,
  })
  await checked.noteUses('acme', ['a', ...BAD])
  await checked.noteUses(BAD[0], ['a'])
  await checked.replayEvents(['b', ...BAD])
  await checked.skipEvents(['c', ...BAD])
  expect(taken).toEqual([['a'], ['b'], ['c']])
})
