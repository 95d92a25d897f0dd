/** Promise: a store in use is not restored over (contract, section 7). */

import { rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newInstance } from '../../../src/store/instance.ts'
import { VERSION } from '../../../src/store/schema.ts'
import { migrate } from '../../../src/store/sqlite/connection.ts'
import { StoreInUse, StoreUnreadable, takeSoleUse } from '../../../src/store/sqlite/restore.ts'
import { createSession, WRITES } from '../../../src/store/sqlite/session.ts'
import { newFolder } from '../../command.ts'

const LEASE_MS = 10_000
const ME = newInstance()
const ELSEWHERE = 'elsewhere/7/1/abcdefgh'
const DEAD = `${hostname()}/${process.pid}/1/abcdefgh`

let path: string
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['hrtime'] })
  vi.advanceTimersByTime(1_000_000)
  const folder = newFolder('sole-use')
  path = join(folder, 'store.db')
  inStore((db) => {
    createSession(db, 0)
    migrate(db)
  })
  onTestFinished(() => {
    vi.useRealTimers()
    rmSync(folder, { recursive: true, force: true })
  })
})

function inStore(work: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(path)
  try {
    work(db)
  } finally {
    db.close()
  }
}
const renew = (...instances: readonly string[]) =>
  inStore((db) => {
    for (const instance of instances) createSession(db, 0).run(WRITES.renewLease(instance, LEASE_MS))
  })
const takeAndRelease = () => takeSoleUse(path).release()

describe('a store is in use', () => {
  test('by gateways with a lease, which are named', () => {
    renew(ME, ELSEWHERE, DEAD)
    expect(takeAndRelease).toThrow(
      new StoreInUse(
        `${path} is in use by a gateway (process 7 on elsewhere) and a gateway (process ${process.pid} on ${hostname()}). Stop it first; one that was killed is gone after ten seconds.`,
      ),
    )
  })

  test('as long as the lease lasts, and not by a process that has ended', () => {
    renew(ELSEWHERE)
    vi.advanceTimersByTime(LEASE_MS - 1)
    expect(takeAndRelease).toThrow(StoreInUse)
    vi.advanceTimersByTime(1)
    expect(takeAndRelease).not.toThrow()
    renew(DEAD)
    expect(takeAndRelease).not.toThrow()
  })

  test('not by a lease from before the last boot', () => {
    renew(ELSEWHERE)
    inStore((db) => db.exec('UPDATE instances SET beat_ms = beat_ms + 1'))
    expect(takeAndRelease).not.toThrow()
  })

  test('by any process that has it open', () => {
    inStore((db) => {
      db.prepare('SELECT count(*) FROM links').get()
      expect(takeAndRelease).toThrow(
        new StoreInUse(`${path} is in use by another process. Stop gateways and commands first.`),
      )
    })
    expect(takeAndRelease).not.toThrow()
  })

  test('by the process that has taken it, until that releases it', () => {
    const { release } = takeSoleUse(path)
    expect(takeAndRelease).toThrow(StoreInUse)
    expect(() => inStore((db) => db.prepare('SELECT count(*) FROM links').get())).toThrow(/locked/)
    release()
    inStore((db) => expect(db.prepare('SELECT count(*) AS count FROM links').get()).toEqual({ count: 0 }))
  })
})

test('a store of a newer version may be taken: that is how a rollback begins', () => {
  inStore((db) => db.exec(`UPDATE version SET version = ${VERSION + 1}`))
  expect(takeAndRelease).not.toThrow()
})

test.each([
  [
    'no database',
    () => writeFileSync(path, 'This is no database, but long enough to be one.'.repeat(50)),
    'file is not a database',
  ],
  [
    'a database of another program',
    () => inStore((db) => db.exec('PRAGMA application_id = 5')),
    'The file of STORE_URL is a database of another program.',
  ],
])('%s cannot be read, and so it is not known if it is in use', (_, spoil, reason) => {
  spoil()
  expect(takeAndRelease).toThrow(new StoreUnreadable(`${path} cannot be read: ${reason}`))
})
