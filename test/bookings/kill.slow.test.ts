import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { OWN, startGateway } from '../gateway.ts'
import { size } from '../size.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { book, expectBooked, REFERENCE } from './desk.ts'
import { inWords, type KillReport, killUnderLoad } from './kill-harness.ts'

const LONG_MS = 300_000
const KILLS = size(5, 20)
/** The first one is usually enough; some come before the first call. */
const CONTROL_KILLS = 40

function show(what: string, report: KillReport): void {
  process.stdout.write(`${what}: ${inWords(report)}\n`)
}

test('a gateway that is killed under load books nothing twice and loses nothing', { timeout: LONG_MS }, async () => {
  const report = await killUnderLoad({ kills: KILLS, build: 'claiming', untilUnknown: true })
  show('with claims', report)
  expect(report).toMatchObject({ duplicates: 0, lost: 0 })
  expect(report.acknowledged + report.unknown).toBe(report.references)
  expect(report.acknowledged).toBeGreaterThan(KILLS)
  const { booked = 0, unknown = 0, refused = 0, freed = 0, sending = 0 } = report.states
  expect(sending + refused + freed).toBe(0)
  expect([booked, unknown]).toEqual([report.acknowledged, report.unknown])
  // Some were killed in the middle, or this shows nothing.
  expect(report.unknown).toBeGreaterThan(0)
})

test('the same harness finds the duplicates of a gateway that claims nothing', { timeout: LONG_MS }, async () => {
  const report = await killUnderLoad({ kills: CONTROL_KILLS, build: 'unclaimed', untilDuplicate: true })
  show('without claims', report)
  expect(report.duplicates).toBeGreaterThan(0)
})

test('the claim can be read from the disk before the first byte of the booking comes to the service', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transload-order-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.db')
  const sandbox = await startSandbox()
  const seen: unknown[] = []
  const { hostname, port } = new URL(sandbox.url)
  const service = createServer((socket) => {
    socket.once('data', (bytes) => {
      // Another connection, as another process has it, that only reads.
      const db = new DatabaseSync(path, { readOnly: true })
      seen.push(bytes.toString().slice(0, 4), db.prepare('SELECT state, reference FROM claims').all())
      db.close()
      const onward = connect(Number(port), hostname)
      onward.write(bytes)
      socket.pipe(onward).pipe(socket)
    })
    socket.on('error', () => socket.destroy())
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  onTestFinished(async () => {
    service.close()
    await sandbox.close()
  })
  // A server that listens on a port has an address with a port.
  const serviceUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const gateway = await startGateway({ store: await openStore(path), serviceUrl, env: OWN })
  expectBooked(await book(gateway))
  expect(seen).toEqual(['POST', [{ state: 'sending', reference: REFERENCE }]])
})
