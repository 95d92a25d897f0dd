import { APPROVAL_OF, IDS_IN_APPROVAL_OF, NAMES_OF } from '../kept-things.ts'
import { INSTANCE_KEPT_MS, type PrunedTable, rowsOf } from '../pruning.ts'
import { CLOCK, NOW } from './clock.ts'

/** The time before which rows are old; $1 is the age. */
const BEFORE = `(${NOW} - $1::bigint)`

/** A claim that may go: finished, unchanged for so long, and not protected by a window. */
const isPrunable = (claim: string) =>
  `${claim}.state NOT IN ('sending', 'unknown') AND ${claim}.changed_at < ${BEFORE} AND ${claim}.expires <= ${NOW}`

const isUsed = (name: string) => `EXISTS (SELECT FROM transload.uses AS use
  WHERE use.tenant = row.tenant AND use.name = ${name} AND use.at >= ${BEFORE})`

const hasClaim = (id: string) => `EXISTS (SELECT FROM transload.claims AS claim
  WHERE claim.tenant = row.tenant AND claim.shipment = ${id} AND claim.shipment <> '' AND NOT (${isPrunable('claim')}))`

const QUOTE = `substr(row.id, strpos(row.id, '${APPROVAL_OF}') + ${APPROVAL_OF.length})`
const HANDLE = `substr(row.id, ${NAMES_OF.length + 1})`

/** The rules of `kept-things.ts`. */
const THING_STAYS = `${isUsed('row.id')} OR CASE
  WHEN starts_with(row.id, '${NAMES_OF}') THEN EXISTS (SELECT FROM transload.claims AS claim
    WHERE claim.handle = ${HANDLE} AND NOT (${isPrunable('claim')}))
  WHEN starts_with(row.id, '${APPROVAL_OF}') OR starts_with(row.id, '${IDS_IN_APPROVAL_OF}') THEN ${isUsed(QUOTE)} OR ${hasClaim(QUOTE)}
    OR EXISTS (SELECT FROM transload.things AS quote
      WHERE quote.tenant = row.tenant AND quote.id = ${QUOTE} AND quote.at >= ${BEFORE})
    OR EXISTS (SELECT FROM transload.claims AS claim
      WHERE claim.state IN ('sending', 'unknown') AND claim.tenant = row.tenant AND claim.created_at < ${BEFORE})
  ELSE ${hasClaim('row.id')} END`

interface TableSql {
  readonly name: string
  /** The order of the walk; unique. */
  readonly key: readonly string[]
  readonly at: string
  /** Keeps the walk from rows that are too young, where its order is that of their times. */
  readonly within?: string
  /** Tells if a row is old; asked again once the row is locked. */
  readonly isOld: string
  /** Tells if an old row stays nevertheless. */
  readonly stays: string
}

/** Audit entries stand in the order of their times, except where the clock was corrected, by less than a day. */
const CLOCK_SLACK_MS = 86_400_000

const TABLES: Readonly<Record<PrunedTable, TableSql>> = {
  claims: {
    name: 'claims',
    key: ['created_at', 'handle'],
    at: 'row.created_at',
    within: `row.created_at < ${BEFORE}`,
    isOld: isPrunable('row'),
    stays: 'false',
  },
  audit: {
    name: 'claim_audit',
    key: ['no'],
    at: 'row.at',
    within: `row.at < ${BEFORE} + ${CLOCK_SLACK_MS}`,
    isOld: `row.at < ${BEFORE}`,
    stays: 'EXISTS (SELECT FROM transload.claims AS claim WHERE claim.handle = row.handle)',
  },
  links: {
    name: 'links',
    key: ['tenant', 'name', 'kind', 'vin'],
    at: 'row.at',
    isOld: `row.at < ${BEFORE}`,
    stays: `${isUsed('row.name')} OR ${hasClaim('row.id')} OR (row.tenant, row.name) IN
      (SELECT claim.tenant, claim.reference FROM transload.claims AS claim WHERE claim.state IN ('sending', 'unknown'))`,
  },
  things: {
    name: 'things',
    key: ['tenant', 'id'],
    at: 'row.at',
    isOld: `row.at < ${BEFORE}`,
    stays: THING_STAYS,
  },
  uses: { name: 'uses', key: ['tenant', 'name'], at: 'row.at', isOld: `row.at < ${BEFORE}`, stays: 'false' },
  instances: {
    name: 'instances',
    key: ['instance'],
    at: '(extract(epoch FROM row.beat_at) * 1000)::bigint',
    // The age of the step is that of other rows.
    isOld: `row.beat_at < to_timestamp((${NOW} - ${INSTANCE_KEPT_MS} - 0 * $1::bigint) / 1000.0)`,
    stays: 'false',
  },
}

/**
 * Returns a step as one statement, with the age as $1 and the place after it. Rows that another transaction has locked stay:
 * a step waits for no call.
 */
export function pruneSql(table: PrunedTable, isFirst: boolean, dryRun: boolean): string {
  const { name, key, at, within, isOld, stays } = TABLES[table]
  const columns = (row: string) => key.map((column) => `${row}.${column}`).join(', ')
  const place = key.map((_, index) => `$${index + 2}`).join(', ')
  const filters = [...(isFirst ? [] : [`(${columns('row')}) > (${place})`]), ...(within ? [within] : [])]
  const where = filters.length > 0 ? `WHERE ${filters.join(' AND ')}` : ''
  const page = `page AS MATERIALIZED (SELECT ${columns('row')}, ${at} AS row_at, NOT (${isOld}) OR (${stays}) AS stays
    FROM transload.${name} AS row ${where} ORDER BY ${columns('row')} LIMIT ${rowsOf(table)})`
  const end = (pruned: string, keys: string) => `SELECT (SELECT count(*) FROM page) AS looked, ${pruned} AS pruned,
    (SELECT min(row_at) FROM page WHERE stays) AS oldest, ${keys} AS dropped,
    (SELECT json_build_array(${columns('page')}) FROM page ORDER BY ${key.map((one) => `${one} DESC`).join(', ')} LIMIT 1) AS place`
  if (dryRun) return `WITH ${CLOCK}, ${page} ${end('(SELECT count(*) FROM page WHERE NOT stays)', 'NULL')}`
  const dropAudit = `, noted AS (DELETE FROM transload.claim_audit AS entry USING gone WHERE entry.handle = gone.handle)`
  return `WITH ${CLOCK}, ${page},
    locked AS MATERIALIZED (SELECT ${columns('row')} FROM transload.${name} AS row JOIN page USING (${key.join(', ')})
      WHERE NOT page.stays AND ${isOld} FOR UPDATE OF row SKIP LOCKED),
    gone AS (DELETE FROM transload.${name} AS row USING locked
      WHERE (${columns('row')}) = (${columns('locked')}) RETURNING ${columns('row')})${table === 'claims' ? dropAudit : ''}
    ${end('(SELECT count(*) FROM gone)', table === 'things' ? '(SELECT json_agg(gone) FROM gone)' : 'NULL')}`
}
