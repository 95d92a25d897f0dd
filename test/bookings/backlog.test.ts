import { expect, test } from 'vitest'
import { createBacklog, createBookingRecord } from '../../src/bookings/record.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'

const HANDLE = 'bk_000000000001'

test('work that is done does not remove later work of its key', () => {
  const backlog = createBacklog()
  const earlier = { kind: 'never-sent', handle: HANDLE } as const
  const later = { kind: 'other', write: async () => {} } as const
  backlog.add('key', earlier)
  backlog.add('key', later)
  backlog.remove('key', earlier)
  expect(backlog.find('key')).toBe(later)
  backlog.remove('key', later)
  expect(backlog.entries()).toEqual([])
})

test('a booking of an earlier run that the emergency log has is unrecorded until the store takes it', async () => {
  const store = createMemoryStore()
  await store.close()
  const record = { kind: 'shipment', id: 's', names: [], vin: '', own: undefined, facts: undefined } as const
  const entry = { booking: HANDLE, tenant: 'demo', answer: { status: 200, headers: {}, body: '' }, record }
  let isStoreDown = true
  const bookings = createBookingRecord({
    claims: { ...store, claimByHandle: async (handle) => (isStoreDown ? store.claimByHandle(handle) : undefined) },
    xref: { rowsOf: async () => ({ links: [] }), write: async () => {} },
    instance: 'one',
    log: createLog('silent', { write: () => {} }),
    emergencyLog: { write: () => {}, read: () => (isStoreDown ? [entry] : []), clear: () => {} },
    refusedStatuses: () => true,
  })
  await bookings.catchUp()
  expect(bookings.isUnrecorded(HANDLE)).toBe(true)
  isStoreDown = false
  await bookings.catchUp()
  expect(bookings.isUnrecorded(HANDLE)).toBe(false)
})
