import type { DatabaseSync } from 'node:sqlite'
import { changed, claimReason, isFree, newlyClaimed, orphaning } from '../claim.ts'
import { isAlive } from '../instance.ts'
import { claimOf } from '../rows.ts'
import type {
  AuditEntry,
  Claim,
  ClaimChange,
  Claims,
  Link,
  LinkToId,
  LoadResult,
  NewClaim,
  NewLink,
  XrefWrite,
} from '../store.ts'
import { monotonicMs } from './clock.ts'
import { createDoubtWrites } from './doubts.ts'
import { createEventWrites } from './event-writes.ts'
import { createPruneWrites } from './pruning.ts'
import { kindNumber, SELECT_CLAIM } from './schema.ts'
import { createCountWrites } from './scoreboard.ts'

/** The most things that one `forget` call handles, to leave room for other writes in between. */
export const FORGET_BATCH = 200

/** The most tenants whose numbers are kept in memory. */
const MAX_TENANT_NUMBERS = 10_000

/** The writes of a connection, by the time of the store; the caller begins and ends the transaction. */
export type Writes = ReturnType<typeof createWrites>

/** Prepares every write of the contract on a connection. */
export function createWrites(db: DatabaseSync) {
  const tenantNumbers = new Map<string, number>()
  const findTenant = db.prepare('SELECT no FROM tenants WHERE name = ?')
  const addTenant = db.prepare('INSERT INTO tenants (name) VALUES (?) RETURNING no')

  const nextTurn = '(SELECT coalesce(max(turn) + 1, 0) FROM links WHERE tenant = ?1 AND name = ?2)'
  const addLink = `INSERT INTO links (tenant, name, kind, vin, id, at, turn) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ${nextTurn})
    ON CONFLICT DO UPDATE SET id = excluded.id, turn = excluded.turn, at =`
  const putLink = db.prepare(`${addLink} max(excluded.at, links.at)`)
  const replaceLink = db.prepare(`${addLink} excluded.at`)
  const findLink = db.prepare('SELECT id, at FROM links WHERE tenant = ? AND name = ? AND kind = ? AND vin = ?')
  const dropLink = db.prepare('DELETE FROM links WHERE tenant = ? AND name = ? AND kind = ? AND vin = ? AND id = ?')
  const putThing = db.prepare(`INSERT INTO things (tenant, id, own, facts, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, id) DO UPDATE SET own = excluded.own, facts = excluded.facts, at = excluded.at`)
  const forgetSome = db.prepare(`UPDATE things SET facts = NULL WHERE no IN
    (SELECT no FROM things WHERE facts IS NOT NULL AND at < ? LIMIT ${FORGET_BATCH})`)

  const findClaim = db.prepare(`${SELECT_CLAIM} WHERE c.tenant = ? AND c.key = ?`)
  const orphans = db.prepare(`${SELECT_CLAIM} WHERE c.state = 'sending' AND c.instance NOT IN
    (SELECT instance FROM instances WHERE beat_ms > ? AND beat_ms <= ?) ORDER BY c.created_at, c.handle`)
  const putClaim = db.prepare(`INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, key) DO UPDATE SET handle = excluded.handle, state = excluded.state,
    version = excluded.version, body = excluded.body, instance = excluded.instance,
    reference = excluded.reference, vin = excluded.vin, shipment = excluded.shipment, reply = excluded.reply,
    expires = excluded.expires, created_at = excluded.created_at, changed_at = excluded.changed_at`)
  // Only what changes: each further column would be written again in its index.
  const updateClaim = db.prepare(`UPDATE claims SET state = ?, version = ?, instance = ?, shipment = ?, reply = ?,
    expires = ?, changed_at = ? WHERE tenant = ? AND key = ?`)
  const addAudit = db.prepare(
    'INSERT INTO claim_audit (handle, at, was, became, instance, why) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const findLease = db.prepare('SELECT beat_ms FROM instances WHERE instance = ?')
  const putLease = db.prepare('INSERT OR REPLACE INTO instances VALUES (?, ?)')
  const dropLease = db.prepare('DELETE FROM instances WHERE instance = ?')
  const findLock = db.prepare('SELECT holder, until_ms FROM locks WHERE key = ?')
  const putLock = db.prepare('INSERT OR REPLACE INTO locks VALUES (?, ?, ?)')
  const dropLock = db.prepare('DELETE FROM locks WHERE key = ? AND holder = ?')
  const dropExpiredLocks = db.prepare('DELETE FROM locks WHERE until_ms <= ?')

  function tenantNumber(name: string): number {
    const known = tenantNumbers.get(name)
    if (known !== undefined) return known
    const row = findTenant.get(name) ?? addTenant.get(name)
    const no = Number(row?.['no'])
    if (tenantNumbers.size >= MAX_TENANT_NUMBERS) tenantNumbers.clear()
    tenantNumbers.set(name, no)
    return no
  }

  function claimAt(tenant: string, key: string): Claim | undefined {
    const row = findClaim.get(tenantNumber(tenant), key)
    return row && claimOf(row)
  }

  function record(claim: Claim, from: AuditEntry['from'], why: string): Claim {
    const { handle, state, version, body, instance, reference, vin, shipment, reply } = claim
    const { expires, createdAt, changedAt } = claim
    const text = [state, version, body, instance, reference, vin, shipment, reply]
    putClaim.run(tenantNumber(claim.tenant), claim.key, handle, ...text, expires, createdAt, changedAt)
    addAudit.run(handle, changedAt, from, state, instance, why)
    return claim
  }

  function update(before: Claim, change: ClaimChange, now: number): Claim {
    const claim = changed(before, change, now)
    const { tenant, key, handle, state, version, instance, shipment, reply, expires } = claim
    updateClaim.run(state, version, instance, shipment, reply, expires, now, tenantNumber(tenant), key)
    addAudit.run(handle, now, before.state, state, instance, change.why)
    return claim
  }

  function put({ links, thing }: XrefWrite, now: number): void {
    for (const link of links) {
      const { tenant, name, vin, id, at = now } = link
      putLink.run(tenantNumber(tenant), name, kindNumber(link), vin, id, at)
    }
    if (!thing) return
    const facts = thing.facts && JSON.stringify(thing.facts)
    putThing.run(tenantNumber(thing.tenant), thing.id, thing.own, facts, now)
  }

  function loadOne(asked: NewLink, replace: boolean, now: number): Link | 'same' | 'written' {
    const tenant = tenantNumber(asked.tenant)
    const kind = kindNumber(asked)
    const row = findLink.get(tenant, asked.name, kind, asked.vin)
    if (row?.['id'] === asked.id) return 'same'
    if (row && !replace) return { ...asked, id: String(row['id']), at: Number(row['at']) }
    replaceLink.run(tenant, asked.name, kind, asked.vin, asked.id, asked.at ?? now)
    return 'written'
  }

  return {
    ...createCountWrites(db, tenantNumber),
    ...createDoubtWrites(db),
    ...createEventWrites(db, tenantNumber),
    ...createPruneWrites(db, tenantNumber),
    put,
    unlink(links: readonly LinkToId[]): number {
      let dropped = 0
      for (const link of links) {
        const { tenant, name, vin, id } = link
        dropped += Number(dropLink.run(tenantNumber(tenant), name, kindNumber(link), vin, id).changes)
      }
      return dropped
    },
    load(links: readonly NewLink[], { replace }: { readonly replace: boolean }, now: number): LoadResult {
      const conflicts: { asked: NewLink; found: Link }[] = []
      let same = 0
      for (const asked of links) {
        const outcome = loadOne(asked, replace, now)
        if (outcome === 'same') same += 1
        else if (outcome !== 'written') conflicts.push({ asked, found: outcome })
      }
      return { written: links.length - same - conflicts.length, same, conflicts }
    },
    /** Handles one batch; a result below the batch size means that none are left. */
    forget(olderThanMs: number, now: number): number {
      dropExpiredLocks.run(monotonicMs())
      return Number(forgetSome.run(now - olderThanMs).changes)
    },

    claim(wanted: NewClaim, now: number): Awaited<ReturnType<Claims['claim']>> {
      const before = claimAt(wanted.tenant, wanted.key)
      if (before && !isFree(before, now)) return { won: false, claim: before }
      return {
        won: true,
        claim: record(newlyClaimed(wanted, before, now), before?.state ?? 'none', claimReason(wanted)),
      }
    },
    change(
      claim: Pick<Claim, 'tenant' | 'key' | 'version'>,
      change: ClaimChange,
      names: XrefWrite | null,
      now: number,
    ): Claim | undefined {
      if (names) put(names, now)
      const before = claimAt(claim.tenant, claim.key)
      return before?.version === claim.version ? update(before, change, now) : undefined
    },
    renewLease(instance: string, maxAgeMs: number): boolean {
      const now = monotonicMs()
      const age = now - Number(findLease.get(instance)?.['beat_ms'])
      putLease.run(instance, now)
      return age >= 0 && age < maxAgeMs
    },
    endLease(instance: string): void {
      dropLease.run(instance)
    },
    orphanClaims(silentForMs: number, by: string, now: number): readonly Claim[] {
      const bootTime = monotonicMs()
      const gone = orphans.all(bootTime - silentForMs, bootTime).map(claimOf)
      return gone.map((claim) => update(claim, orphaning(claim, by), now))
    },
    takeLock(key: string, holder: string, leaseMs: number): boolean {
      const now = monotonicMs()
      const row = findLock.get(key)
      if (row && row['holder'] !== holder && isLocked(Number(row['until_ms']) - now, leaseMs, String(row['holder']))) {
        return false
      }
      putLock.run(key, holder, now + leaseMs)
      return true
    },
    dropLock(key: string, holder: string): void {
      dropLock.run(key, holder)
    },
    /** To be called after a rollback, which may have undone the insert of a tenant. */
    clearTenantNumbers(): void {
      tenantNumbers.clear()
    },
  }
}

/** Tells if a lock is in force: one that lasts longer than a lease was taken before the last boot. */
function isLocked(leftMs: number, leaseMs: number, holder: string): boolean {
  return leftMs > 0 && leftMs <= leaseMs && isAlive(holder)
}
