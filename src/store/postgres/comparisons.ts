import type pg from 'pg'
import { type ComparisonBatch, type Comparisons, DIFFERENCES_PER_FIELD } from '../comparisons.ts'
import { differenceOf, fieldCountOf } from '../rows.ts'
import { DAY_MS } from '../scoreboard.ts'
import type { InTransaction } from './claims.ts'
import { COUNTS_LOCK, TAKE_BATCH } from './scoreboard.ts'

const ADD_FIELDS = `INSERT INTO transload.compared_fields AS known
  SELECT * FROM unnest($1::integer[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
  ON CONFLICT (day, action, field) DO UPDATE SET equal = known.equal + excluded.equal,
    differs = known.differs + excluded.differs, noise = known.noise + excluded.noise`

const ADD_DIFFERENCES = `INSERT INTO transload.differences (action, field, native, translated, request_id, at)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])`

const DROP_OLDEST = `DELETE FROM transload.differences WHERE no IN (SELECT no FROM
  (SELECT no, row_number() OVER (PARTITION BY action, field ORDER BY no DESC) AS age FROM transload.differences) AS aged
  WHERE age > ${DIFFERENCES_PER_FIELD})`

/** Creates the comparisons of the contract on a pool of connections. */
export function createComparisons(pool: pg.Pool, inTransaction: InTransaction): Comparisons {
  return {
    addComparisons: ({ instance, no, fields, differences }) =>
      inTransaction(async (client) => {
        // One batch at a time: two could wait for each other's rows.
        await client.query('SELECT pg_advisory_xact_lock($1)', [COUNTS_LOCK])
        const { rowCount } = await client.query(TAKE_BATCH, [instance, no])
        if (rowCount === 0) return
        if (fields.length > 0) await client.query(ADD_FIELDS, fieldColumns(fields))
        if (differences.length === 0) return
        await client.query(ADD_DIFFERENCES, differenceColumns(differences))
        await client.query(DROP_OLDEST)
      }),
    async comparedFields(fromDay) {
      const { rows } = await pool.query(
        'SELECT * FROM transload.compared_fields WHERE day >= $1 ORDER BY day, action, field',
        [fromDay],
      )
      return rows.map(fieldCountOf)
    },
    async differences() {
      const { rows } = await pool.query('SELECT * FROM transload.differences ORDER BY no DESC')
      return rows.map(differenceOf)
    },
    dropComparisons: (beforeDay) =>
      inTransaction(async (client) => {
        await client.query('DELETE FROM transload.compared_fields WHERE day < $1', [beforeDay])
        await client.query('DELETE FROM transload.differences WHERE at < $1', [beforeDay * DAY_MS])
      }),
  }
}

const fieldColumns = (fields: ComparisonBatch['fields']) => [
  fields.map(({ day }) => day),
  fields.map(({ action }) => action),
  fields.map(({ field }) => field),
  fields.map(({ equal }) => equal),
  fields.map(({ differs }) => differs),
  fields.map(({ noise }) => noise),
]

const differenceColumns = (differences: ComparisonBatch['differences']) => [
  differences.map(({ action }) => action),
  differences.map(({ field }) => field),
  differences.map(({ native }) => native),
  differences.map(({ translated }) => translated),
  differences.map(({ requestId }) => requestId),
  differences.map(({ at }) => at),
]
