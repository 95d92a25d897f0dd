import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { get } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { book, creations, expectBooked } from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'

const LONG_MS = 60_000

async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'transload-file-loss-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const path = join(folder, 'store.db')
  const start = () => startGatewayProcess({ storeUrl: path, serviceUrl: sandbox.url })
  return { path, sandbox, start }
}

const notBooked = {
  status: 503,
  json: { Message: expect.stringContaining('store'), TransportationBooked: 'No' },
}

test.each([
  ['the database is deleted', (path: string) => rmSync(path)],
  ['the log is deleted', (path: string) => rmSync(`${path}-wal`)],
  [
    'an old copy is moved in place',
    (path: string) => {
      copyFileSync(path, `${path}.old`)
      renameSync(`${path}.old`, path)
    },
  ],
])('no booking is sent that a restart would forget: %s', { timeout: LONG_MS }, async (_what, lose) => {
  const { path, sandbox, start } = await setUp()
  const { url } = await start()
  expectBooked(await book({ url }, { ReferenceNumber: 'BEFORE' }))
  lose(path)
  const sent = creations({ sandbox })
  expect(await book({ url }, { ReferenceNumber: 'AFTER' })).toMatchObject(notBooked)
  expect((await get({ url }, '/readyz')).status).toBe(503)
  expect((await get({ url }, '/healthz')).status).toBe(200)
  expect(await book({ url }, { ReferenceNumber: 'BEFORE' })).toMatchObject(notBooked)
  expect(creations({ sandbox })).toBe(sent)
})

test('a restart after the log was deleted knows every booking', { timeout: LONG_MS }, async () => {
  const { path, sandbox, start } = await setUp()
  const first = await start()
  const ids: string[] = []
  for (let nth = 0; nth < 5; nth += 1) ids.push(expectBooked(await book(first, { ReferenceNumber: `R-${nth}` })))
  rmSync(`${path}-wal`)
  await vi.waitFor(async () => expect((await get(first, '/readyz')).status).toBe(503), { timeout: 5_000 })
  const exited = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await exited
  const second = await start()
  for (const [nth, id] of ids.entries()) {
    expect(expectBooked(await book(second, { ReferenceNumber: `R-${nth}` }), true)).toBe(id)
  }
  expect(creations({ sandbox })).toBe(ids.length)
  expect(existsSync(`${path}-wal`)).toBe(true)
})
