/** Promise: concurrent calls to PostgreSQL share statements, and none suffers for another (contract, section 7). */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NAMED } from '../../src/outside/store/postgres/batches.ts'
import { inspectPostgres, openPostgresStore } from '../../src/outside/store/postgres/postgres.ts'
import { type ClaimChange, LockTimeout, type Store, StoreDown } from '../../src/outside/store/store.ts'
import { openGateways, WAITERS } from './meetings.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { named, newClaim, newName } from './samples.ts'
import { listen } from './states.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

const MANY = 40
const keys = Array.from({ length: MANY }, (_, index) => `K-${index}`)
const booked = (shipment: string): ClaimChange => {
  return { state: 'booked', instance: 'gateway-1', shipment, reply: `{"id":"${shipment}"}`, why: 'made' }
}
const claimAll = async (store: Store) =>
  (await Promise.all(keys.map((key) => store.claim(newClaim({ key }))))).map(({ claim }) => claim)

/** Takes the place of a claim, in a transaction: others that claim its key wait for it. */
const takes = (key: string) =>
  `INSERT INTO transload.claims VALUES ('acme', '${key}', 'bk_held', 'sending', 1, '', '', '', '', '', '', '', '', 0, 0, 0, 0, '')`
/** Locks a row in a transaction: others that change it wait for it. */
const locks = (key: string) => `SELECT FROM transload.claims WHERE key = '${key}' FOR UPDATE`
const locksName = (name: string) => `SELECT FROM transload.names WHERE name = '${name}' FOR UPDATE`

type Kind = 'claim' | 'change' | 'put' | 'load'

/** Prepares a call for each of the keys: `make` returns whether it has won, `hold` makes the call of a key wait. */
async function prepare(kind: Kind, one: Store) {
  const name = (key: string, id: string) => ({ ...named({ name: key, id }), vin: '' })
  if (kind === 'claim') {
    const make = async (store: Store, key: string, by = '') =>
      (await store.claim(newClaim({ key, handle: `bk_${by}_${key}` }))).won
    return { hold: takes, make }
  }
  if (kind === 'change') {
    const claims = new Map((await claimAll(one)).map((claim) => [claim.key, claim]))
    const make = async (store: Store, key: string, by = 'once') => {
      const change = store.change(claims.get(key) ?? expect.fail(key), booked(by), { names: [name(key, by)] })
      return (await change) !== undefined
    }
    return { hold: locks, make }
  }
  const load = (store: Store, all: readonly string[], by: string) =>
    store.load(
      all.map((key) => name(key, by)),
      { replace: true },
    )
  await load(one, keys, 'before')
  const make = async (store: Store, key: string, by = '') => {
    // The other store loads all of them at once.
    if (kind === 'put' || store === one) await store.put({ names: [name(key, by)] })
    else if (key === keys[0]) await load(store, keys.toReversed(), by)
    return store === one
  }
  return { hold: locksName, make }
}

test.each([700, 100_000])('one of %i names is looked up by keys, in any case and with its bearer', async (all) => {
  const { query } = await openGateways(server)
  const rows = `FROM generate_series(1, ${all}) AS nth`
  await query(`INSERT INTO transload.names SELECT 'acme', 'REF-' || nth, 1, 'id-' || nth, NULL, 1, 0, 1 ${rows}`)
  for (const table of ['quotes', 'shipments']) {
    await query(`INSERT INTO transload.${table} (tenant, key, at, used_day) SELECT 'acme', 'id-' || nth, 1, 1 ${rows}`)
  }
  await query('ANALYZE')
  await query(`PREPARE named (text) AS ${NAMED}`)
  const [row] = await query(`EXPLAIN (FORMAT JSON) EXECUTE named ('[{"tenant": "acme", "name": "ref-1", "nth": 1}]')`)
  const [{ Plan: plan }] = row['QUERY PLAN']
  expect(JSON.stringify(plan)).not.toMatch(/Seq Scan|Hash Join|Merge Join/)
  // At a cost of 100,000 or more, a server compiles a statement every time.
  expect(plan['Total Cost']).toBeLessThan(20_000)
})

test('a quote is written by keys, although its connection has written quotes since the tables were small', async () => {
  const { one, query } = await openGateways(server)
  const write = async (many: number) => {
    for (let nth = 0; nth < many; nth += 1)
      await one.put({
        names: [newName({ name: `Q-${nth}`, id: `id-${nth}` })],
        quote: { tenant: 'acme', id: `id-${nth}` },
      })
  }
  await write(10)
  await query('ANALYZE')
  await write(20)
  const rows = 'FROM generate_series(1, 20000) AS nth'
  await query(`INSERT INTO transload.names SELECT 'acme', 'O-' || nth, 0, '', 'of-' || nth, 1, 0, 1 ${rows}`)
  await query(`INSERT INTO transload.quotes (tenant, key, at, used_day) SELECT 'acme', 'of-' || nth, 1, 1 ${rows}`)
  await write(10)
  // The server has then counted what it read.
  await one.close()
  const read = "SELECT sum(seq_tup_read)::int AS rows FROM pg_stat_user_tables WHERE relname IN ('names', 'quotes')"
  const [{ rows: scanned }] = await query(read)
  expect(scanned).toBeLessThan(20_000)
})

