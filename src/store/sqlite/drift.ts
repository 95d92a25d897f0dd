import type { DatabaseSync } from 'node:sqlite'
import { boundDrift, type Drift, type DriftBatch } from '../drift.ts'
import { driftOf } from '../rows.ts'

/** Prepares the writes of the list of differences. */
export function createDriftWrites(db: DatabaseSync) {
  const drop = db.prepare('DELETE FROM drift WHERE last_at < ?')
  const known = db.prepare('SELECT kind, path FROM drift')
  const add = db.prepare(`INSERT INTO drift VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    count = count + excluded.count, first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)
    RETURNING first_by`)
  return {
    addDrift({ instance, seen, keptSince }: DriftBatch): readonly Pick<Drift, 'kind' | 'path'>[] {
      drop.run(keptSince)
      const listed = known.all().map((row) => ({ kind: String(row['kind']), path: String(row['path']) }))
      return boundDrift(seen, listed).flatMap(({ kind, path, count, firstAt, lastAt }) => {
        const row = add.get(kind, path, count, firstAt, lastAt, instance)
        return row?.['first_by'] === instance ? [{ kind, path }] : []
      })
    },
  }
}

/** Prepares the read of the list of differences. */
export function createDriftReads(db: DatabaseSync) {
  const all = db.prepare('SELECT * FROM drift ORDER BY first_at DESC, kind, path')
  return { listDrift: (): readonly Drift[] => all.all().map(driftOf) }
}
