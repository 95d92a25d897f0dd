/** Promise: a restored store answers unknown for what it may lack (contract, section 7). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Origin } from '../../src/store/doubt.ts'
import { backupStore } from '../../src/store/sqlite/backup.ts'
import { restoreStore } from '../../src/store/sqlite/restore.ts'
import { createMemoryStore, openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { newFolder } from '../command.ts'
import { deliver, EVENT, startReceiver, untilState } from '../events/deliver.ts'
import { CLIENT, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import {
  book,
  claimOf,
  creations,
  expectBooked,
  expectUnknown,
  heartbeats,
  settleAs,
  settlementOf,
  shipments,
} from './desk.ts'

/*
 * Promise: what a restored store may lack is not sent again: its outcome is unknown until an operator, or the service, says
 * (contract, section 7: bookings happen once).
 */

const named = (ReferenceNumber: string) => ({ ReferenceNumber })

test.each([false, true])('after a restore, with a doubt: %s', async (isDoubted) => {
  const folder = newFolder('restored')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [path, file] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
  onTestFinished(() => sandbox.close())
  /** Runs a gateway on the store, in front of one service. */
  async function withGateway(work: (gateway: TestGateway) => Promise<void>): Promise<void> {
    const store = await openSqliteStore({ path })
    const env = { EMERGENCY_LOG_FILE: join(folder, 'e') }
    const gateway = await startGateway({ store, serviceUrl: sandbox.url, env })
    await work(gateway)
    await gateway.gateway.close()
    await store.close()
  }
  const made = (...references: string[]) => references.map((one) => shipments({ sandbox }, one).length)
  let at = 0
  await withGateway(async (gateway) => {
    expectBooked(await book(gateway, named('KNOWN')))
    sandbox.fail({ kind: 'status', status: 422, on: { method: 'POST' } })
    expect((await book(gateway, named('REFUSED'))).status).toBe(422)
    at = (await backupStore(path, file)).at
    for (const reference of ['LOST', 'REFUSED']) expectBooked(await book(gateway, named(reference)))
  })
  await restoreStore(path, file, { doubt: isDoubted ? { since: at, until: 0 } : undefined })

  const keys: Record<string, string> = { LOST: '', REFUSED: '', NEW: '' }
  await withGateway(async (gateway) => {
    expectBooked(await book(gateway, named('KNOWN')), true)
    for (const reference of Object.keys(keys)) {
      const answer = await book(gateway, named(reference))
      keys[reference] = isDoubted ? expectUnknown(answer) : expectBooked(answer)
    }
    if (!isDoubted) return
    const line = await gateway.logged(/bookings that the store does not know are in doubt/)
    expect(line).toMatchObject({ level: 'warn', since: new Date(at).toISOString(), declared: expect.any(String) })
  })
  expect(made('KNOWN', ...Object.keys(keys))).toEqual(isDoubted ? [1, 1, 1, 0] : [1, 2, 2, 1])
  if (!isDoubted) return

  const [lost] = shipments({ sandbox }, 'LOST')
  await withGateway(async (gateway) => {
    for (const [reference, key] of Object.entries(keys)) {
      expect(expectUnknown(await book(gateway, named(reference)))).toBe(key)
    }
    await settleAs(gateway.store, await claimOf(gateway, 'LOST'), settlementOf(lost))
    await settleAs(gateway.store, await claimOf(gateway, 'NEW'), 'not-booked')
    expect(expectBooked(await book(gateway, named('LOST')), true)).toBe(lost?.id)
    // The store has learnt it since: it is certain.
    expectBooked(await book(gateway, named('NEW')))
    expect(await gateway.store.trust()).toBe(true)
  })
  await withGateway(async (gateway) => {
    expectBooked(await book(gateway, named('LATEST')))
    expect(expectUnknown(await book(gateway, named('REFUSED')))).toBe(keys['REFUSED'])
  })
  expect(made('LOST', 'REFUSED', 'NEW', 'LATEST')).toEqual([1, 1, 1, 1])
})

const MINUTE_MS = 60_000

/** A store in doubt since an hour ago, with a clock of its own. */
async function doubtfulStore() {
  let time = 1_000 * MINUTE_MS
  const store = createMemoryStore({ now: () => time })
  await store.declareDoubt({ since: time - 60 * MINUTE_MS, until: 0 })
  const pass = (ms: number) => {
    time += ms
  }
  return { store, pass }
}

