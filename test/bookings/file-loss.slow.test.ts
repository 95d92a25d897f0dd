/** Promise: nothing is booked on a store whose files are lost (contract, section 7). */

import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newFolder } from '../command.ts'
import { get } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { book, creations, expectBooked } from './desk.ts'
import { end, startGatewayProcess } from './gateway-process.ts'

/*
 * Promise: where the embedded store's files are gone, replaced or copied back old, no booking is sent that a restart would forget
 * (contract, section 11; test/store/file-loss.slow.test.ts has the other ways to lose them).
 */

const NOT_BOOKED = {
  status: 503,
  json: { Message: expect.stringContaining('store'), TransportationBooked: 'No' },
}

test.each(['an old copy is moved in place', 'the log is deleted'])('%s', { timeout: 60_000 }, async (what) => {
  const folder = newFolder('file-loss')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const path = join(folder, 'store.db')
  const start = () => startGatewayProcess({ storeUrl: path, serviceUrl: sandbox.url })
  const { url, child } = await start()
  const id = expectBooked(await book({ url }))
  if (what === 'the log is deleted') {
    rmSync(`${path}-wal`)
  } else {
    copyFileSync(path, `${path}.old`)
    renameSync(`${path}.old`, path)
  }
  expect(await book({ url }, { ReferenceNumber: 'AFTER' })).toMatchObject(NOT_BOOKED)
  expect(await book({ url })).toMatchObject(NOT_BOOKED)
  await vi.waitFor(async () => expect((await get({ url }, '/readyz')).status).toBe(503), { timeout: 20_000 })
  expect((await get({ url }, '/healthz')).status).toBe(200)
  expect(creations({ sandbox })).toBe(1)
  await end(child)
  // A restart knows every booking, where nothing but the log was lost.
  if (what === 'the log is deleted') expect(expectBooked(await book(await start()), true)).toBe(id)
})
