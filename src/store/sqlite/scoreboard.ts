import type { DatabaseSync } from 'node:sqlite'
import { callCountOf, nameCountOf } from '../rows.ts'
import { boundNames, type CallCount, type CountBatch, DAY_MS, type NameCount, USES_AT_ONCE } from '../scoreboard.ts'

/** How long the number of a process's last batch is kept: a batch is sent again within seconds. */
const BATCHES_KEPT_MS = DAY_MS

/** Prepares the writes of the counts. */
export function createCountWrites(db: DatabaseSync, tenantNumber: (name: string) => number) {
  const lastBatch = db.prepare('SELECT no FROM count_batches WHERE instance = ?')
  const putBatch = db.prepare('INSERT OR REPLACE INTO count_batches VALUES (?, ?, ?)')
  const dropBatches = db.prepare('DELETE FROM count_batches WHERE at < ?')
  const addDay = db.prepare('INSERT OR IGNORE INTO watched_days VALUES (?)')
  const addCalls = db.prepare(`INSERT INTO call_counts VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET calls = calls + excluded.calls`)
  const knownNames = db.prepare('SELECT name FROM name_counts WHERE tenant = ? AND kind = ?')
  const addName = db.prepare(`INSERT INTO name_counts VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count, first_at = min(first_at, excluded.first_at),
    example = iif(excluded.last_at >= last_at, excluded.example, example), last_at = max(last_at, excluded.last_at)`)
  const tenants = db.prepare('SELECT no FROM tenants')
  // Tenant by tenant, because both tables are sorted by tenant: a day alone would read all of a table.
  const dropCalls = db.prepare('DELETE FROM call_counts WHERE tenant = ? AND day < ?')
  const dropNames = db.prepare('DELETE FROM name_counts WHERE tenant = ? AND last_at < ?')
  const dropDays = db.prepare('DELETE FROM watched_days WHERE day < ?')

  const known = (tenant: string, kind: string) =>
    knownNames.all(tenantNumber(tenant), kind).map((row) => String(row['name']))

  return {
    addCounts({ instance, no, days, calls, names }: CountBatch, now: number): void {
      if (no <= Number(lastBatch.get(instance)?.['no'] ?? 0)) return
      putBatch.run(instance, no, now)
      for (const day of days) addDay.run(day)
      for (const { tenant, day, use, action, outcome, calls: more } of calls) {
        addCalls.run(tenantNumber(tenant), day, use, action, outcome, more)
      }
      for (const { tenant, kind, action, name, count, firstAt, lastAt, example } of boundNames(names, known)) {
        addName.run(tenantNumber(tenant), kind, action, name, count, firstAt, lastAt, example)
      }
    },
    dropCounts(beforeDay: number, now: number): void {
      for (const row of tenants.all()) {
        dropCalls.run(Number(row['no']), beforeDay)
        dropNames.run(Number(row['no']), beforeDay * DAY_MS)
      }
      dropDays.run(beforeDay)
      dropBatches.run(now - BATCHES_KEPT_MS)
    },
  }
}

/** Prepares the reads of the counts. */
export function createCountReads(db: DatabaseSync) {
  const ofTenant = 'tenant = (SELECT no FROM tenants WHERE name = ?)'
  const columns = 'kind, action, name, count, first_at, last_at, example'
  const uses = db.prepare(`SELECT t.name AS tenant, ${columns.replace('name', 'c.name')} FROM tenants t
    CROSS JOIN name_counts c ON c.tenant = t.no AND c.kind = 'use'
    WHERE t.name >= ?1 AND (t.name, c.name) > (?1, ?2) ORDER BY t.name, c.name LIMIT ${USES_AT_ONCE}`)
  const calls = db.prepare(`SELECT day, use, action, outcome, calls FROM call_counts WHERE ${ofTenant} AND day >= ?
    ORDER BY day, use, action, outcome`)
  const names = db.prepare(`SELECT ${columns} FROM name_counts WHERE ${ofTenant} ORDER BY kind, action, name`)
  const days = db.prepare('SELECT day FROM watched_days ORDER BY day')
  return {
    countedTenants: ({ tenant, name } = { tenant: '', name: '' }): readonly NameCount[] =>
      uses.all(tenant, name).map((row) => nameCountOf(String(row['tenant']), row)),
    callCounts: (tenant: string, fromDay: number): readonly CallCount[] =>
      calls.all(tenant, fromDay).map((row) => callCountOf(tenant, row)),
    nameCounts: (tenant: string): readonly NameCount[] => names.all(tenant).map((row) => nameCountOf(tenant, row)),
    watchedDays: (): readonly number[] => days.all().map((row) => Number(row['day'])),
  }
}