test.each(['an event that came before its caller asked again', 'a service that finds shipments by their reference'])(
  'a booking in doubt is settled by %s',
  async (by) => {
    const { store, pass } = await doubtfulStore()
    const findsByReference = by.startsWith('a service')
    const env = { SWEEP_INTERVAL: findsByReference ? '1s' : '1h' }
    const gateway = await startReceiver({ store, env, sandbox: { findsByReference } })
    // Made as before the restore.
    const id = expectBooked(await book(await startGateway({ serviceUrl: gateway.sandbox.url, env: OWN })))
    if (!findsByReference) await deliver(gateway, { ...EVENT, shipment_id: id })
    pass(MINUTE_MS)
    await untilState(store, expectUnknown(await book(gateway)), 'booked')
    expect(expectBooked(await book(gateway), true)).toBe(id)
  },
)

test('many callers of one booking in doubt get one key; one without a reference is in doubt only for its window', async () => {
  const { store, pass } = await doubtfulStore()
  const gateway = await startGateway({ store, env: { DEDUPE_WINDOW: '10m' } })
  for (const headers of [{}, { 'idempotency-key': 'one' }]) {
    const answers = await Promise.all(Array.from({ length: 6 }, () => book(gateway, {}, headers)))
    expect(new Set(answers.map(expectUnknown)).size).toBe(1)
  }
  pass(10 * MINUTE_MS - 1)
  expectUnknown(await book(gateway, { ...named(''), Make: 'Early' }))
  expect(creations(gateway)).toBe(0)
  pass(1)
  expectBooked(await book(gateway, { ...named(''), Make: 'Late' }))
  expectUnknown(await book(gateway, named('REF')))
})

test('what was canceled since the doubt began is booked again; when it ends, bookings are sent', async () => {
  const beat = heartbeats()
  const { store, pass } = await doubtfulStore()
  await store.trust()
  const gateway = await startGateway({ store })
  const id = expectBooked(await book(gateway))
  pass(1)
  await store.declareDoubt({ since: 0, until: 1_001 * MINUTE_MS })
  const said = (what: RegExp) => gateway.lines().filter(({ msg }) => what.test(String(msg))).length
  await beat(() => expect(said(/are in doubt/)).toBe(1))
  pass(1)
  expect((await post(gateway, '/deleteShipment.php', { shipment_id: id })).status).toBe(200)
  expect(expectBooked(await book(gateway))).not.toBe(id)
  expectUnknown(await book(gateway, named('EARLY')))
  pass(MINUTE_MS)
  await beat(() => expect(said(/not in doubt any more/)).toBe(1))
  expectBooked(await book(gateway, named('LATE')))
  expectUnknown(await book(gateway, named('EARLY')))
})

test.each([true, false])(
  'a claim that the store kept although it failed is freed, unless it is in doubt (%s): then it would count as certain',
  async (isDoubted) => {
    const beat = heartbeats()
    const { store } = await doubtfulStore()
    if (!isDoubted) await store.trust()
    let [failures, renewals] = [1, 0]
    const failing: Store = {
      ...store,
      renewLease: (...args) => {
        renewals += 1
        return store.renewLease(...args)
      },
      claim: async (wanted) => {
        const taken = await store.claim(wanted)
        if (failures-- > 0) throw new StoreDown('The answer of the store got lost.')
        return taken
      },
    }
    const gateway = await startGateway({ store: failing })
    expect(await book(gateway)).toMatchObject({ status: 503, json: { TransportationBooked: 'No' } })
    const { handle } = await claimOf(gateway)
    // A heartbeat does all that there is to catch up with before the next one begins.
    const next = renewals + 2
    await beat(() => expect(renewals).toBeGreaterThanOrEqual(next))
    const answer = await book(gateway)
    if (isDoubted) expect(expectUnknown(answer)).toBe(handle)
    else expectBooked(answer)
    expect(creations(gateway)).toBe(isDoubted ? 0 : 1)
  },
)

const COPIED_AT = Date.UTC(2026, 0, 2)

test.each<[Origin, RegExp]>([
  [{ kind: 'backup', at: COPIED_AT }, /is a backup of 2026-01-02T00:00:00\.000Z that was put in place without/],
  [{ kind: 'moved' }, /was copied or moved here without its stamp/],
  [{ kind: 'other' }, /is a copy of another one than the store that stood here/],
  [{ kind: 'older' }, /is an old copy of the one that stood here/],
])('a store that is a copy (%o) says so once, with the remedy', async (origin, said) => {
  const gateway = await startGateway({ env: OWN, store: { ...createMemoryStore(), origin: async () => origin } })
  expectBooked(await book(gateway))
  const lines = gateway.lines().filter(({ msg }) => said.test(String(msg)))
  expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringMatching(/“Back up and restore” in docs\//) }])
})
