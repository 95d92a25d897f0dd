import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newInstance } from '../../../src/store/instance.ts'
import { migrate } from '../../../src/store/sqlite/schema.ts'
import { createWrites, type Writes } from '../../../src/store/sqlite/writes.ts'
import { link, newClaim, SAMPLE_TIME, thing } from '../samples.ts'

const LEASE_MS = 10_000
const ME = newInstance()
/** Another process, which cannot be looked at from here. */
const OTHER = 'elsewhere/1/1/abcdefgh'
/** One that has ended: the process with this number has started at another time. */
const DEAD = `${hostname()}/${process.pid}/1/abcdefgh`

let db: DatabaseSync
let writes: Writes
beforeEach(() => {
  // The time since boot passes when the test says so.
  vi.useFakeTimers({ toFake: ['hrtime'] })
  db = new DatabaseSync(':memory:')
  migrate(db)
  writes = createWrites(db)
  onTestFinished(() => {
    db.close()
    vi.useRealTimers()
  })
  vi.advanceTimersByTime(1_000_000)
})

describe('a lock', () => {
  test('is for one holder at a time, who may renew it', () => {
    expect(writes.takeLock('key', OTHER, LEASE_MS)).toBe(true)
    expect(writes.takeLock('key', ME, LEASE_MS)).toBe(false)
    expect(writes.takeLock('other key', ME, LEASE_MS)).toBe(true)
    vi.advanceTimersByTime(LEASE_MS - 1)
    expect(writes.takeLock('key', OTHER, LEASE_MS)).toBe(true)
    vi.advanceTimersByTime(LEASE_MS - 1)
    expect(writes.takeLock('key', ME, LEASE_MS)).toBe(false)
  })

  test('is free after its time, and once its holder has dropped it', () => {
    writes.takeLock('key', OTHER, LEASE_MS)
    vi.advanceTimersByTime(LEASE_MS)
    expect(writes.takeLock('key', ME, LEASE_MS)).toBe(true)
    writes.dropLock('key', OTHER)
    expect(writes.takeLock('key', OTHER, LEASE_MS)).toBe(false)
    writes.dropLock('key', ME)
    expect(writes.takeLock('key', OTHER, LEASE_MS)).toBe(true)
  })

  test('of a process that has ended is free at once', () => {
    writes.takeLock('key', DEAD, LEASE_MS)
    expect(writes.takeLock('key', ME, LEASE_MS)).toBe(true)
  })

  test('from before the last boot is free: it would last longer than any', () => {
    writes.takeLock('key', OTHER, LEASE_MS)
    db.exec(`UPDATE locks SET until_ms = until_ms + 1`)
    expect(writes.takeLock('key', ME, LEASE_MS)).toBe(true)
  })

  test('that has expired is deleted with old facts', () => {
    writes.takeLock('old', OTHER, LEASE_MS)
    vi.advanceTimersByTime(LEASE_MS)
    writes.takeLock('young', OTHER, LEASE_MS)
    writes.forget(0, SAMPLE_TIME)
    expect(db.prepare('SELECT key FROM locks').all()).toEqual([{ key: 'young' }])
  })
})

describe('a lease', () => {
  test('is young if it was renewed in time', () => {
    expect(writes.renewLease(ME, LEASE_MS)).toBe(false)
    expect(writes.renewLease(ME, LEASE_MS)).toBe(true)
    vi.advanceTimersByTime(LEASE_MS - 1)
    expect(writes.renewLease(ME, LEASE_MS)).toBe(true)
    vi.advanceTimersByTime(LEASE_MS)
    expect(writes.renewLease(ME, LEASE_MS)).toBe(false)
    writes.endLease(ME)
    expect(writes.renewLease(ME, LEASE_MS)).toBe(false)
  })

  test('from before the last boot is not', () => {
    writes.renewLease(ME, LEASE_MS)
    db.exec('UPDATE instances SET beat_ms = beat_ms + 1')
    expect(writes.renewLease(ME, LEASE_MS)).toBe(false)
  })

  test('that is silent for too long leaves its claims in doubt, in the order of their times', () => {
    for (const [key, instance, at] of [
      ['B', OTHER, 2],
      ['A', OTHER, 1],
      ['C', ME, 3],
    ] as const) {
      writes.claim(newClaim({ key, handle: `bk_${key}`, instance }), at)
    }
    writes.renewLease(ME, LEASE_MS)
    writes.renewLease(OTHER, LEASE_MS)
    vi.advanceTimersByTime(LEASE_MS - 1)
    expect(writes.orphanClaims(LEASE_MS, ME, 9)).toEqual([])
    writes.renewLease(ME, LEASE_MS)
    vi.advanceTimersByTime(1)
    expect(writes.orphanClaims(LEASE_MS, ME, 9)).toMatchObject([
      { key: 'A', state: 'unknown', version: 2, instance: ME, changedAt: 9 },
      { key: 'B', state: 'unknown', version: 2, instance: ME, changedAt: 9 },
    ])
    expect(writes.orphanClaims(LEASE_MS, ME, 9)).toEqual([])
    const audit = db
      .prepare("SELECT was, became, instance, why FROM claim_audit WHERE handle = 'bk_A' ORDER BY no")
      .all()
    expect(audit.at(-1)).toEqual({ was: 'sending', became: 'unknown', instance: ME, why: `gateway ${OTHER} is gone` })
  })

  test('in the future was renewed before the last boot', () => {
    writes.claim(newClaim({ instance: OTHER }), 1)
    writes.renewLease(OTHER, LEASE_MS)
    db.exec('UPDATE instances SET beat_ms = beat_ms + 1')
    expect(writes.orphanClaims(LEASE_MS, ME, 9)).toHaveLength(1)
  })
})

describe('the number of a tenant', () => {
  const tenants = () =>
    db
      .prepare('SELECT name FROM tenants ORDER BY no')
      .all()
      .map(({ name }) => name)

  test('is one for all its rows', () => {
    writes.put({ links: [link()], thing: thing() }, SAMPLE_TIME)
    writes.put({ links: [link({ tenant: 'zeta' })] }, SAMPLE_TIME)
    writes.put({ links: [link({ name: 'Q-2' })] }, SAMPLE_TIME)
    expect(tenants()).toEqual(['acme', 'zeta'])
    const reopened = createWrites(db)
    reopened.put({ links: [link({ name: 'Q-3' })] }, SAMPLE_TIME)
    expect(tenants()).toEqual(['acme', 'zeta'])
  })

  test('is read again after a rollback', () => {
    db.exec('BEGIN')
    writes.put({ links: [link()] }, SAMPLE_TIME)
    db.exec('ROLLBACK')
    writes.clearTenantNumbers()
    writes.put({ links: [link({ tenant: 'zeta' })] }, SAMPLE_TIME)
    writes.put({ links: [link()] }, SAMPLE_TIME)
    expect(tenants()).toEqual(['zeta', 'acme'])
    const named = db.prepare('SELECT t.name FROM links l JOIN tenants t ON t.no = l.tenant ORDER BY t.no').all()
    expect(named.map(({ name }) => name)).toEqual(['zeta', 'acme'])
  })
})
