/** Promise: nothing is booked on a store whose files are lost (contract, section 7). */

import { once } from 'node:events'
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { newFolder } from '../command.ts'
import { get } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { book, creations, expectBooked } from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'

/*
 * Promise: where the embedded store's files are gone, replaced or copied back old, no booking is sent that a restart would forget
 * (contract, section 11).
 */

const NOT_BOOKED = {
  status: 503,
  json: { Message: expect.stringContaining('store'), TransportationBooked: 'No' },
}

test.each([
  ['the database is deleted', (path: string) => rmSync(path)],
  [
    'an old copy is moved in place',
    (path: string) => {
      copyFileSync(path, `${path}.old`)
      renameSync(`${path}.old`, path)
    },
  ],
  ['the log is deleted; a restart knows every booking', (path: string) => rmSync(`${path}-wal`)],
])('%s', { timeout: 60_000 }, async (what, lose) => {
  const folder = newFolder('file-loss')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const path = join(folder, 'store.db')
  const start = () => startGatewayProcess({ storeUrl: path, serviceUrl: sandbox.url })
  const { url, child } = await start()
  const id = expectBooked(await book({ url }))
  lose(path)
  expect(await book({ url }, { ReferenceNumber: 'AFTER' })).toMatchObject(NOT_BOOKED)
  expect(await book({ url })).toMatchObject(NOT_BOOKED)
  await vi.waitFor(async () => expect((await get({ url }, '/readyz')).status).toBe(503), { timeout: 20_000 })
  expect((await get({ url }, '/healthz')).status).toBe(200)
  expect(creations({ sandbox })).toBe(1)
  if (!what.includes('restart')) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  expect(expectBooked(await book(await start()), true)).toBe(id)
  expect(existsSync(`${path}-wal`)).toBe(true)
})
