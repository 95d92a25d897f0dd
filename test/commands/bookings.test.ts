/** Promise: what the commands about bookings print is reviewed (contract, section 11). */

import { expect, test } from 'vitest'
import { addBooking, fillStore, handleOf, transcript, transcriptFolder } from './transcript.ts'

test('the commands about bookings print what they did', async () => {
  const folder = transcriptFolder()
  await fillStore(folder, async (store) => {
    await addBooking(store, 1, 'booked', 'made')
    await addBooking(store, 2, 'unknown', 'timeout')
    await addBooking(store, 3, 'refused', 'answered 422', { tenant: 'other', reference: '', vin: '' })
    await addBooking(store, 4, 'freed', 'never sent')
    await addBooking(store, 5, 'booked', 'healed: webhook')
    await addBooking(store, 6, 'unknown', 'reset')
    await addBooking(store, 7, 'sending', '')
  })
  const text = await transcript(
    folder,
    [
      'bookings list',
      'bookings list --json',
      'bookings list --state unknown --tenant acme',
      'bookings list --state refused',
      'bookings list --tenant nobody',
      'bookings list --limit 2',
      `bookings list --limit 2 --after ${handleOf(2)}`,
      'bookings list --reference ref-5',
      'bookings list --since 2h --limit 1 --json',
      'bookings list --limit 0',
      'bookings list --state unkown',
      'bookings list --state nothing',
      `bookings show ${handleOf(5)}`,
      `bookings show ${handleOf(2)} --json`,
      'bookings show bk_none',
      `bookings settle ${handleOf(2)}`,
      `bookings settle ${handleOf(2)} --not-booked --shipment-id x`,
      `bookings settle ${handleOf(2)} --not-booked --number x`,
      `bookings settle ${handleOf(2)} --shipment-id x/y`,
      `bookings settle ${handleOf(2)} --shipment-id x --number 'x y'`,
      `bookings settle ${handleOf(1)} --not-booked`,
      `bookings settle ${handleOf(2)} --shipment-id shipment-9`,
      `bookings settle ${handleOf(2)} --shipment-id shipment-1 --unchecked`,
      `bookings settle ${handleOf(2)} --shipment-id shipment-9 --number TL-9 --unchecked`,
      `bookings settle ${handleOf(6)} --not-booked`,
      `bookings reopen ${handleOf(6)}`,
      `bookings reopen ${handleOf(7)}`,
      'bookings reopen bk_none',
      `bookings show ${handleOf(2)}`,
      `bookings show ${handleOf(6)}`,
      'xref get TL-9 --tenant acme',
      'xref get REF-2 --tenant acme',
    ],
    { V2_BASE_URL: 'https://service.example.com' },
  )
  await expect(text).toMatchFileSnapshot('output/bookings.txt')
})
