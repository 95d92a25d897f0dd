import { expect, test } from 'vitest'
import { bookingsPage } from '../../src/pages/admin-pages.ts'

test('the page of bookings says of each list that it has none', async () => {
  const { body } = await bookingsPage({ unknown: [], sending: [], settled: [] })
  const text = String(body).replaceAll(/<[^>]+>/g, '')
  expect(text).toMatch(/Outcome not known\s+None\.\s+Under way\s+None\.\s+Latest\s+None\./)
})
