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

test.each([
  [' 1fdxe4 fn9 ', '1FDXE4FN9'],
  ['', ''],
  [undefined, ''],
])('the VIN %j is compared as %j', (vin, key) => expect(vinKey(vin)).toBe(key))
