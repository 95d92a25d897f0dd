/** Promise: a store is copied row by row into an empty one of either engine, and verified (contract, section 7). */

import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { copyStore } from '../../src/operator/commands/store.ts'
import type { CopiedRow, CopiedTable } from '../../src/outside/store/copy.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { get, startGateway } from '../gateway.ts'
import { contentOf } from './model.ts'
import { openPlaces } from './places.ts'
import { batch, callsOf, named, newClaim, newEvent, quote, shipment, usedName } from './samples.ts'

const places = openPlaces()
afterAll(() => places.close())

async function filled(store: Store): Promise<Store> {
  const put = (_: unknown, no: number) =>
    store.put({
      names: [named({ kind: no % 3 ? 'quote' : 'shipment', name: `Ä-${no}`, id: `ID-${no}` })],
      shipment: shipment({ id: `ID-${no}`, vehicles: [{ vin: `V${no}`, year: '', make: '', model: '' }] }),
      quote: quote({ id: `ID-${no}`, facts: no % 2 ? null : { a: 1 } }),
    })
  await Promise.all(Array.from({ length: 1_200 }, put))
  const { claim } = await store.claim(newClaim({ reference: 'Zoë "1"', vin: 'V' }))
  await store.change(claim, { state: 'booked', instance: 'g', why: 'made', shipment: 's-1', reply: '{"Message":"ok"}' })
  const again = await store.claim(newClaim({ key: 'REF-2' }))
  await store.change(again.claim, { state: 'freed', instance: 'g', why: 'canceled' })
  await store.claim(newClaim({ key: 'REF-2', handle: 'bk_again' }))
  await store.takeEvent(newEvent())
  await store.addCounts(batch(1, { calls: [callsOf()], names: [usedName()] }))
  await store.declareDoubt({ since: 5, until: 0 })
  return store
}

/** Everything that the store's operations show of the content; a key that was taken again has a separate audit trail. */
const seen = async (store: Store) => [await contentOf(store, ['acme']), await store.audit('bk_acme_REF-2')]

test.each(['sqlite to sqlite', 'sqlite to postgres', 'postgres to sqlite'])('%s', async (route) => {
  const [from = 'sqlite', to = 'sqlite'] = route.split(' to ') as ('sqlite' | 'postgres')[]
  const there = await places[from]()
  const here = await places[to]()
  for (const place of [there, here]) await place.setClock(1_800_000_000_000)
  const source = await filled(await there.open())
  const target = await here.open()
  await copyStore(source, target, 'there', 'here', () => {})
  expect(await seen(target)).toEqual(await seen(source))
  // The next event gets a new number.
  const next = await target.takeEvent(newEvent({ date: '2027-01-01T00:00:00Z' }))
  expect(next.taken).toBe(true)
})

test.each(['sqlite', 'postgres'] as const)('from its first row on, a store of %s takes no booking', async (engine) => {
  const source = await (await places[engine]()).open()
  const target = await (await places.sqlite()).open()
  await source.claim(newClaim({}))
  const late: Promise<unknown>[] = []
  const addRows: Store['addRows'] = async (table, rows) => {
    if (late.length === 0) late.push(expect(source.claim(newClaim({ key: 'LATE' }))).rejects.toThrow(StoreDown))
    await target.addRows(table, rows)
  }
  await copyStore(source, { ...target, addRows }, 'there', 'here', () => {})
  expect(late).toHaveLength(1)
  await Promise.all(late)
  expect(await target.listClaims({})).toHaveLength(1)
  await expect(source.claim(newClaim({ key: 'NEXT', handle: 'bk_next' }))).rejects.toThrow('moved to here')
  // Nor does it say what holds a key, because the new store may know more by now.
  await expect(source.claim(newClaim({}))).rejects.toThrow('moved to here')
  if (engine === 'sqlite') {
    const gateway = await startGateway({ store: source })
    expect((await get(gateway, '/readyz')).status).toBe(503)
  }
  await source.declareDoubt({ since: 1, until: 0 })
  expect(await source.claim(newClaim({ key: 'NEXT', handle: 'bk_next' }))).toMatchObject({ won: true })
})

test('continues after an interruption, and refuses a target with other data or other rows', async () => {
  const folder = newFolder('copy')
  const open = (name: string) => openStore(join(folder, name))
  const [source, target, other] = await Promise.all([open('a.db'), open('b.db'), open('c.db')])
  await filled(source)
  const failing = {
    ...target,
    addRows: async (table: CopiedTable, rows: readonly CopiedRow[]) => {
      if (table.name === 'quotes') throw new Error('interrupted')
      await target.addRows(table, rows)
    },
  }
  await expect(copyStore(source, failing, 'a', 'here', () => {})).rejects.toThrow('interrupted')
  expect(await source.copiedFrom()).toBeUndefined()
  expect(await target.copiedFrom()).toBe('a')
  await expect(copyStore(source, target, 'c', 'here', () => {})).rejects.toThrow(
    'a copy of a into the other store was started',
  )
  await copyStore(source, target, 'a', 'here', () => {})
  expect(await target.copiedFrom()).toBeUndefined()
  expect(await seen(target)).toEqual(await seen(source))
  await expect(copyStore(source, target, 'a', 'here', () => {})).rejects.toThrow('already has data')
  expect(await source.copiedFrom()).toBe('moved to here')
  await expect(copyStore(other, source, 'c', 'here', () => {})).rejects.toThrow('the other store is moved to here')
  await source.renewLease('me', 60_000)
  await expect(copyStore(source, other, 'a', 'here', () => {})).rejects.toThrow('stop it first')
  await Promise.all([source, target, other].map((store) => store.close()))
})
