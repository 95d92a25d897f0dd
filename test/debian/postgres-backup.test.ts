/** Promise: a restored dump books nothing twice (contract, section 7). */

import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { book, expectBooked, expectUnknown, openSandbox } from '../bookings/desk.ts'
import { cleanEnv, newFolder, output, pathWithThisNode, ROOT } from '../command.ts'
import { startGateway, type TestGateway } from '../gateway.ts'
import type { Sandbox } from '../stand-in/stand-in.ts'
import { addressOf, openServer, program } from './postgres-servers.ts'

test('a dump that is restored as documented books nothing twice', async () => {
  const server = await openServer()
  const url = addressOf(server)
  const folder = newFolder('dump')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const service = await openSandbox()
  const env = cleanEnv({ STORE_URL: url, PATH: `${dirname(program('pg_dump'))}:${pathWithThisNode()}` })
  const shell = (line: string) => output('bash', ['-c', line], { cwd: folder, env })
  const transload = `node ${join(ROOT, 'bin/transload.js')}`

  await withGateway(url, service, async (gateway) => {
    expectBooked(await book(gateway, { ReferenceNumber: 'KNOWN' }))
    await shell('pg_dump --format=custom --schema=transload --file=transload.dump "$STORE_URL"')
    expectBooked(await book(gateway, { ReferenceNumber: 'LOST' }))
  })
  await shell('pg_restore --clean --if-exists --dbname="$STORE_URL" transload.dump')
  await shell(`${transload} store doubt --since 2h`)
  expect(JSON.parse(await shell(`${transload} store verify --json`))).toMatchObject({
    claims: { booked: 1 },
    problems: [],
  })
  await withGateway(url, service, async (gateway) => {
    expectBooked(await book(gateway, { ReferenceNumber: 'KNOWN' }), true)
    expectUnknown(await book(gateway, { ReferenceNumber: 'LOST' }))
  })
  expect([...service.shipments.values()].map(({ external_id: reference }) => reference)).toEqual(['KNOWN', 'LOST'])
})

async function withGateway(
  url: string,
  service: Sandbox,
  work: (gateway: TestGateway) => Promise<void>,
): Promise<void> {
  const store = await openStore(url)
  const gateway = await startGateway({ store, serviceUrl: service.url })
  await work(gateway)
  await gateway.gateway.close()
  await store.close()
}
