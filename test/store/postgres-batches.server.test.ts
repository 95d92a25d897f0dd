/** Promise: calls that come together share statements, and none suffers for another (contract, section 7). */

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NAMED } from '../../src/outside/store/postgres/batches.ts'
import { type Claim, type ClaimChange, LockTimeout, type Store } from '../../src/outside/store/store.ts'
import { openGateways, WAITERS } from './meetings.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { named, newClaim } from './samples.ts'

const MANY = 40
/** No entry of an index has room for it, however well it is compressed. */
const TOO_LONG = randomBytes(6_000).toString('hex')

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

const keys = (prefix = 'K') => Array.from({ length: MANY }, (_, index) => `${prefix}-${index}`)
const claimAll = async (store: Store, all: readonly string[]) =>
  (await Promise.all(all.map((key) => store.claim(newClaim({ key }))))).map(({ claim }) => claim)
const booked = (shipment: string): ClaimChange => {
  return { state: 'booked', instance: 'gateway-1', shipment, reply: `{"id":"${shipment}"}`, why: 'made' }
}

/** Takes the place of a claim, in a transaction: others that claim its key wait for it. */
const takes = (key: string) =>
  `INSERT INTO transload.claims VALUES ('acme', '${key}', 'bk_held', 'sending', 1, '', '', '', '', '', '', '', '', 0, 0, 0, 0, '')`
/** Locks a claim in a transaction: others that change it wait for it. */
const locks = (key: string) => `SELECT FROM transload.claims WHERE key = '${key}' FOR UPDATE`

test('names are looked up by keys in large tables, in any case and with what is remembered of them', async () => {
  const { query } = await openGateways(server)
  const rows = 'FROM generate_series(1, 100000) AS nth'
  await query(`INSERT INTO transload.names SELECT 'acme', 'REF-' || nth, 1, 'id-' || nth, NULL, 1, 0, 1 ${rows}`)
  for (const table of ['quotes', 'shipments']) {
    await query(`INSERT INTO transload.${table} (tenant, key, at, used_day) SELECT 'acme', 'id-' || nth, 1, 1 ${rows}`)
  }
  await query('ANALYZE')
  await query(`PREPARE named (text) AS ${NAMED}`)
  const [row] = await query(`EXPLAIN (FORMAT JSON) EXECUTE named ('[{"tenant": "acme", "name": "ref-1", "nth": 1}]')`)
  const [{ Plan: plan }] = row['QUERY PLAN']
  expect(JSON.stringify(plan)).not.toMatch(/Seq Scan|Hash Join|Merge Join/)
  // From 100,000 on, a server compiles a statement, each time.
  expect(plan['Total Cost']).toBeLessThan(20_000)
})

test.each(['claims', 'changes'] as const)(
  '%s of two gateways that meet in opposite orders wait in no circle',
  async (what) => {
    const { one, other, meeting, deadlocks } = await openGateways(server)
    const claims = what === 'changes' ? await claimAll(one, keys()) : []
    const claim = async (store: Store, order: readonly string[], by: string) => {
      const made = await Promise.all(order.map((key) => store.claim(newClaim({ key, handle: `bk_${by}_${key}` }))))
      return made.filter(({ won }) => won).length
    }
    const change = async (store: Store, order: readonly Claim[], by: string) => {
      const names = (name: string) => ({ names: [named({ name, id: by })] })
      const made = await Promise.all(order.map((claim) => store.change(claim, booked(by), names(claim.key))))
      return made.filter((claim) => claim !== undefined).length
    }
    // Each of two that kept their order would write half of the rows, wait for this one, and then for the other.
    const hold = what === 'claims' ? takes('K-20') : locks('K-20')
    const [won, alsoWon] = await meeting({ hold, statements: 2 }, () =>
      what === 'claims'
        ? Promise.all([claim(one, keys(), 'one'), claim(other, keys().toReversed(), 'other')])
        : Promise.all([change(one, claims, 'one'), change(other, claims.toReversed(), 'other')]),
    )
    expect(won + alsoWon).toBe(MANY)
    expect(await deadlocks()).toBe(0)
  },
)