test.each<Kind>(['claim', 'change', 'put', 'load'])(
  'two gateways that %s in opposite orders do not deadlock',
  async (kind) => {
    const { one, other, meeting, deadlocks } = await openGateways(server)
    const { hold, make } = await prepare(kind, one)
    // Each of two that kept their order would write half of the rows, wait for this one, and then for the other.
    const won = await meeting({ hold: hold('K-20'), statements: 2 }, () =>
      Promise.all([
        ...keys.map((key) => make(one, key, 'one')),
        ...keys.toReversed().map((key) => make(other, key, 'other')),
      ]),
    )
    expect(won.filter(Boolean)).toHaveLength(MANY)
    expect(await deadlocks()).toBe(0)
  },
)

test('an import and another write of one thing do not deadlock', async () => {
  const { one, other, meeting, waiting, deadlocks } = await openGateways(server)
  const [id, shipment] = [{ tenant: 'acme', id: 'id-1' }, named({ kind: 'shipment' })]
  const write = { names: [named(), shipment], quote: id, shipment: id }
  await one.put(write)
  await meeting({ hold: locksName('Q-1'), statements: 2 }, async () => {
    const loaded = one.load([{ ...shipment, vin: 'VIN' }], { replace: true })
    await waiting(1)
    await Promise.allSettled([loaded, other.put(write)])
  })
  expect(await deadlocks()).toBe(0)
})

test.each(['names', 'approvals'])(
  'a note of use and a write of a quote and then its %s do not deadlock',
  async (table) => {
    const { one, query, meeting, deadlocks } = await openGateways(server)
    const id = { tenant: 'acme', id: 'id-1' }
    await one.put({ names: [newName()], quote: id })
    await one.noteApproval(id, ['Q-1'])
    for (const old of ['quotes', 'names', 'approvals'])
      await query(`UPDATE transload.${old} SET used_day = used_day - 3`)
    const locksQuote = "SELECT FROM transload.quotes WHERE key = 'id-1' FOR UPDATE"
    const noted = await meeting(
      { hold: locksQuote, statements: 1 },
      async () => {
        const [note] = await Promise.allSettled([one.noteUses('acme', ['Q-1', 'id-1'])])
        return note
      },
      async (blocker) => {
        await blocker.query(`SELECT FROM transload.${table} WHERE name = 'Q-1' FOR UPDATE`)
      },
    )
    expect(noted?.status).toBe('fulfilled')
    expect(await deadlocks()).toBe(0)
  },
)

test('a write that the server refuses fails only its own call', async () => {
  const { one } = await openGateways(server)
  /** No entry of an index has room for it, however well it is compressed. */
  const tooLong = randomBytes(6_000).toString('hex')
  const claims = await Promise.allSettled(
    keys.map((key, nth) => one.claim(newClaim({ key, ...(nth === 7 && { tenant: tooLong }) }))),
  )
  const failed = (all: typeof claims | typeof changes) =>
    all.flatMap(({ status }, nth) => (status === 'rejected' ? [nth] : []))
  const made = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value.claim] : []))
  const changes = await Promise.allSettled(
    made.map((claim, nth) =>
      one.change(claim, booked(claim.key), {
        names: [named({ name: claim.key, tenant: nth === 3 ? tooLong : 'acme' })],
      }),
    ),
  )
  expect([failed(claims), failed(changes)]).toEqual([[7], [3]])
  const states = await Promise.all(made.map(({ key }) => one.findClaim('acme', key)))
  expect(states.map((claim) => claim?.state)).toEqual(made.map((_, nth) => (nth === 3 ? 'sending' : 'booked')))
  expect(await one.named('acme', made[4]?.key ?? '')).toHaveLength(1)
})

test.each<Kind>(['claim', 'change'])('a row that is held for long delays only its own %s', async (kind) => {
  const { one, meeting } = await openGateways(server)
  const { hold, make } = await prepare(kind, one)
  const written = () => one.listClaims({ state: kind === 'change' ? 'booked' : 'sending' })
  let calls: Promise<boolean>[] = []
  const begin = () => {
    calls = keys.map((key) => make(one, key))
    return Promise.all(calls)
  }
  const all = await meeting({ hold: hold('K-20'), statements: 1 }, begin, async () => {
    await Promise.all(calls.toSpliced(20, 1))
    expect(await written()).toHaveLength(MANY - 1)
  })
  expect(all.every(Boolean)).toBe(true)
  expect(await written()).toHaveLength(MANY)
})

test('a batch that must yield to another transaction is retried call by call', async () => {
  const { url, one, waiting, meeting, deadlocks } = await openGateways(server)
  const { make } = await prepare('change', one)
  const rival = new pg.Client({ connectionString: url, application_name: 'rival' })
  await rival.connect()
  // The rival never checks for a deadlock, and waits for the batch before the batch waits for it, so the batch ends the deadlock.
  await rival.query(`BEGIN; SET LOCAL deadlock_timeout = '1h'; ${locks('K-20')}`)
  const changed = await meeting(
    { hold: locks('K-10'), statements: 1 },
    () => Promise.all(keys.map((key) => make(one, key))),
    async (blocker) => {
      const locked = rival.query(locks('K-0'))
      await waiting(2)
      await blocker.query('ROLLBACK')
      await locked
      await rival.end()
    },
  )
  expect(changed).toEqual(keys.map(() => true))
  expect(await deadlocks()).toBe(1)
})

