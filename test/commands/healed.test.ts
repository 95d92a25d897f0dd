/** Promise: an operator sees how a booking was settled, and takes it back (contract, section 7). */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { book, expectBooked, expectUnknown } from '../bookings/desk.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { SECRET, SHORT_TIMEOUT, startReceiver, untilState } from '../events/deliver.ts'

const MAIN = join(ROOT, 'src/main.ts')

function transload(env: Readonly<Record<string, string>>, ...words: readonly string[]) {
  return run(process.execPath, [MAIN, ...words], { env: cleanEnv(env) })
}

test('list and show say how a booking was healed; reopen takes it back for good', { timeout: 60_000 }, async () => {
  const folder = newFolder('healed')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const storeUrl = join(folder, 'store.db')
  const gateway = await startReceiver({ store: await openStore(storeUrl), env: SHORT_TIMEOUT })
  const bookings = (...words: readonly string[]) => transload({ STORE_URL: storeUrl }, 'bookings', ...words)
  expectBooked(await book(gateway, { ReferenceNumber: 'REF-USUAL' }))
  gateway.sandbox.fail({ kind: 'timeout', on: { method: 'POST' } })
  const key = expectUnknown(await book(gateway))
  const { shipment } = await untilState(gateway.store, key, 'booked')

  const [, usual, healed] = (await bookings('list')).out.trim().split('\n')
  expect(usual).toMatch(/REF-USUAL .*[0-9a-f]$/)
  expect(healed).toMatch(new RegExp(`^${key} .* ${shipment}  healed: webhook$`))
  const listed = (await bookings('list', '--json')).out.trim().split('\n')
  expect(listed.map((line) => JSON.parse(line).healed)).toEqual([undefined, 'webhook'])
  expect((await bookings('show', key)).out).toMatch(/"healed": "webhook"[\s\S]*unknown → booked {2}healed: webhook/)

  expect(await bookings('reopen', key)).toEqual({ code: 0, out: `${key} is unknown again.\n`, err: '' })
  gateway.sandbox.advance(shipment, 'assigned')
  await gateway.sandbox.idle()
  expect((await bookings('show', key)).out).not.toContain('"healed"')
  expect(expectUnknown(await book(gateway))).toBe(key)
})

test('check says that events are recorded only, where no credential can read their shipments', async () => {
  const client = { V2_BASE_URL: 'https://service.example', WEBHOOK_SECRET: SECRET }
  const without = await transload(client, 'check')
  expect(without.code).toBe(0)
  expect(without.out).toMatch(/^Events are recorded only: set WEBHOOK_CLIENT_ID and WEBHOOK_CLIENT_SECRET/m)
  const others = [
    { ...client, WEBHOOK_CLIENT_ID: 'a', WEBHOOK_CLIENT_SECRET: 'b' },
    { ...client, V2_CLIENT_ID: 'a', V2_CLIENT_SECRET: 'b' },
    { V2_BASE_URL: 'https://service.example' },
  ]
  for (const env of others) expect((await transload(env, 'check')).out).not.toContain('recorded only')
})
