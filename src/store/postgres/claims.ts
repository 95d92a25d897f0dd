import type pg from 'pg'
import { isSameThing } from '../../text/service-text.ts'
import { claimReason, isFree, LIST_LIMIT, newlyClaimed } from '../claim.ts'
import { auditOf, claimOf } from '../rows.ts'
import type { Claim, Claims, NewClaim } from '../store.ts'
import { COLUMNS, createChange, createClaim } from './claim-batches.ts'
import { CLOCK, NOW } from './clock.ts'
import { WriteRefused } from './errors.ts'

const AT_KEY = 'tenant = $1 AND key = $2'
/** The values of a new claim; $9 is how long it lasts once booked. */
const newValues = (state: string, createdAt: string) => `$1, $2, $3, '${state}', $4, $5, $6, $7, $8, '', '',
  CASE WHEN $9::bigint IS NULL THEN 0 ELSE ${createdAt} + $9::bigint END, ${createdAt}, ${NOW}`

/** Inserts the row of the winner, and its audit entry, in one statement. */
const DOUBT_NEW = `WITH ${CLOCK}, won AS (INSERT INTO transload.claims (${COLUMNS}) VALUES (${newValues('unknown', '$11::bigint')})
    ON CONFLICT DO NOTHING RETURNING *),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, 'none', state, instance, $10 FROM won)
  SELECT * FROM won`

const claimFree = (values: string) => `WITH ${CLOCK}, won AS (UPDATE transload.claims SET (${COLUMNS}) = ROW(${values})
    WHERE ${AT_KEY} RETURNING *),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, $11, state, instance, $10 FROM won)
  SELECT * FROM won`

const CLAIM_AGAIN = claimFree(newValues('sending', NOW))
const DOUBT_AGAIN = claimFree(newValues('unknown', '$12::bigint'))

/** The time of a lease's renewal; the column is older than `now_ms`. */
const RENEWED_AT = `to_timestamp(${NOW} / 1000.0)`
const isYoungerThan = (place: string) => `beat_at > ${RENEWED_AT} - ${place} * interval '1 millisecond'`

const RENEW_LEASE = `WITH ${CLOCK}, before AS (SELECT ${isYoungerThan('$2')} AS young FROM transload.instances
    WHERE instance = $1),
  renewed AS (INSERT INTO transload.instances VALUES ($1, ${RENEWED_AT})
    ON CONFLICT (instance) DO UPDATE SET beat_at = excluded.beat_at)
  SELECT young FROM before`

const ORPHAN = `WITH ${CLOCK}, gone AS (SELECT tenant, key, instance FROM transload.claims AS claim
    WHERE state = 'sending' AND NOT EXISTS (SELECT FROM transload.instances AS alive
      WHERE alive.instance = claim.instance AND ${isYoungerThan('$1')})
    ORDER BY tenant, key FOR UPDATE OF claim),
  orphaned AS (UPDATE transload.claims AS claim
    SET state = 'unknown', version = version + 1, instance = $2, changed_at = ${NOW}
    FROM gone WHERE claim.tenant = gone.tenant AND claim.key = gone.key
    RETURNING claim.*, gone.instance AS gone),
  noted AS (INSERT INTO transload.claim_audit (handle, at, was, became, instance, why)
    SELECT handle, changed_at, 'sending', state, instance, 'gateway ' || gone || ' is gone' FROM orphaned)
  SELECT * FROM orphaned ORDER BY created_at, handle`

/** Runs work in a transaction on one connection. */
export type InTransaction = <T>(work: (client: pg.ClientBase) => Promise<T>) => Promise<T>

type Claimed = Awaited<ReturnType<Claims['claim']>>

