import { beforeEach, describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { createXref, vinKey, type Xref, type XrefRecord } from '../../src/xref/xref.ts'
import { link } from '../store/samples.ts'

const MEMORY_MS = 1_000
const START = 10_000

let now: number
let store: Store
let uses: string[]
let xref: Xref
beforeEach(() => {
  now = START
  uses = []
  store = createMemoryStore({ now: () => now })
  xref = createXref(store, MEMORY_MS, (tenant, at, names) => uses.push(`${tenant} ${at} ${names().join(', ')}`))
})

const record = (given: Partial<XrefRecord> = {}): XrefRecord => ({
  kind: 'shipment',
  id: 's-1',
  names: ['REF-1'],
  vin: 'VIN1',
  own: undefined,
  facts: undefined,
  ...given,
})
const idsOf = async (name: string) => (await xref.matches('acme', name)).map(({ id }) => id)

describe('a record', () => {
  test('makes its names stand for the thing, the caller’s own before those of the service', async () => {
    const rows = await xref.rowsOf('acme', record({ serviceNames: ['TL-1', 'REF-1'] }))
    const given = { tenant: 'acme', kind: 'shipment', vin: 'VIN1', id: 's-1' }
    expect(rows).toEqual({
      links: [
        { ...given, name: 'TL-1', givenBy: 'service' },
        { ...given, name: 'REF-1', givenBy: 'caller' },
      ],
    })
    await xref.write('acme', record({ serviceNames: ['TL-1', 'REF-1'] }))
    expect([await idsOf('REF-1'), await idsOf('TL-1'), await idsOf('REF-2')]).toEqual([['s-1'], ['s-1'], []])
  })

  test('keeps the caller’s number and the facts, if there are any', async () => {
    const thingOf = async (given: Partial<XrefRecord>) => (await xref.rowsOf('acme', record(given))).thing
    expect(await thingOf({})).toBeUndefined()
    expect(await thingOf({ own: 'W-1' })).toEqual({ tenant: 'acme', id: 's-1', own: 'W-1', facts: null })
    expect(await thingOf({ facts: { a: 1 } })).toEqual({ tenant: 'acme', id: 's-1', own: '', facts: { a: 1 } })
  })
})

describe('a shipment that is on record', () => {
  const later = (given: Partial<XrefRecord> = {}) => record({ isOnRecord: true, ...given })

  test('gets the names that its VIN does not have, and no others', async () => {
    await xref.write('acme', record({ serviceNames: ['TL-1'] }))
    now += 1
    expect(await xref.rowsOf('acme', later({ serviceNames: ['TL-1'], own: 'W-1' }))).toEqual({ links: [] })
    expect((await xref.rowsOf('acme', later({ names: ['REF-1', 'REF-2'] }))).links).toMatchObject([
      { name: 'REF-2', vin: 'VIN1', id: 's-1', givenBy: 'caller', at: undefined },
    ])
    // The caller’s own name stands for it already, whoever gave it.
    expect((await xref.rowsOf('acme', later({ names: [], serviceNames: ['REF-1'] }))).links).toEqual([])
    await xref.write('acme', later({ names: ['REF-1', 'REF-2'] }))
    expect(await idsOf('REF-2')).toEqual(['s-1'])
  })

  test('does not become the newest of several by another VIN', async () => {
    await xref.write('acme', record())
    now += 1
    await xref.write('acme', record({ id: 's-2', vin: 'VIN2' }))
    now += 1
    await xref.write('acme', later({ vin: 'VIN3' }))
    expect((await xref.matches('acme', 'REF-1')).map(({ id, vin, at }) => [id, vin, at])).toEqual([
      ['s-2', 'VIN2', START + 1],
      ['s-1', 'VIN3', START],
      ['s-1', 'VIN1', START],
    ])
  })

  test('gets a name although a quote, or another shipment of this VIN by the service, has it', async () => {
    await store.put({
      links: [
        link({ kind: 'quote', name: 'REF-1', vin: 'VIN1', id: 's-1' }),
        link({ kind: 'shipment', name: 'REF-1', vin: 'VIN1', id: 's-9', givenBy: 'service' }),
      ],
    })
    expect((await xref.rowsOf('acme', later())).links).toMatchObject([{ kind: 'shipment', name: 'REF-1', id: 's-1' }])
  })

  test('writes nothing where there is nothing new', async () => {
    await xref.write('acme', record())
    const quiet = createXref({ ...store, put: () => expect.fail('nothing is new') }, MEMORY_MS)
    await quiet.write('acme', later())
    expect(await idsOf('REF-1')).toEqual(['s-1'])
  })
})

describe('a name', () => {
  test('that the service gave counts only where the caller gave none of the kind', async () => {
    const shared = { name: '1001', vin: '' }
    await store.put({
      links: [
        link({ ...shared, kind: 'shipment', id: 'theirs', givenBy: 'service', at: 9 }),
        link({ ...shared, kind: 'quote', id: 'quote', givenBy: 'service', at: 8 }),
      ],
    })
    expect(await idsOf('1001')).toEqual(['theirs', 'quote'])
    await store.put({ links: [link({ ...shared, kind: 'shipment', id: 'mine', at: 1 })] })
    expect(await idsOf('1001')).toEqual(['mine', 'quote'])
    expect(await xref.numbered('acme', '1001')).toEqual(['theirs'])
  })

  test('is noted as used with its ids and their approvals, since the oldest of them', async () => {
    await store.put({ links: [link({ id: 'q-1', at: 7 }), link({ kind: 'shipment', id: 's-1', at: 5 })] })
    await xref.matches('acme', 'Q-1')
    expect(uses).toEqual(['acme 5 Q-1, q-1, q-1, s-1, s-1'])
    await xref.matches('acme', 'Q-2')
    expect(uses).toHaveLength(1)
  })
})

describe('a quote', () => {
  test('is remembered with its facts for a time, and with its number for good', async () => {
    expect(await xref.remembered('acme', 'q-1')).toEqual({ own: undefined, facts: undefined })
    await xref.write('acme', record({ kind: 'quote', id: 'q-1', own: 'W-1', facts: { a: 1 } }))
    now += MEMORY_MS
    expect(await xref.remembered('acme', 'q-1')).toEqual({ own: 'W-1', facts: { a: 1 } })
    now += 1
    expect(await xref.remembered('acme', 'q-1')).toEqual({ own: 'W-1', facts: undefined })
    expect(uses.at(-1)).toBe(`acme ${START} q-1, q-1`)
    await xref.write('acme', record({ kind: 'quote', id: 'q-2', facts: { a: 1 } }))
    expect(await xref.remembered('acme', 'q-2')).toEqual({ own: undefined, facts: { a: 1 } })
  })

  test('has an approval of its own record', async () => {
    expect(await xref.approval('acme', 'q-1')).toBeUndefined()
    for (const approval of ['sent', 'approved', undefined] as const) {
      await xref.setApproval('acme', 'q-1', approval)
      expect(await xref.approval('acme', 'q-1')).toBe(approval)
    }
    expect(await store.thing('acme', 'approval of q-1')).toMatchObject({ own: '', facts: null })
    expect(await xref.approval('acme', 'q-2')).toBeUndefined()
  })

  test('keeps the ids in the reply to an approval, whatever becomes of that', async () => {
    expect(await xref.idsInApproval('acme', 'q-1')).toEqual([])
    await xref.setIdsInApproval('acme', 'q-1', ['s-1', 's 2'])
    await xref.setApproval('acme', 'q-1', undefined)
    expect(await xref.idsInApproval('acme', 'q-1')).toEqual(['s-1', 's 2'])
    expect(await xref.idsInApproval('zenith', 'q-1')).toEqual([])
  })
})

test.each([
  [' 1fdxe4 fn9 ', '1FDXE4FN9'],
  ['', ''],
  [undefined, ''],
])('the VIN %j is compared as %j', (vin, key) => expect(vinKey(vin)).toBe(key))
