import { DatabaseSync } from 'node:sqlite'
import { isSameThing } from '../../text/service-text.ts'
import { LIST_LIMIT } from '../claim.ts'
import { auditOf, claimOf, type DatabaseRow, linkOf, thingOf } from '../rows.ts'
import type { AuditEntry, Claim, Claims, Link, LinkKey, Thing } from '../store.ts'
import { openDoubtReads } from './doubts.ts'
import { openEventReads } from './event-reads.ts'
import { openPruneReads } from './pruning.ts'
import { kindNumber, kindOf, SELECT_CLAIM, SERVICE_KINDS } from './schema.ts'
import { createCountReads } from './scoreboard.ts'

const CACHE_KIB = 2_048
/** A reader waits only during recovery after a crash, and blocks the event loop meanwhile. */
const BUSY_TIMEOUT_MS = 250
/** The number of links in a page of a scan: about a millisecond of the event loop. */
export const SCAN_PAGE = 1_000

const NEWEST_FIRST = 'ORDER BY c.created_at DESC, c.handle DESC'

/** The reads of a connection. */
export type Reads = ReturnType<typeof openReads>

/** Opens a read-only connection and prepares every read of the contract. */
export function openReads(path: string) {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  const ofTenant = 'tenant = (SELECT no FROM tenants WHERE name = ?)'
  const dataVersion = db.prepare('PRAGMA data_version')
  const cacheVersion = db.prepare('SELECT commits FROM change_counter')
  const links = db.prepare(
    `SELECT kind, vin, id, at FROM links WHERE ${ofTenant} AND name = ? ORDER BY kind >= ${SERVICE_KINDS}, at DESC, turn DESC`,
  )
  const thing = db.prepare(`SELECT own, facts, at FROM things WHERE ${ofTenant} AND id = ?`)
  const firstTenant = db.prepare('SELECT no, name FROM tenants ORDER BY name LIMIT 1')
  const nextTenant = db.prepare('SELECT no, name FROM tenants WHERE name > ? ORDER BY name LIMIT 1')
  const tenant = db.prepare('SELECT no FROM tenants WHERE name = ?')
  const page = db.prepare(`SELECT name, kind, vin, id, at FROM links
    WHERE tenant = ? AND (name, kind, vin) > (?, ?, ?) ORDER BY name, kind, vin LIMIT ?`)

  const inOrder = 'ORDER BY c.created_at, c.handle'
  const claimAt = db.prepare(`${SELECT_CLAIM} WHERE c.${ofTenant} AND c.key = ?`)
  const claimByHandle = db.prepare(`${SELECT_CLAIM} WHERE c.handle = ?`)
  const claimsOfShipment = db.prepare(
    `${SELECT_CLAIM} WHERE c.${ofTenant} AND lower(c.shipment) = lower(?) AND c.shipment <> '' ${inOrder}`,
  )
  const audit = db.prepare('SELECT at, was, became, instance, why FROM claim_audit WHERE handle = ? ORDER BY no')

  return {
    ...createCountReads(db),
    ...openDoubtReads(db),
    ...openEventReads(db),
    ...openPruneReads(db),
    /** Changes when another connection has committed since the last call; costs no I/O. */
    dataVersion: (): unknown => dataVersion.get()?.['data_version'],
    /** Returns how many commits have changed links or things. */
    cacheVersion: (): number => Number(cacheVersion.get()?.['commits']),
    links: (tenant: string, name: string): readonly Link[] =>
      links.all(tenant, name).map((row) => linkOf(tenant, name, kindOf(row['kind']), row)),
    thing(tenant: string, id: string): Thing | undefined {
      const row = thing.get(tenant, id)
      return row && thingOf(tenant, id, row)
    },

    tenantNo: (name: string): number | undefined => optionalNumber(tenant.get(name)?.['no']),
    tenantAfter(name: string | undefined): { no: number; name: string } | undefined {
      const row = name === undefined ? firstTenant.get() : nextTenant.get(name)
      return row && { no: Number(row['no']), name: String(row['name']) }
    },
    page: (no: number, tenant: string, after: LinkKey | undefined, limit: number): readonly Link[] =>
      // No link has the kind -1: without `after`, the page begins with the first link, even one with an empty name.
      page
        .all(no, after?.name ?? '', after ? kindNumber(after) : -1, after?.vin ?? '', limit)
        .map((row) => linkOf(tenant, String(row['name']), kindOf(row['kind']), row)),

    findClaim: (tenant: string, key: string): Claim | undefined => optionalClaim(claimAt.get(tenant, key)),
    claimByHandle: (handle: string): Claim | undefined => optionalClaim(claimByHandle.get(handle)),
    claimsOfShipment: (tenant: string, shipment: string): readonly Claim[] =>
      claimsOfShipment
        .all(tenant, shipment)
        .map(claimOf)
        .filter((claim) => isSameThing(claim.shipment, shipment)),
    listClaims({
      state,
      tenant,
      limit = LIST_LIMIT,
      newest = false,
    }: Parameters<Claims['listClaims']>[0]): readonly Claim[] {
      const filters = [
        ...(state === undefined ? [] : ['c.state = ?']),
        ...(tenant === undefined ? [] : [`c.${ofTenant}`]),
      ]
      const where = filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`
      const values = [state, tenant].filter((value) => value !== undefined)
      return db
        .prepare(`${SELECT_CLAIM} ${where} ${newest ? NEWEST_FIRST : inOrder} LIMIT ?`)
        .all(...values, limit)
        .map(claimOf)
    },
    audit: (handle: string): readonly AuditEntry[] => audit.all(handle).map(auditOf),
    close: (): void => db.close(),
  }
}

function optionalClaim(row: DatabaseRow | undefined): Claim | undefined {
  return row && claimOf(row)
}

function optionalNumber(value: unknown): number | undefined {
  return value === undefined ? undefined : Number(value)
}