/** Creates the claims of the contract on a pool of connections. */
export function createClaims(pool: pg.Pool, inTransaction: InTransaction): Claims {
  const claimNew = createClaim(pool)
  const changeClaim = createChange(pool)

  async function claims(where: string, values: readonly unknown[]): Promise<readonly Claim[]> {
    const { rows } = await pool.query(`SELECT * FROM transload.claims WHERE ${where}`, [...values])
    return rows.map(claimOf)
  }

  async function claimInDoubt(wanted: NewClaim, doubtSince: number): Promise<Claim | undefined> {
    const { rows } = await pool.query(DOUBT_NEW, [...valuesOf(wanted, undefined), doubtSince])
    return rows[0] && claimOf(rows[0])
  }

  /** Takes a key; returns undefined if it cannot be inserted and its claim is not there either. */
  async function claimOnce(wanted: NewClaim): Promise<Claimed | undefined> {
    const { doubtSince } = wanted
    const claim = await (doubtSince === undefined ? claimNew(wanted) : claimInDoubt(wanted, doubtSince))
    if (claim) return { won: true, claim }
    // The key exists, most often with a claim that still holds it.
    const found = await pool.query(
      `SELECT *, transload.now_ms() AS now FROM transload.claims WHERE ${AT_KEY}`,
      keyOf(wanted),
    )
    if (!found.rows[0]) return undefined
    const before = claimOf(found.rows[0])
    if (!isFree(before, Number(found.rows[0].now))) return { won: false, claim: before }
    return inTransaction((client) => claimAgain(client, wanted))
  }

  return {
    async claim(wanted) {
      // The second try is for a key whose claim was pruned during the first.
      const claimed = (await claimOnce(wanted)) ?? (await claimOnce(wanted))
      if (!claimed) throw new WriteRefused(`The handle ${wanted.handle} is taken.`)
      return claimed
    },
    change: (claim, change, names) => changeClaim({ claim, change, names }),
    async findClaim(tenant, key) {
      return (await claims(AT_KEY, [tenant, key]))[0]
    },
    async claimByHandle(handle) {
      return (await claims('handle = $1', [handle]))[0]
    },
    async claimsOfShipment(tenant, shipment) {
      const where = "tenant = $1 AND lower(shipment) = lower($2) AND shipment <> '' ORDER BY created_at, handle"
      return (await claims(where, [tenant, shipment])).filter((claim) => isSameThing(claim.shipment, shipment))
    },
    async listClaims({ state, tenant, limit = LIST_LIMIT, newest = false }) {
      const filters = [
        state === undefined ? [] : [{ column: 'state', value: state }],
        tenant === undefined ? [] : [{ column: 'tenant', value: tenant }],
      ].flat()
      const where = ['true', ...filters.map(({ column }, index) => `${column} = $${index + 2}`)].join(' AND ')
      const order = newest ? 'created_at DESC, handle DESC' : 'created_at, handle'
      return claims(`${where} ORDER BY ${order} LIMIT $1`, [limit, ...filters.map(({ value }) => value)])
    },
    async audit(handle) {
      const { rows } = await pool.query(
        'SELECT at, was, became, instance, why FROM transload.claim_audit WHERE handle = $1 ORDER BY no',
        [handle],
      )
      return rows.map(auditOf)
    },
    async renewLease(instance, maxAgeMs) {
      const { rows } = await pool.query(RENEW_LEASE, [instance, maxAgeMs])
      return rows[0]?.young === true
    },
    async endLease(instance) {
      await pool.query('DELETE FROM transload.instances WHERE instance = $1', [instance])
    },
    async orphanClaims(silentForMs, by) {
      const { rows } = await pool.query(ORPHAN, [silentForMs, by])
      return rows.map(claimOf)
    },
  }
}

/** Takes a key that may be free; locks its row meanwhile. Returns undefined if the row is gone. */
async function claimAgain(client: pg.ClientBase, wanted: NewClaim): Promise<Claimed | undefined> {
  const sql = `SELECT *, transload.now_ms() AS now FROM transload.claims WHERE ${AT_KEY} FOR UPDATE`
  const { rows } = await client.query(sql, keyOf(wanted))
  if (!rows[0]) return undefined
  const before = claimOf(rows[0])
  if (!isFree(before, Number(rows[0].now))) return { won: false, claim: before }
  const { doubtSince } = wanted
  const values = [...valuesOf(wanted, before), before.state]
  const won = await (doubtSince === undefined
    ? client.query(CLAIM_AGAIN, values)
    : client.query(DOUBT_AGAIN, [...values, doubtSince]))
  return { won: true, claim: claimOf(won.rows[0]) }
}

const keyOf = ({ tenant, key }: NewClaim): unknown[] => [tenant, key]

function valuesOf(wanted: NewClaim, before: Claim | undefined): readonly unknown[] {
  const { tenant, key, handle, version, body, instance, reference, vin } = newlyClaimed(wanted, before, 0)
  return [tenant, key, handle, version, body, instance, reference, vin, wanted.expiresInMs ?? null, claimReason(wanted)]
}
