import type { DatabaseSync } from 'node:sqlite'
import { isPrunable } from '../claim.ts'
import { type Keepers, staysThing } from '../kept-things.ts'
import { INSTANCE_KEPT_MS, keyOfPlace, type LookedAt, type PrunedTable, placeOf, rowsOf } from '../pruning.ts'
import type { DatabaseRow } from '../rows.ts'
import { DAY_MS } from '../scoreboard.ts'
import type { Claim } from '../store.ts'
import { monotonicMs } from './clock.ts'

/** A row that a step has looked at. */
export interface SeenRow extends LookedAt {
  readonly stays: boolean
  /** The parameters of its deletion. */
  readonly key: readonly (string | number)[]
}

/** Looks at the rows after a place; those from `before` on are too young to go. */
type Look = (after: string | undefined, before: number, now: number) => readonly SeenRow[]

/** Audit entries stand in the order of their times, except where the clock was corrected, by less than this. */
const CLOCK_SLACK_MS = DAY_MS

/** Prepares the part of pruning that reads, for the writing connection and for dry runs. */
export function createPruneLook(db: DatabaseSync): Readonly<Record<PrunedTable, Look>> {
  const claims = db.prepare(`SELECT rowid AS no, created_at, handle, state, changed_at, expires FROM claims
    WHERE (created_at, handle) > (?, ?) AND created_at < ? ORDER BY created_at, handle LIMIT ?`)
  const audit = db.prepare('SELECT no, handle, at FROM claim_audit WHERE no > ? ORDER BY no LIMIT ?')
  const links = db.prepare(`SELECT tenant, name, kind, vin, id, at FROM links
    WHERE (tenant, name, kind, vin) > (?, ?, ?, ?) ORDER BY tenant, name, kind, vin LIMIT ?`)
  const things = db.prepare('SELECT no, tenant, id, at FROM things WHERE no > ? ORDER BY no LIMIT ?')
  const uses = db.prepare(
    'SELECT tenant, name, at FROM uses WHERE (tenant, name) > (?, ?) ORDER BY tenant, name LIMIT ?',
  )
  const instances = db.prepare('SELECT instance, beat_ms FROM instances WHERE instance > ? ORDER BY instance LIMIT ?')

  const use = db.prepare('SELECT 1 FROM uses WHERE tenant = ? AND name = ? AND at >= ?')
  const ofShipment = db.prepare(
    "SELECT state, changed_at, expires FROM claims WHERE tenant = ? AND shipment = ? AND shipment <> ''",
  )
  const ofHandle = db.prepare('SELECT state, changed_at, expires FROM claims WHERE handle = ?')
  const freshThing = db.prepare('SELECT 1 FROM things WHERE tenant = ? AND id = ? AND at >= ?')
  const open = db.prepare("SELECT tenant, reference, created_at FROM claims WHERE state IN ('sending', 'unknown')")

  /** Makes the questions about the rows that keep a link or thing. */
  function questions(before: number, now: number) {
    const stays = (row: DatabaseRow) => !isPrunable(prunableOf(row), before, now)
    let openClaims: readonly DatabaseRow[] | undefined
    const readOpen = () => {
      openClaims ??= open.all()
      return openClaims
    }
    return {
      stays,
      isUsed: (tenant: number, name: string) => use.get(tenant, name, before) !== undefined,
      hasClaim: (tenant: number, id: string) => ofShipment.all(tenant, id).some(stays),
      isReferenceOpen: (tenant: number, name: string) =>
        readOpen().some((claim) => claim['tenant'] === tenant && claim['reference'] === name),
      hasOldOpenClaim: (tenant: number) =>
        readOpen().some((claim) => claim['tenant'] === tenant && Number(claim['created_at']) < before),
    }
  }

  function lookAtLinks(after: string | undefined, before: number, now: number): readonly SeenRow[] {
    const { isUsed, hasClaim, isReferenceOpen } = questions(before, now)
    return links.all(...keyOfPlace(after, [-1, '', -1, '']), rowsOf('links')).map((row) => {
      const [tenant, name, at] = [Number(row['tenant']), String(row['name']), Number(row['at'])]
      const key = [tenant, name, Number(row['kind']), String(row['vin'])]
      const stays =
        at >= before || isUsed(tenant, name) || hasClaim(tenant, String(row['id'])) || isReferenceOpen(tenant, name)
      return { at, place: placeOf(...key), stays, key }
    })
  }

  function lookAtThings(after: string | undefined, before: number, now: number): readonly SeenRow[] {
    const { stays, isUsed, hasClaim, hasOldOpenClaim } = questions(before, now)
    return things.all(...keyOfPlace(after, [-1]), rowsOf('things')).map((row) => {
      const [no, tenant, at] = [Number(row['no']), Number(row['tenant']), Number(row['at'])]
      const keepers: Keepers = {
        isUsed: (name) => isUsed(tenant, name),
        hasClaim: (shipment) => hasClaim(tenant, shipment),
        isClaim: (handle) => ofHandle.all(handle).some(stays),
        isFresh: (id) => freshThing.get(tenant, id, before) !== undefined,
        hasOldOpenClaim: () => hasOldOpenClaim(tenant),
      }
      return { at, place: placeOf(no), stays: at >= before || staysThing(String(row['id']), keepers), key: [no] }
    })
  }

  return {
    claims: (after, before, now) =>
      claims.all(...keyOfPlace(after, [-1, '']), before, rowsOf('claims')).map((row) => {
        const [at, handle] = [Number(row['created_at']), String(row['handle'])]
        const stays = !isPrunable(prunableOf(row), before, now)
        return { at, place: placeOf(at, handle), stays, key: [Number(row['no']), handle] }
      }),
    audit(after, before) {
      const rows = audit.all(...keyOfPlace(after, [-1]), rowsOf('audit')).map((row) => {
        const [no, at] = [Number(row['no']), Number(row['at'])]
        const stays = at >= before || ofHandle.get(String(row['handle'])) !== undefined
        return { at, place: placeOf(no), stays, key: [no] }
      })
      const young = rows.findIndex(({ at }) => at >= before + CLOCK_SLACK_MS)
      return young === -1 ? rows : rows.slice(0, young)
    },
    links: lookAtLinks,
    things: lookAtThings,
    uses: (after, before) =>
      uses.all(...keyOfPlace(after, [-1, '']), rowsOf('uses')).map((row) => {
        const at = Number(row['at'])
        const key = [Number(row['tenant']), String(row['name'])]
        return { at, place: placeOf(...key), stays: at >= before, key }
      }),
    instances: (after, _, now) =>
      instances.all(...keyOfPlace(after, ['']), rowsOf('instances')).map((row) => {
        const key = [String(row['instance'])]
        // A renewal in the future was made before the last boot.
        const age = monotonicMs() - Number(row['beat_ms'])
        return { at: now - age, place: placeOf(...key), stays: age >= 0 && age < INSTANCE_KEPT_MS, key }
      }),
  }
}

function prunableOf(row: DatabaseRow): Parameters<typeof isPrunable>[0] {
  return {
    // Only states are ever written to this column.
    state: String(row['state']) as Claim['state'],
    changedAt: Number(row['changed_at']),
    expires: Number(row['expires']),
  }
}
