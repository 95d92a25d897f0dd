import type pg from 'pg'
import { claimReason, newlyClaimed } from '../claim.ts'
import { claimOf } from '../rows.ts'
import type { Claim, ClaimChange, NewClaim, XrefWrite } from '../store.ts'
import { inBatches, rowByItem } from './batches.ts'
import { CLOCK, NOW } from './clock.ts'
import { putSteps, putValues } from './xref.ts'

/** The columns of a claim. A newer gateway may add one to the table, and a prepared plan must not change its result. */
const COLUMN_NAMES = [
  ...['tenant', 'key', 'handle', 'state', 'version', 'body', 'instance', 'reference', 'vin'],
  ...['shipment', 'reply', 'expires', 'created_at', 'changed_at'],
]
export const COLUMNS = COLUMN_NAMES.join(', ')

/** The order in which every statement locks claims, or inserts them: so those that meet wait in no circle. */
const IN_LOCK_ORDER = 'ORDER BY tenant COLLATE "C", key COLLATE "C"'

/** A row that another transaction holds for longer holds up its own call only: the others of the batch are tried without it. */
const PATIENCE_MS = 2_000
const patience = (place: string) =>
  `patience AS MATERIALIZED (SELECT CASE WHEN ${place}::boolean THEN set_config('lock_timeout', '${PATIENCE_MS}', true) END)`

const CLAIM = `WITH ${CLOCK}, ${patience('$10')}, wanted AS (SELECT row.* FROM patience CROSS JOIN unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
      $6::text[], $7::text[], $8::bigint[], $9::text[]) WITH ORDINALITY
    AS row (tenant, key, handle, body, instance, reference, vin, expires_in, why, nth)),
  won AS (INSERT INTO transload.claims (${COLUMNS})
    SELECT tenant, key, handle, 'sending', 1, body, instance, reference, vin, '', '',
      CASE WHEN expires_in IS NULL THEN 0 ELSE ${NOW} + expires_in END, ${NOW}, ${NOW} FROM wanted ${IN_LOCK_ORDER}
    ON CONFLICT DO NOTHING RETURNING tenant, key, changed_at),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, 'none', 'sending', instance, why FROM won JOIN wanted USING (tenant, key))
  SELECT nth, changed_at FROM won JOIN wanted USING (tenant, key)`

/**
 * Writes the names as well, also those of claims that have another version. The locked rows are written by their key: a join
 * with the table would be planned for the size that it had once.
 */
const CHANGE = `WITH ${CLOCK}, ${patience('$9')}, before AS (SELECT wanted.nth, wanted.becomes, wanted.by, wanted.made, wanted.answer, wanted.why,
      claim.* FROM
    (SELECT row.* FROM patience CROSS JOIN unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
      WITH ORDINALITY AS row (tenant, key, version, becomes, by, made, answer, why, nth) ${IN_LOCK_ORDER}) AS wanted
    CROSS JOIN LATERAL (SELECT ${COLUMNS} FROM transload.claims AS stored WHERE stored.tenant = wanted.tenant
      AND stored.key = wanted.key AND stored.version = wanted.version FOR UPDATE) AS claim),
  changed AS (INSERT INTO transload.claims (${COLUMNS})
    SELECT tenant, key, handle, becomes, version + 1, body, by, reference, vin, coalesce(made, shipment),
      coalesce(answer, reply), CASE expires WHEN 0 THEN 0 ELSE expires
        - CASE state WHEN 'booked' THEN changed_at ELSE created_at END
        + CASE becomes WHEN 'booked' THEN ${NOW} ELSE created_at END END, created_at, ${NOW} FROM before
    ON CONFLICT (tenant, key) DO UPDATE SET state = excluded.state, version = excluded.version,
      instance = excluded.instance, shipment = excluded.shipment, reply = excluded.reply, expires = excluded.expires,
      changed_at = excluded.changed_at
    RETURNING claims.*),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT changed.handle, changed.changed_at, before.state, changed.state, changed.instance, before.why
    FROM changed JOIN before USING (tenant, key)),
  ${putSteps(10)}
  SELECT nth, ${COLUMN_NAMES.map((name) => `changed.${name}`).join(', ')}
    FROM changed JOIN before USING (tenant, key)`

/** A change of a claim that still has a version, with names that are written. */
interface WantedChange {
  readonly claim: Pick<Claim, 'tenant' | 'key' | 'version'>
  readonly change: ClaimChange
  readonly names: XrefWrite | undefined
}

const keyOf = ({ tenant, key }: Pick<Claim, 'tenant' | 'key'>) => `${tenant}\n${key}`

/** Returns a function that inserts a claim; its answer is undefined if the key or the handle is taken. */
export function createClaim(pool: pg.Pool): (wanted: NewClaim) => Promise<Claim | undefined> {
  return inBatches<NewClaim, Claim | undefined>(pool, {
    name: 'claim',
    text: CLAIM,
    keyOf,
    valuesOf: (all) => [
      all.map(({ tenant }) => tenant),
      all.map(({ key }) => key),
      all.map(({ handle }) => handle),
      all.map(({ body }) => body),
      all.map(({ instance }) => instance),
      all.map(({ reference }) => reference),
      all.map(({ vin }) => vin),
      all.map(({ expiresInMs }) => expiresInMs ?? null),
      all.map(claimReason),
      all.length > 1,
    ],
    answersOf(rows, all) {
      const rowOf = rowByItem(rows, all)
      return (index) => {
        const [wanted, row] = [all[index], rowOf(index)]
        return wanted && row && newlyClaimed(wanted, undefined, Number(row['changed_at']))
      }
    },
  })
}

/** Returns a function that changes a claim; its answer is undefined if the claim has another version. */
export function createChange(pool: pg.Pool): (wanted: WantedChange) => Promise<Claim | undefined> {
  return inBatches<WantedChange, Claim | undefined>(pool, {
    name: 'change',
    text: CHANGE,
    keyOf: ({ claim }) => keyOf(claim),
    valuesOf: (all) => [
      all.map(({ claim }) => claim.tenant),
      all.map(({ claim }) => claim.key),
      all.map(({ claim }) => claim.version),
      all.map(({ change }) => change.state),
      all.map(({ change }) => change.instance),
      all.map(({ change }) => change.shipment ?? null),
      all.map(({ change }) => change.reply ?? null),
      all.map(({ change }) => change.why),
      all.length > 1,
      ...putValues(all.flatMap(({ names }) => names ?? [])),
    ],
    answersOf(rows, all) {
      const rowOf = rowByItem(
        rows.filter(({ nth }) => nth !== null),
        all,
      )
      return (index) => {
        const row = rowOf(index)
        return row && claimOf(row)
      }
    },
  })
}
