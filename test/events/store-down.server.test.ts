/** Promise: a delivery that could not be recorded is made again under its id (contract, section 10). */

import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { endpoint, openOffice } from './office.ts'
import { replies, startReceiver } from './receiver.ts'

const LONG_MS = 60_000
const LEASE_MS = 2_000

test('an event whose delivery could not be recorded is delivered again, under the same id', {
  timeout: LONG_MS,
}, async () => {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  const ready = Promise.withResolvers<void>()
  let isBack = false
  const store = await openStore(await server.createDatabase(), {
    onState: (state) => {
      if (isBack && state.ready) ready.resolve()
    },
  })
  const reached = Promise.withResolvers<() => void>()
  const receiver = await startReceiver((outgoing) => reached.resolve(() => outgoing.end()))
  const { take, deliveries, lines, found } = await openOffice({
    endpoints: [endpoint(receiver.url)],
    store,
    timeoutMs: 30_000,
    leaseMs: LEASE_MS,
  })
  const id = await take()
  deliveries.wake('acme')
  const answer = await reached.promise
  await server.crash()
  answer()
  await deliveries.idle()
  expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', msg: 'deliveries wait for the store' }))

  receiver.answer(replies(200))
  isBack = true
  await server.start()
  await ready.promise
  expect((await found(id)).state).toBe('due')
  await expect
    .poll(
      async () => {
        await deliveries.poll()
        await deliveries.idle()
        return (await found(id)).state
      },
      { timeout: 10 * LEASE_MS, interval: 100 },
    )
    .toBe('delivered')
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id])
})
