/** Promise: nothing is written into an unchecked store, and no emergency log is deleted for it (contract, section 7). */

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { cleanEnv, newFolder, PROGRAM, start } from '../command.ts'
import { freePort } from '../free-port.ts'
import { startMovingAddress } from './moving-address.ts'
import { addressOf, openServer, openStoreAt } from './postgres-servers.ts'

test('a wrong store that answers late is refused, and gets no booking of the emergency log', {
  timeout: 120_000,
}, async () => {
  const server = await openServer()
  await (await openStoreAt(addressOf(server))).store.close()
  const address = await startMovingAddress(await freePort())
  onTestFinished(address.close)
  const cwd = newFolder('late')
  const log = join(cwd, 'emergency.ndjson')
  const record = { id: 'S-1', kind: 'shipment', names: [] }
  writeFileSync(
    log,
    `${JSON.stringify({ booking: 'bk_1', tenant: 't', answer: { status: 200, headers: {}, body: '{}' }, record })}\n`,
  )
  writeFileSync(`${log}.store`, JSON.stringify({ store: 'postgres://other/db', newest: 'bk_earlier' }))
  const listeners = { V2_BASE_URL: 'http://127.0.0.1:9', HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' }
  const env = cleanEnv({ ...listeners, STORE_URL: addressOf(address), EMERGENCY_LOG_FILE: log })
  const gateway = start(process.execPath, [PROGRAM, 'serve'], { cwd, env })
  await gateway.says(/"listening"/)

  // The check of the store waits for this lock, but a heartbeat does not.
  const locker = new pg.Client(addressOf(server))
  await locker.connect()
  onTestFinished(() => locker.end())
  await locker.query('BEGIN; LOCK TABLE transload.doubts IN ACCESS EXCLUSIVE MODE')
  address.moveTo(server.port)
  await gateway.says(/The store was not looked at yet/)
  await locker.query('COMMIT')

  expect(await gateway.ended).toMatchObject({ code: 78, err: expect.stringContaining('postgres://other/db') })
  expect(existsSync(log)).toBe(true)
})
