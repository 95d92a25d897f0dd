import type { Doubt } from './doubt.ts'
import type { CallbackFormat, EndpointState, EventState, OpenEvents, StoredEvent } from './events.ts'
import { PRUNED_TABLES, type PruneRound, type TableSize } from './pruning.ts'
import type { CallCount, NameCount, NameKind, Use } from './scoreboard.ts'
import type { AuditEntry, Claim, ClaimState, Facts, Link, Thing } from './store.ts'

/** A row as a driver returns it. Only this program writes the tables, and their values have the types that it wrote. */
export type DatabaseRow = Readonly<Record<string, unknown>>

/** Returns the link in a row whose tenant, name, kind and giver are known. */
export function linkOf(
  tenant: string,
  name: string,
  { kind, givenBy }: Pick<Link, 'kind' | 'givenBy'>,
  row: DatabaseRow,
): Link {
  return {
    tenant,
    kind,
    name,
    givenBy,
    vin: String(row['vin']),
    id: String(row['id']),
    at: Number(row['at']),
  }
}

/** Returns the thing in a row whose tenant and id are known. */
export function thingOf(tenant: string, id: string, row: DatabaseRow): Thing {
  return { tenant, id, own: String(row['own']), facts: factsOf(row['facts']), at: Number(row['at']) }
}

/** Facts are stored as JSON, which escapes unstorable text. */
function factsOf(value: unknown): Facts | null {
  return typeof value === 'string' ? JSON.parse(value) : null
}

/** Returns the claim in a row with all columns of a claim and the name of its tenant. */
export function claimOf(row: DatabaseRow): Claim {
  return {
    tenant: String(row['tenant']),
    key: String(row['key']),
    handle: String(row['handle']),
    state: stateOf(row['state']),
    version: Number(row['version']),
    body: String(row['body']),
    instance: String(row['instance']),
    reference: String(row['reference']),
    vin: String(row['vin']),
    shipment: String(row['shipment']),
    reply: String(row['reply']),
    expires: Number(row['expires']),
    createdAt: Number(row['created_at']),
    changedAt: Number(row['changed_at']),
  }
}

/** Returns the entry in an audit row. */
export function auditOf(row: DatabaseRow): AuditEntry {
  return {
    at: Number(row['at']),
    from: row['was'] === 'none' ? 'none' : stateOf(row['was']),
    to: stateOf(row['became']),
    instance: String(row['instance']),
    why: String(row['why']),
  }
}

/** Returns the doubt in a row. */
export function doubtOf(row: DatabaseRow): Doubt {
  return { since: Number(row['since']), declaredAt: Number(row['declared_at']), until: Number(row['until']) }
}

/** Returns the count in a row whose tenant is known. */
export function callCountOf(tenant: string, row: DatabaseRow): CallCount {
  return {
    tenant,
    day: Number(row['day']),
    // Only uses are ever written to this column.
    use: String(row['use']) as Use,
    action: String(row['action']),
    outcome: String(row['outcome']),
    calls: Number(row['calls']),
  }
}

/** Returns the count in a row whose tenant is known. */
export function nameCountOf(tenant: string, row: DatabaseRow): NameCount {
  return {
    tenant,
    // Only kinds are ever written to this column.
    kind: String(row['kind']) as NameKind,
    action: String(row['action']),
    name: String(row['name']),
    count: Number(row['count']),
    firstAt: Number(row['first_at']),
    lastAt: Number(row['last_at']),
    example: String(row['example']),
  }
}

/** Returns the event in a row with all columns of an event and the name of its tenant. */
export function eventOf(row: DatabaseRow): StoredEvent {
  const text = row['body']
  return {
    tenant: String(row['tenant']),
    shipment: String(row['shipment']),
    event: String(row['event']),
    date: String(row['date']),
    digest: String(row['digest']),
    payload: String(row['payload']),
    id: String(row['id']),
    no: Number(row['no']),
    receivedAt: Number(row['received_at']),
    // Only states and formats are ever written to these columns.
    state: String(row['state']) as EventState,
    version: Number(row['version']),
    failures: Number(row['failures']),
    retryAt: Number(row['retry_at']),
    changedAt: Number(row['changed_at']),
    outcome: String(row['outcome']),
    body: typeof text === 'string' ? { text, format: String(row['format']) as CallbackFormat } : undefined,
  }
}

/** Returns the endpoint in a row with the name of its tenant. */
export function endpointOf(row: DatabaseRow): EndpointState {
  return {
    tenant: String(row['tenant']),
    stopped: Number(row['stopped']) === 1,
    pausedUntil: Number(row['paused_until']),
    changedAt: Number(row['changed_at']),
  }
}

/** Returns the count in a row of open events. */
export function openEventsOf(row: DatabaseRow): OpenEvents {
  const state = row['state'] === 'due' ? 'due' : 'parked'
  return { tenant: String(row['tenant']), state, count: Number(row['count']), oldest: Number(row['oldest']) }
}

/** Returns the round in a row of pruning. */
export function pruneRoundOf(row: DatabaseRow): PruneRound {
  return {
    table: PRUNED_TABLES.find((table) => table === row['name']) ?? 'uses',
    endedAt: Number(row['ended_at']),
    rows: Number(row['row_count']),
    oldest: row['oldest'] === null ? undefined : Number(row['oldest']),
  }
}

/** Returns the sizes of the tables that only a round of pruning counts. */
export function sampledSize(rounds: readonly PruneRound[]): readonly TableSize[] {
  return rounds.flatMap(({ table, rows, oldest }) =>
    table === 'links' || table === 'things' ? [{ table, rows, oldest }] : [],
  )
}

function stateOf(value: unknown): ClaimState {
  // Only states are ever written to this column.
  return String(value) as ClaimState
}
