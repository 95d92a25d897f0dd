import type { AuditEntry, Claim, ClaimState, Facts, Kind, Link, Thing } from './store.ts'

/** A row as a driver gives it. Only this program writes the tables, so what it reads there is what it wrote. */
export type Row = Readonly<Record<string, unknown>>

/** The link of a row whose tenant, name and kind are known. */
export function linkOf(tenant: string, name: string, kind: Kind, row: Row): Link {
  return {
    tenant,
    kind,
    name,
    vin: String(row['vin']),
    id: String(row['id']),
    at: Number(row['at']),
  }
}

/** The thing of a row whose tenant and id are known. */
export function thingOf(tenant: string, id: string, row: Row): Thing {
  return { tenant, id, own: String(row['own']), facts: factsOf(row['facts']), at: Number(row['at']) }
}

/** Facts stand as JSON, in which text is sound whatever it says. */
function factsOf(value: unknown): Facts | null {
  return typeof value === 'string' ? JSON.parse(value) : null
}

/** The claim of a row with all of a claim's columns and the tenant's name. */
export function claimOf(row: Row): Claim {
  return {
    tenant: String(row['tenant']),
    key: String(row['key']),
    handle: String(row['handle']),
    state: stateOf(row['state']),
    version: Number(row['version']),
    body: String(row['body']),
    instance: String(row['instance']),
    credential: String(row['credential']),
    reference: String(row['reference']),
    vin: String(row['vin']),
    shipment: String(row['shipment']),
    reply: String(row['reply']),
    expires: Number(row['expires']),
    createdAt: Number(row['created_at']),
    changedAt: Number(row['changed_at']),
  }
}

/** The entry of an audit row. */
export function auditOf(row: Row): AuditEntry {
  return {
    at: Number(row['at']),
    from: row['was'] === 'none' ? 'none' : stateOf(row['was']),
    to: stateOf(row['became']),
    instance: String(row['instance']),
    why: String(row['why']),
  }
}

function stateOf(value: unknown): ClaimState {
  // Nothing but states is ever written to such a column.
  return String(value) as ClaimState
}
