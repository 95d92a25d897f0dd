import type pg from 'pg'
import { CLAIMED, isFree, LIST_LIMIT, newlyClaimed } from '../claim.ts'
import { auditOf, claimOf } from '../rows.ts'
import type { Claim, Claims, NewClaim } from '../store.ts'
import { WriteRefused } from './errors.ts'

const COLUMNS = `tenant, key, handle, state, version, body, instance, credential, reference, vin, shipment, reply,
  expires, created_at, changed_at`
const VALUES = Array.from({ length: 15 }, (_, index) => `$${index + 1}`).join(', ')
const AT_KEY = 'tenant = $1 AND key = $2'
const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Inserts the row of the winner, and its audit entry, in one statement. */
const CLAIM_NEW = `WITH won AS (INSERT INTO transload.claims (${COLUMNS}) VALUES (${VALUES})
    ON CONFLICT DO NOTHING RETURNING *),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, 'none', state, instance, $16 FROM won)
  SELECT * FROM won`

const CLAIM_AGAIN = `WITH won AS (UPDATE transload.claims SET (${COLUMNS}) = ROW(${VALUES})
    WHERE ${AT_KEY} RETURNING *),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, $17, state, instance, $16 FROM won)
  SELECT * FROM won`

const CHANGE = `WITH before AS (SELECT tenant, key, state FROM transload.claims
    WHERE ${AT_KEY} AND version = $3 FOR UPDATE),
  changed AS (UPDATE transload.claims AS claim SET state = $4, version = version + 1, instance = $5, changed_at = $6,
      shipment = coalesce($7, shipment), reply = coalesce($8, reply), expires = coalesce($9, expires)
    FROM before WHERE claim.tenant = before.tenant AND claim.key = before.key
    RETURNING claim.*, before.state AS was),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, was, state, instance, $10 FROM changed)
  SELECT * FROM changed`

const ORPHAN = `WITH gone AS (SELECT tenant, key, instance FROM transload.claims AS claim
    WHERE state = 'sending' AND NOT EXISTS (SELECT FROM transload.instances AS alive
      WHERE alive.instance = claim.instance AND alive.beat_at > clock_timestamp() - $1 * interval '1 millisecond')
    ORDER BY tenant, key FOR UPDATE OF claim),
  orphaned AS (UPDATE transload.claims AS claim
    SET state = 'unknown', version = version + 1, instance = $2, changed_at = ${NOW_MS}
    FROM gone WHERE claim.tenant = gone.tenant AND claim.key = gone.key
    RETURNING claim.*, gone.instance AS gone),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, 'sending', state, instance, 'gateway ' || gone || ' is gone' FROM orphaned)
  SELECT * FROM orphaned ORDER BY created_at, handle`

/** Runs work in a transaction on one connection. */
export type InTransaction = <T>(work: (client: pg.ClientBase) => Promise<T>) => Promise<T>

/** Creates the claims of the contract on a pool of connections. */
export function createClaims(pool: pg.Pool, inTransaction: InTransaction): Claims {
  async function claims(where: string, values: readonly unknown[]): Promise<readonly Claim[]> {
    const { rows } = await pool.query(`SELECT * FROM transload.claims WHERE ${where}`, [...values])
    return rows.map(claimOf)
  }

  return {
    async claim(wanted) {
      const { rows } = await pool.query(CLAIM_NEW, [...valuesOf(newlyClaimed(wanted, undefined)), CLAIMED])
      if (rows[0]) return { won: true, claim: claimOf(rows[0]) }
      // The key exists, most often with a claim that still holds it.
      const [before] = await claims(AT_KEY, [wanted.tenant, wanted.key])
      if (before && !isFree(before, wanted.createdAt)) return { won: false, claim: before }
      return inTransaction((client) => claimAgain(client, wanted))
    },
    async change({ tenant, key, version }, { state, instance, at, shipment, reply, expires, why }) {
      const values = [tenant, key, version, state, instance, at, shipment, reply, expires, why]
      const { rows } = await pool.query(CHANGE, values)
      return rows[0] && claimOf(rows[0])
    },
    async findClaim(tenant, key) {
      return (await claims(AT_KEY, [tenant, key]))[0]
    },
    async claimByHandle(handle) {
      return (await claims('handle = $1', [handle]))[0]
    },
    async claimsOfShipment(tenant, shipment) {
      const where = "tenant = $1 AND shipment = $2 AND shipment <> '' ORDER BY created_at, handle"
      return claims(where, [tenant, shipment])
    },
    async listClaims({ state, tenant, limit = LIST_LIMIT }) {
      const filters = [
        state === undefined ? [] : [{ column: 'state', value: state }],
        tenant === undefined ? [] : [{ column: 'tenant', value: tenant }],
      ].flat()
      const where = ['true', ...filters.map(({ column }, index) => `${column} = $${index + 2}`)].join(' AND ')
      return claims(`${where} ORDER BY created_at, handle LIMIT $1`, [limit, ...filters.map(({ value }) => value)])
    },
    async audit(handle) {
      const { rows } = await pool.query(
        'SELECT at, was, became, instance, why FROM transload.claim_audit WHERE handle = $1 ORDER BY no',
        [handle],
      )
      return rows.map(auditOf)
    },
    async beat(instance) {
      await pool.query(
        `INSERT INTO transload.instances VALUES ($1, clock_timestamp())
          ON CONFLICT (instance) DO UPDATE SET beat_at = excluded.beat_at`,
        [instance],
      )
    },
    async leave(instance) {
      await pool.query('DELETE FROM transload.instances WHERE instance = $1', [instance])
    },
    async orphan(silentForMs, by) {
      const { rows } = await pool.query(ORPHAN, [silentForMs, by])
      return rows.map(claimOf)
    },
  }
}

/** Takes a key that may be free; locks its row meanwhile. */
async function claimAgain(client: pg.ClientBase, wanted: NewClaim): ReturnType<Claims['claim']> {
  const sql = `SELECT * FROM transload.claims WHERE ${AT_KEY} FOR UPDATE`
  const { rows } = await client.query(sql, [wanted.tenant, wanted.key])
  if (!rows[0]) throw new WriteRefused(`The handle ${wanted.handle} is taken.`)
  const before = claimOf(rows[0])
  if (!isFree(before, wanted.createdAt)) return { won: false, claim: before }
  const claim = newlyClaimed(wanted, before)
  await client.query(CLAIM_AGAIN, [...valuesOf(claim), CLAIMED, before.state])
  return { won: true, claim }
}

function valuesOf(claim: Claim): readonly unknown[] {
  const { tenant, key, handle, state, version, body, instance, credential, reference, vin, shipment, reply } = claim
  const { expires, createdAt, changedAt } = claim
  const text = [tenant, key, handle, state, version, body, instance, credential, reference, vin, shipment, reply]
  return [...text, expires, createdAt, changedAt]
}
