/** Promise: an operator settles and reopens bookings beside a running gateway (contract, section 7). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { book, expectBooked, expectUnknown, ON_CREATION } from '../bookings/desk.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { SHORT_TIMEOUT, startReceiver, untilState } from '../events/deliver.ts'
import { post } from '../gateway.ts'

test('beside a running gateway, a booking is healed, reopened and settled', { timeout: 60_000 }, async () => {
  const place = folder()
  const gateway = await startReceiver({ store: await openStore(join(place, 'store.db')), env: SHORT_TIMEOUT })
  const bookings = async (...words: readonly string[]) => {
    const { out, err } = await transload(['bookings', ...words], place, { STORE_URL: 'store.db' })
    return out + err
  }
  gateway.sandbox.fail({ kind: 'timeout', on: ON_CREATION })
  const key = expectUnknown(await book(gateway))
  const { shipment } = await untilState(gateway.store, key, 'booked')
  expect(await bookings('show', key)).toMatch(/The service's event shows the shipment\./)
  expect(await bookings('reopen', key)).toBe(`${key} is unknown again.\n`)
  // It is not healed again.
  gateway.sandbox.advance(shipment, 'assigned')
  await gateway.sandbox.idle()
  expect(expectUnknown(await book(gateway))).toBe(key)

  await bookings('settle', key, '--shipment-id', shipment, '--number', 'TL-9', '--unchecked')
  const replayed = await book(gateway)
  expect(expectBooked(replayed, true)).toBe(shipment)
  expect(replayed.json.Message).toBe('Transportation booked: shipment number TL-9.')
  // A settled booking that has since been canceled is closed.
  expect((await post(gateway, '/deleteShipment.php', { shipment_id: shipment })).status).toBe(200)
  expect(await bookings('reopen', key)).toContain(`${key} is freed; only settled bookings can be reopened`)

  const other = { ReferenceNumber: 'REF-LOST' }
  gateway.sandbox.fail({ kind: 'reset-before', on: ON_CREATION })
  await bookings('settle', expectUnknown(await book(gateway, other)), '--not-booked', '--unchecked', '--yes')
  expectBooked(await book(gateway, { ...other, DeliveryName: 'Somebody Else' }))
})
