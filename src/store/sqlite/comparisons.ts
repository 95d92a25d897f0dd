import type { DatabaseSync } from 'node:sqlite'
import { type ComparisonBatch, DIFFERENCES_PER_FIELD, type Difference, type FieldCount } from '../comparisons.ts'
import { differenceOf, fieldCountOf } from '../rows.ts'
import { DAY_MS } from '../scoreboard.ts'

/** Prepares the writes of comparisons. */
export function createComparisonWrites(db: DatabaseSync) {
  const lastBatch = db.prepare('SELECT no FROM count_batches WHERE instance = ?')
  const putBatch = db.prepare('INSERT OR REPLACE INTO count_batches VALUES (?, ?, ?)')
  const addField = db.prepare(`INSERT INTO compared_fields VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET equal = equal + excluded.equal, differs = differs + excluded.differs,
    noise = noise + excluded.noise`)
  const addDifference = db.prepare(
    'INSERT INTO differences (action, field, native, translated, request_id, at) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const dropOldest = db.prepare(`DELETE FROM differences WHERE action = ?1 AND field = ?2 AND no <= (SELECT no
    FROM differences WHERE action = ?1 AND field = ?2 ORDER BY no DESC LIMIT 1 OFFSET ${DIFFERENCES_PER_FIELD})`)
  const dropFields = db.prepare('DELETE FROM compared_fields WHERE day < ?')
  const dropDifferences = db.prepare('DELETE FROM differences WHERE at < ?')

  return {
    addComparisons({ instance, no, fields, differences }: ComparisonBatch, now: number): void {
      if (no <= Number(lastBatch.get(instance)?.['no'] ?? 0)) return
      putBatch.run(instance, no, now)
      for (const { day, action, field, equal, differs, noise } of fields) {
        addField.run(day, action, field, equal, differs, noise)
      }
      for (const { action, field, native, translated, requestId, at } of differences) {
        addDifference.run(action, field, native, translated, requestId, at)
        dropOldest.run(action, field)
      }
    },
    dropComparisons(beforeDay: number): void {
      dropFields.run(beforeDay)
      dropDifferences.run(beforeDay * DAY_MS)
    },
  }
}

/** Prepares the reads of comparisons. */
export function createComparisonReads(db: DatabaseSync) {
  const fields = db.prepare('SELECT * FROM compared_fields WHERE day >= ? ORDER BY day, action, field')
  const differences = db.prepare('SELECT * FROM differences ORDER BY no DESC')
  return {
    comparedFields: (fromDay: number): readonly FieldCount[] => fields.all(fromDay).map(fieldCountOf),
    differences: (): readonly Difference[] => differences.all().map(differenceOf),
  }
}
