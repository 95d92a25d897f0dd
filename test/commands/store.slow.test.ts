/** Promise: a store is restored only without a running gateway, and on PostgreSQL it is doubted and trusted (contract, section 7). */

import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { book, expectBooked, expectUnknown, openSandbox } from '../bookings/desk.ts'
import { startGatewayProcess } from '../bookings/gateway-process.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { named, newClaim, quote } from '../store/samples.ts'
import { replay } from './transcript.ts'

/** For tests that start several processes, on a busy machine. */
const LONG_MS = 120_000

test('a restore is refused while a gateway runs; trust is known to a running one', { timeout: LONG_MS }, async () => {
  const place = folder()
  const storeUrl = join(place, 'store.db')
  const store = (...words: readonly string[]) => transload(['store', ...words], place, { STORE_URL: storeUrl })
  const service = await openSandbox()
  const serve = () => startGatewayProcess({ storeUrl, serviceUrl: service.url })
  const { url, child } = await serve()
  expectBooked(await book({ url }, { ReferenceNumber: 'KNOWN' }))
  expect((await store('backup', 'backup.db')).code).toBe(0)
  expectBooked(await book({ url }, { ReferenceNumber: 'LOST' }))
  expect(await store('restore', 'backup.db')).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(
      `^transload: ${storeUrl} is in use by a gateway .process ${child.pid} on .+ Stop it first.+\n$`,
    ),
  })
  expectBooked(await book({ url }, { ReferenceNumber: 'LOST' }), true)
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  expect((await store('restore', 'backup.db')).code).toBe(0)

  const next = await serve()
  expectBooked(await book(next, { ReferenceNumber: 'KNOWN' }), true)
  expectUnknown(await book(next, { ReferenceNumber: 'LOST' }))
  // While it runs, and known within seconds.
  expect((await store('trust')).out).toContain('trusted')
  const isNewBooked = async () =>
    (await book(next, { ReferenceNumber: `NEW-${Math.random()}` })).json.TransportationBooked
  await expect.poll(isNewBooked, { interval: 200 }).toBe('Yes')
})

test('a store on PostgreSQL is verified, doubted and trusted', { timeout: LONG_MS }, async () => {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  const STORE_URL = await server.createDatabase()
  const place = folder()
  for (const words of [
    ['bookings', 'list'],
    ['store', 'verify'],
  ])
    expect(await transload(words, place, { STORE_URL })).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no store in the database'),
    })
  const store = await openStore(STORE_URL)
  onTestFinished(() => store.close())
  await store.put({ names: [named()], quote: quote({ id: 'another' }) })
  await store.claim(newClaim())
  await replay('output/store-postgres', { STORE_URL }, place)
})