test('a connection that is killed during a batch fails and writes none of it, and the next one continues', async () => {
  const { one, query, meeting } = await openGateways(server)
  const { make } = await prepare('change', one)
  const before = await one.listClaims({})
  await one.put({ names: [named({ name: 'before' })] })
  const readNames = 'LOCK TABLE transload.names IN ACCESS EXCLUSIVE MODE'
  const work: readonly (readonly [hold: string, begin: () => readonly Promise<unknown>[]])[] = [
    [locks('K-9'), () => keys.map((key) => make(one, key, 'lost'))],
    [takes('L-9'), () => keys.map((_, nth) => one.claim(newClaim({ key: `L-${nth}` })))],
    [readNames, () => keys.map(() => one.named('acme', 'before'))],
    [readNames, () => [one.load([{ ...named({ name: 'loaded' }), vin: '' }], { replace: false })]],
  ]
  for (const [hold, begin] of work) {
    const outcomes = await meeting(
      { hold, statements: 1 },
      () => Promise.allSettled(begin()),
      async (_, done) => {
        await query(`SELECT pg_terminate_backend(pid) ${WAITERS}`)
        await done
      },
    )
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreDown' } })
    }
  }
  expect(await one.listClaims({})).toEqual(before)
  expect(await query('SELECT name FROM transload.names')).toEqual([{ name: 'before' }])
  expect(await Promise.all(keys.map((key) => make(one, key)))).toEqual(keys.map(() => true))
})

test('a lock that its holder renews while another gateway asks for it stays with its holder', async () => {
  const { one, meeting } = await openGateways(server)
  const until = 'transload.lease_ms() + 10000'
  const asked = await meeting(
    { hold: `INSERT INTO transload.locks VALUES ('key', 'host/1/2/3', ${until})`, statements: 1 },
    () => Promise.allSettled([one.exclusive('key', 2_000, async () => 'granted')]),
    (blocker) => blocker.query(`UPDATE transload.locks SET until_ms = ${until}; COMMIT`),
  )
  expect(asked).toEqual([{ status: 'rejected', reason: expect.any(LockTimeout) }])
})

test.each([
  ['password', ':password@', ':wrong@'],
  ['database', /[^/]*$/, 'nowhere'],
  ['permission', /$/, '?options=-crole%3Dpg_monitor'],
])('a wrong %s is an error at the start', async (_, right, wrong) => {
  const url = (await server.createDatabase()).replace(right, wrong)
  await expect(openPostgresStore({ url })).rejects.toThrow(/password|nowhere|denied/)
  await expect(inspectPostgres(url)).rejects.toThrow(/password|nowhere|Run: GRANT/)
})

test("a store has the server's time as soon as it is open, and opens no more connections than allowed", async () => {
  const { url, query } = await openGateways(server)
  const counted = async () => {
    const ours = "application_name = 'transload' AND datname = current_database()"
    return (await query(`SELECT pid FROM pg_stat_activity WHERE ${ours}`)).length
  }
  const before = await counted()
  const NOON = 1_000_000
  await query(
    `CREATE OR REPLACE FUNCTION transload.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ${NOON}::bigint'`,
  )
  const store = await openPostgresStore({ url })
  expect(Math.abs(store.now() - NOON)).toBeLessThan(10_000)
  await Promise.all(keys.flatMap((key) => [store.claim(newClaim({ key })), store.findClaim('acme', key)]))
  expect((await counted()) - before).toBe(10)
  await store.close()
})

test('a gateway closes while the server is down', async () => {
  const states = listen()
  const store = await openPostgresStore({ url: await server.createDatabase(), onState: states.onState })
  const down = states.next(false)
  await server.crash()
  await down
  await store.close()
  await expect(store.put({ names: [named()] })).rejects.toThrow(StoreDown)
  await server.start()
})

test('a gateway closes while it connects, and the server then answers', async () => {
  const url = new URL(await server.createDatabase())
  const connecting = Promise.withResolvers<Socket>()
  let isDown = true
  const front = createServer((socket) => {
    if (isDown) socket.destroy()
    else connecting.resolve(socket)
  })
  await once(front.listen(0, '127.0.0.1'), 'listening')
  const port = Number(url.port)
  // A server that listens on a port has an address with a port.
  url.port = String((front.address() as AddressInfo).port)
  const store = await openPostgresStore({ url: url.href })
  isDown = false
  const socket = await connecting.promise
  const closed = store.close()
  const behind = connect(port, url.hostname)
  for (const one of [socket, behind]) one.on('error', () => undefined)
  socket.pipe(behind).pipe(socket)
  await expect(closed).resolves.toBeUndefined()
  front.close()
})
