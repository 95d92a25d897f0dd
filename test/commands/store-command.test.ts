/** Promise: what the commands about the store print is reviewed (contract, section 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmergencyLog } from '../../src/bookings/record.ts'
import { link, thing } from '../store/samples.ts'
import { addBooking, fillStore, handleOf, transcript, transcriptFolder } from './transcript.ts'

test('the commands about the store print what they did', async () => {
  const folder = transcriptFolder()
  await fillStore(folder, async (store) => {
    await addBooking(store, 1, 'booked', 'made')
    await addBooking(store, 2, 'unknown', 'timeout')
    await store.put({ links: [link({ name: 'Q-1' })], thing: thing() })
    await store.put({ links: [link({ name: 'imported', id: 'elsewhere' })] })
  })
  openEmergencyLog(join(folder, 'emergency.ndjson')).write({
    booking: handleOf(3),
    tenant: 'acme',
    answer: { status: 200, headers: {}, body: '{}' },
    record: { id: 'id-1', kind: 'shipment', names: [] } as never,
  })
  writeFileSync(join(folder, 'text.db'), 'no database, but more than enough text to be one. '.repeat(20))
  const text = await transcript(
    folder,
    [
      'store verify',
      'store verify --json',
      'store verify none.db',
      'store verify text.db',
      'store backup backup.db',
      'store backup backup.db',
      'store backup backup.db --force',
      'store backup store.db',
      'store verify backup.db',
      'store prune --dry-run',
      'store prune --dry-run --json',
      'store prune',
      'store prune --json',
      'store doubt',
      'store doubt --since tomorrow',
      'store doubt --since 2091-01-01',
      'store doubt --since 2h --until 1h --until 2020-01-01',
      'store doubt --since 2h',
      'store verify',
      'store doubt --since 2h --until 24h',
      'store verify',
      'store trust',
      'store trust',
      'store restore none.db',
      'store restore store.db',
      'store restore text.db --since 1h',
      'store restore backup.db --complete --since 1h',
      'store restore backup.db',
      'store verify',
      'store trust',
      'store restore backup.db --complete',
      'store restore backup.db --since 2h --until 24h',
    ],
    { EMERGENCY_LOG_FILE: 'emergency.ndjson' },
  )
  await expect(text).toMatchFileSnapshot('output/store.txt')
})
