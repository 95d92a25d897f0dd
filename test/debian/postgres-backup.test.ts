/** Promise: a restored dump books nothing twice (contract, section 7). */

import { chownSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { book, expectBooked, expectUnknown } from '../bookings/desk.ts'
import { cleanEnv, newFolder, output, pathWithThisNode, ROOT } from '../command.ts'
import { freePort } from '../free-port.ts'
import { CLIENT, startGateway, type TestGateway } from '../gateway.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'

const VERSIONS = '/usr/lib/postgresql'

/** Starts a server with Debian's programs, and returns the address of its one database. */
async function startServer(): Promise<{ readonly url: string; readonly bin: string }> {
  const version = readdirSync(VERSIONS).toSorted().at(-1) ?? expect.fail('this test needs postgresql: install it')
  const bin = join(VERSIONS, version, 'bin')
  const folder = newFolder('debian-postgres')
  // The server does not run as root.
  const user = process.getuid?.() === 0 ? await idsOf('postgres') : undefined
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const port = await freePort()
  const program = (name: string, args: readonly string[]) =>
    output(join(bin, name), args, { ...user, cwd: folder, env: cleanEnv() })
  await program('initdb', ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync'])
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`
  await program('pg_ctl', ['-D', data, '-w', '-l', join(folder, 'log'), '-o', options, 'start'])
  onTestFinished(async () => {
    await program('pg_ctl', ['-D', data, '-m', 'immediate', 'stop'])
    rmSync(folder, { recursive: true, force: true })
  })
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, bin }
}

async function idsOf(name: string): Promise<{ readonly uid: number; readonly gid: number }> {
  const [uid, gid] = [await output('id', ['-u', name]), await output('id', ['-g', name])]
  return { uid: Number(uid), gid: Number(gid) }
}

test('a dump that is restored as the page says books nothing twice', async () => {
  const { url, bin } = await startServer()
  const folder = newFolder('dump')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const service = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
  onTestFinished(() => service.close())
  const env = cleanEnv({ STORE_URL: url, PATH: `${bin}:${pathWithThisNode()}` })
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
