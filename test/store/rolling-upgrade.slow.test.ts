import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { cleanEnv, newFolder, ROOT, type Running, start } from '../command.ts'
import { type Answered, basic, CLIENT, get, post } from '../gateway.ts'
import { size } from '../size.ts'
import { linesOf, quote } from '../xref/program.ts'
import { unpackReleaseBefore } from './fixtures.ts'
import { startPostgres } from './postgres-server.ts'

const CALLERS = 6
/** The trips of all callers between two changes of gateways. */
const TRIPS_BETWEEN = size(15, 60)
const TIMEOUT_MS = 300_000

/** A gateway that a load balancer sends calls to. */
interface Serving {
  readonly url: string
  readonly running: Running
}

test('two releases over one PostgreSQL, forward and back under load, lose and double no call', {
  timeout: TIMEOUT_MS,
}, async () => {
  const folder = newFolder('rolling')
  const server = await startPostgres()
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
  onTestFinished(async () => {
    await sandbox.close()
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const releases = { before: unpackReleaseBefore(folder), now: join(ROOT, 'bin/transload.js') }
  const env = cleanEnv({
    STORE_URL: await server.createDatabase(),
    V2_BASE_URL: sandbox.url,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
  })
  const serving: Serving[] = []

  async function add(release: keyof typeof releases): Promise<Serving> {
    const running = start(process.execPath, [releases[release], 'serve'], { env })
    const line = linesOf(await running.says(/"msg":"listening"/)).find(({ msg }) => msg === 'listening')
    const gateway = { url: String(line?.['url']), running }
    serving.push(gateway)
    return gateway
  }

  /** Takes a gateway out as the document says: no new calls, then SIGTERM, which finishes those under way. */
  async function remove(gateway: Serving): Promise<void> {
    serving.splice(serving.indexOf(gateway), 1)
    gateway.running.signal('SIGTERM')
    expect((await gateway.running.ended).code).toBe(0)
  }

  const headers = { authorization: basic(CLIENT.id) }
  const booking = (ReferenceNumber: string) => ({ ...bookingExample, ReferenceNumber })
  const anyGateway = () => serving[Math.floor(Math.random() * serving.length)] ?? expect.fail('no gateway')
  const statuses = new Map<string, number>()
  const booked: string[] = []
  let trips = 0
  let ended = false

  async function call(what: string, ask: (gateway: Serving) => Promise<Answered>): Promise<Answered> {
    const answered = await ask(anyGateway())
    const key = `${what} ${answered.status}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
    return answered
  }

  /** One trip: each of its calls may reach another gateway, and needs what the call before has stored. */
  async function trip(reference: string): Promise<void> {
    await call('quote', (gateway) => quote(gateway, reference))
    await call('update', (gateway) => quote(gateway, reference, { ActionName: 'Update Rate' }))
    await call('book', (gateway) => post(gateway, '/createShipment.php', booking(reference), headers))
    const again = await call('again', (gateway) => post(gateway, '/createShipment.php', booking(reference), headers))
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const read = await call('read', (gateway) => get(gateway, `/getShipment.php?ReferenceNumber=${reference}`, headers))
    expect(read.json.ReferenceNumber).toBe(reference)
    booked.push(reference)
    trips += 1
  }

  async function caller(no: number): Promise<void> {
    for (let nth = 0; !ended; nth += 1) await trip(`REF-${no}-${nth}`)
  }

  const more = async () => {
    const until = trips + TRIPS_BETWEEN
    await expect.poll(() => trips, { timeout: TIMEOUT_MS / 4 }).toBeGreaterThanOrEqual(until)
  }

  const [first, second] = [await add('before'), await add('before')]
  const load = Promise.all(Array.from({ length: CALLERS }, (_, no) => caller(no)))
  // A failure of a call ends the test at the next look, not at its time limit.
  load.catch(() => {})
  const changes: (() => Promise<unknown>)[] = [
    // The new release adds to the schema in place, while the one before goes on.
    () => add('now'),
    () => remove(first),
    // The release before starts on the store that has grown: a restart during the upgrade, or the way back.
    () => add('before'),
    () => remove(second),
    () => remove(serving[0] ?? expect.fail('no gateway')),
    () => add('now'),
    () => remove(serving[0] ?? expect.fail('no gateway')),
  ]
  for (const change of changes) {
    await Promise.race([more(), load])
    await change()
  }
  await Promise.race([more(), load])
  ended = true
  await load

  expect([...statuses.keys()].sort()).toEqual(['again 200', 'book 200', 'quote 200', 'read 200', 'update 200'])
  const made = [...sandbox.shipments.values()].map(({ external_id }) => external_id)
  expect(made.filter((reference) => booked.includes(String(reference))).sort()).toEqual(booked.toSorted())
  expect(new Set(made).size).toBe(made.length)
  for (const gateway of [...serving]) await remove(gateway)
})
