import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { linksKey, thingKey } from '../cache.ts'
import {
  endOfStep,
  type PrunedTable,
  type PruneRound,
  type PruneStep,
  type PruneStepEnd,
  type Pruning,
  rowsOf,
  type StoreSize,
} from '../pruning.ts'
import { pruneRoundOf, sampledSize } from '../rows.ts'
import type { Reader } from './cache.ts'
import { createPruneLook, type SeenRow } from './prune-look.ts'
import type { Writer } from './writer.ts'

/** The end of a step at the writing thread, with the cache keys of the rows that it deleted. */
export interface PruneWritten extends PruneStepEnd {
  readonly dropped: readonly string[]
}

/** Prepares the writes of pruning on a connection; the caller begins and ends the transaction. */
export function createPruneWrites(db: DatabaseSync, tenantNumber: (name: string) => number) {
  const look = createPruneLook(db)
  const dropClaim = db.prepare('DELETE FROM claims WHERE rowid = ?')
  const dropAudit = db.prepare('DELETE FROM claim_audit WHERE handle = ?')
  const dropEntry = db.prepare('DELETE FROM claim_audit WHERE no = ?')
  const dropLink = db.prepare(`DELETE FROM links WHERE tenant = ? AND name = ? AND kind = ? AND vin = ?
    RETURNING (SELECT name FROM tenants WHERE no = tenant) AS tenant, name`)
  const dropThing = db.prepare(`DELETE FROM things WHERE no = ?
    RETURNING (SELECT name FROM tenants WHERE no = tenant) AS tenant, id`)
  const dropUse = db.prepare('DELETE FROM uses WHERE tenant = ? AND name = ?')
  const dropInstance = db.prepare('DELETE FROM instances WHERE instance = ?')
  const putUse = db.prepare('INSERT INTO uses VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)')
  const putRound = db.prepare(
    'INSERT OR REPLACE INTO prune_rounds (name, ended_at, row_count, oldest) VALUES (?, ?, ?, ?)',
  )

  /** Deletes a row; returns its cache key, if rows of the table are cached. */
  const drop: Readonly<Record<PrunedTable, (key: SeenRow['key']) => string | undefined>> = {
    claims([no = 0, handle = '']) {
      dropClaim.run(no)
      dropAudit.run(handle)
      return undefined
    },
    audit: (key) => void dropEntry.run(...key),
    links(key) {
      const row = dropLink.get(...key)
      return linksKey(String(row?.['tenant']), String(row?.['name']))
    },
    things(key) {
      const row = dropThing.get(...key)
      return thingKey(String(row?.['tenant']), String(row?.['id']))
    },
    uses: (key) => void dropUse.run(...key),
    instances: (key) => void dropInstance.run(...key),
  }

  return {
    noteUses(tenant: string, names: readonly string[], now: number): void {
      const no = tenantNumber(tenant)
      for (const name of names) putUse.run(no, name, now)
    },
    prune({ table, after, olderThanMs }: PruneStep, now: number): PruneWritten {
      const seen = look[table](after, now - olderThanMs, now)
      const stay = seen.filter(({ stays }) => stays)
      const dropped = seen.flatMap((row) => (row.stays ? [] : (drop[table](row.key) ?? [])))
      return { ...endOfStep(seen, stay, rowsOf(table)), dropped }
    },
    endRound({ table, rows, oldest }: Omit<PruneRound, 'endedAt'>, now: number): void {
      putRound.run(table, now, rows, oldest ?? null)
    },
  }
}

/** Prepares the reads of pruning on a connection. */
export function openPruneReads(db: DatabaseSync) {
  const look = createPruneLook(db)
  const rounds = db.prepare('SELECT name, ended_at, row_count, oldest FROM prune_rounds')
  const pages = db.prepare(`SELECT page_count * page_size AS bytes, freelist_count * page_size AS free
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size`)
  // Rows get ascending numbers and go in the same order, so their number is about the difference.
  const claims = db.prepare('SELECT coalesce(max(rowid) - min(rowid) + 1, 0) AS rows FROM claims')
  const oldestClaim = db.prepare('SELECT created_at AS oldest FROM claims ORDER BY created_at LIMIT 1')
  const events = db.prepare('SELECT coalesce(max(no) - min(no) + 1, 0) AS rows FROM events')
  const oldestEvent = db.prepare('SELECT received_at AS oldest FROM events ORDER BY no LIMIT 1')

  const readRounds = (): readonly PruneRound[] => rounds.all().map(pruneRoundOf)
  return {
    pruneRounds: readRounds,
    lookForPruning({ table, after, olderThanMs }: PruneStep, now: number): PruneStepEnd {
      const seen = look[table](after, now - olderThanMs, now)
      return endOfStep(
        seen,
        seen.filter(({ stays }) => stays),
        rowsOf(table),
      )
    },
    size(logBytes: number): StoreSize {
      const { bytes, free } = pages.get() ?? {}
      return {
        bytes: Number(bytes) + logBytes,
        freeBytes: Number(free),
        tables: [
          { table: 'claims', rows: Number(claims.get()?.['rows']), oldest: optional(oldestClaim.get()?.['oldest']) },
          { table: 'events', rows: Number(events.get()?.['rows']), oldest: optional(oldestEvent.get()?.['oldest']) },
          ...sampledSize(readRounds()),
        ],
      }
    },
  }
}

const optional = (value: unknown): number | undefined => (value === undefined ? undefined : Number(value))

/** Creates the pruning of the contract: steps go to the writing thread, dry runs and figures are read in this one. */
export function createPruning({ read }: Reader, { call, step }: Writer, path: string, now: () => number): Pruning {
  const logBytes = () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return {
    noteUses: (tenant, names) => call('noteUses', tenant, names, now()),
    async prune(asked) {
      if (asked.dryRun) return read((reads) => reads.lookForPruning(asked, now()))
      const { looked, pruned, oldest, next } = await step('prune', asked, now())
      // A message between the threads has no undefined values.
      return { looked, pruned, oldest, next }
    },
    endRound: (round) => step('endRound', round, now()),
    rounds: async () => read((reads) => reads.pruneRounds()),
    size: async () => read((reads) => reads.size(logBytes())),
  }
}
