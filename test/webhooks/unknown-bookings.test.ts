import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Claims, type Store, StoreDown } from '../../src/store/store.ts'
import { identityKey } from '../../src/webhooks/identity.ts'
import { createUnknownBookings, type UnknownBookingsReader } from '../../src/webhooks/unknown-bookings.ts'
import { newClaim } from '../store/samples.ts'

let store: Store
let asked: Parameters<Claims['listClaims']>[0][]
let isDown: boolean
let reader: UnknownBookingsReader
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  store = createMemoryStore()
  asked = []
  isDown = false
  reader = createUnknownBookings({
    listClaims: async (options) => {
      asked.push(options)
      if (isDown) throw new StoreDown('down')
      return store.listClaims(options)
    },
  })
})

async function addUnknown(key: string, given: { readonly reference?: string; readonly vin?: string } = {}) {
  const { claim } = await store.claim(newClaim({ key, ...given }))
  await store.change(claim, { state: 'unknown', instance: 'me', why: 'late' })
}

test('unknown bookings of a tenant are found by what identifies their shipments', async () => {
  await addUnknown('A', { reference: 'REF-1', vin: 'VIN1' })
  await addUnknown('B', { reference: 'REF-1', vin: 'VIN1' })
  await addUnknown('C', { reference: 'REF-1', vin: 'VIN2' })
  await addUnknown('D', { reference: '' })
  await store.claim(newClaim({ key: 'E', reference: 'REF-2' }))
  const found = await reader.of('acme')
  expect([...found].map(([key, claims]) => [key, claims.map((claim) => claim.key)])).toEqual([
    [identityKey({ reference: 'REF-1', vin: 'VIN1' }), ['A', 'B']],
    [identityKey({ reference: 'REF-1', vin: 'VIN2' }), ['C']],
  ])
  expect(asked).toEqual([{ state: 'unknown', tenant: 'acme', limit: 1_000_000 }])
  expect((await reader.of('zeta')).size).toBe(0)
})

test('reads within a second share a list, unless a booking has become unknown here', async () => {
  const both = [reader.of('acme'), reader.of('acme')]
  await Promise.all(both)
  vi.advanceTimersByTime(999)
  await reader.of('acme')
  expect(asked).toHaveLength(1)
  vi.advanceTimersByTime(1)
  await reader.of('acme')
  expect(asked).toHaveLength(2)
  await reader.of('zeta')
  reader.changed('acme')
  await reader.of('acme')
  await reader.of('zeta')
  expect(asked.slice(2).map(({ tenant }) => tenant)).toEqual(['zeta', 'acme'])
  await reader.now('acme')
  await reader.of('acme')
  expect(asked).toHaveLength(5)
})

test('a failure is not kept, and does not remove a newer list', async () => {
  isDown = true
  await expect(reader.of('acme')).rejects.toThrow(StoreDown)
  const failing = reader.now('acme')
  isDown = false
  const newer = reader.now('acme')
  await expect(failing).rejects.toThrow(StoreDown)
  await newer
  asked.length = 0
  await reader.of('acme')
  expect(asked).toEqual([])
})

test('the lists of a thousand tenants are kept at most', async () => {
  for (let i = 0; i < 1_000; i += 1) await reader.of(`t${i}`)
  await reader.of('t0')
  expect(asked).toHaveLength(1_000)
  await reader.of('one more')
  await reader.of('t0')
  expect(asked).toHaveLength(1_002)
})
