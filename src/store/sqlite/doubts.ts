import type { DatabaseSync } from 'node:sqlite'
import { type Doubt, declaredDoubt, type NewDoubt } from '../doubt.ts'
import { doubtOf } from '../rows.ts'
import { acceptAs, type Identity, identityIn, originOf, type Stamp } from './stamp.ts'

const SELECT_DOUBT = 'SELECT since, declared_at, until FROM doubts'

/** Prepares the reads of the doubt about a store, and of its identity. */
export function openDoubtReads(db: DatabaseSync) {
  const doubt = db.prepare(SELECT_DOUBT)
  return {
    doubt(): Doubt | undefined {
      const row = doubt.get()
      return row && doubtOf(row)
    },
    identity: (): Identity => identityIn(db),
  }
}

/** Prepares the writes of the doubt about a store. */
export function createDoubtWrites(db: DatabaseSync) {
  const find = db.prepare(SELECT_DOUBT)
  const put = db.prepare('INSERT OR REPLACE INTO doubts VALUES (1, ?, ?, ?)')
  const drop = db.prepare('DELETE FROM doubts')
  return {
    declareDoubt(asked: NewDoubt, now: number): Doubt {
      const row = find.get()
      const doubt = declaredDoubt(asked, row && doubtOf(row), now)
      put.run(doubt.since, doubt.declaredAt, doubt.until)
      return doubt
    },
    /** Takes `null` for no stamp: the way to the writing thread has no `undefined`. */
    trust(given: Stamp | null): boolean {
      const stamp = given ?? undefined
      const isCopy = originOf(identityIn(db), stamp).kind !== 'own'
      if (isCopy) acceptAs(db, stamp)
      return drop.run().changes > 0 || isCopy
    },
  }
}