test('what one call writes and the server refuses fails that call alone', async () => {
  const { one } = await openGateways(server)
  const claims = await Promise.allSettled(
    keys().map((key, index) => one.claim(newClaim({ key, ...(index === 7 && { tenant: TOO_LONG }) }))),
  )
  expect(claims.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([7])
  const made = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value.claim] : []))
  const changes = await Promise.allSettled(
    made.map((claim, index) =>
      one.change(claim, booked(claim.key), { names: [named({ name: index === 3 ? TOO_LONG : claim.key })] }),
    ),
  )
  expect(changes.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([3])
  const states = await Promise.all(made.map(({ key }) => one.findClaim('acme', key)))
  expect(states.map((claim) => claim?.state)).toEqual(made.map((_, index) => (index === 3 ? 'sending' : 'booked')))
  expect(await one.named('acme', made[4]?.key ?? '')).toHaveLength(1)
})

test.each(['claim', 'change'] as const)('a row that is held for long holds up its own %s only', async (what) => {
  const { one, meeting } = await openGateways(server)
  const claims = what === 'change' ? await claimAll(one, keys()) : []
  const hold = what === 'change' ? locks('K-20') : takes('K-20')
  let calls: Promise<unknown>[] = []
  const begin = () => {
    calls =
      what === 'change'
        ? claims.map((claim) => one.change(claim, booked(claim.key)))
        : keys().map((key) => one.claim(newClaim({ key })))
    return Promise.all(calls)
  }
  await meeting({ hold, statements: 1 }, begin, async () => {
    await Promise.all(calls.toSpliced(20, 1))
    expect(await one.listClaims({ state: what === 'change' ? 'booked' : 'sending' })).toHaveLength(MANY - 1)
  })
  expect(await one.listClaims({ state: what === 'change' ? 'booked' : 'sending' })).toHaveLength(MANY)
})

test('a batch that has to give way to another transaction is tried again, call by call', async () => {
  const { url, one, waiting, meeting, deadlocks } = await openGateways(server)
  const claims = await claimAll(one, keys())
  const rival = new pg.Client({ connectionString: url, application_name: 'rival' })
  await rival.connect()
  // The rival never looks for a circle, and waits for the batch before the batch waits for it: the batch ends the circle.
  await rival.query(`BEGIN; SET LOCAL deadlock_timeout = '1h'; ${locks('K-20')}`)
  const changed = await meeting(
    { hold: locks('K-10'), statements: 1 },
    () => Promise.all(claims.map((claim) => one.change(claim, booked('once')))),
    async (blocker) => {
      const locked = rival.query(locks('K-0'))
      await waiting(2)
      await blocker.query('ROLLBACK')
      await locked
      await rival.end()
    },
  )
  expect(changed.map((claim) => claim?.version)).toEqual(claims.map(() => 2))
  expect(await deadlocks()).toBe(1)
})

test('a connection that is killed amid a batch fails all of it, writes none of it, and the next one goes on', async () => {
  const { one, query, meeting } = await openGateways(server)
  const claims = await claimAll(one, keys())
  await one.put({ names: [named({ name: 'before' })] })
  const readLinks = 'LOCK TABLE transload.names IN ACCESS EXCLUSIVE MODE'
  const work = [
    {
      hold: locks('K-9'),
      begin: () => claims.map((claim) => one.change(claim, booked('lost'), { names: [named({ name: claim.key })] })),
    },
    { hold: takes('L-9'), begin: () => keys('L').map((key) => one.claim(newClaim({ key }))) },
    { hold: readLinks, begin: () => keys().map(() => one.named('acme', 'before')) },
    { hold: readLinks, begin: () => [one.load([{ ...named({ name: 'loaded' }), vin: '' }], { replace: false })] },
  ]
  for (const { hold, begin } of work) {
    const outcomes = await meeting(
      { hold, statements: 1 },
      () => Promise.allSettled<unknown>(begin()),
      async (_, done) => {
        await query(`SELECT pg_terminate_backend(pid) ${WAITERS}`)
        await done
      },
    )
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreDown' } })
    }
  }
  expect(await Promise.all(claims.map(({ key }) => one.findClaim('acme', key)))).toEqual(claims)
  expect(await one.listClaims({})).toHaveLength(MANY)
  expect(await query('SELECT name FROM transload.names')).toEqual([{ name: 'before' }])
  const again = await Promise.all(claims.map((claim) => one.change(claim, booked('again'))))
  expect(again.every((claim) => claim?.shipment === 'again')).toBe(true)
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
