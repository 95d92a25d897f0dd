import type { Claim, ClaimChange, NewClaim } from './store.ts'

/** Tells if an existing claim may be taken again at this time. */
export function isFree(claim: Claim, at: number): boolean {
  switch (claim.state) {
    case 'refused':
    case 'freed':
      return true
    case 'booked':
      return claim.expires !== 0 && claim.expires <= at
    case 'sending':
    case 'unknown':
      return false
  }
}

/** Returns the claim of a winner. Its version follows the one before, and a late change by the former owner fails. */
export function newlyClaimed(wanted: NewClaim, before: Claim | undefined): Claim {
  return {
    tenant: wanted.tenant,
    key: wanted.key,
    handle: wanted.handle,
    state: 'sending',
    version: (before?.version ?? 0) + 1,
    body: wanted.body,
    instance: wanted.instance,
    credential: wanted.credential,
    reference: wanted.reference,
    vin: wanted.vin,
    shipment: '',
    reply: '',
    expires: wanted.expires,
    createdAt: wanted.createdAt,
    changedAt: wanted.createdAt,
  }
}

/** Returns the claim after a change. */
export function changed(claim: Claim, change: ClaimChange): Claim {
  return {
    ...claim,
    state: change.state,
    version: claim.version + 1,
    instance: change.instance,
    shipment: change.shipment ?? claim.shipment,
    reply: change.reply ?? claim.reply,
    expires: change.expires ?? claim.expires,
    changedAt: change.at,
  }
}

/** Returns the change for a claim whose gateway is gone. */
export function orphaning(claim: Claim, by: string, at: number): ClaimChange {
  return { state: 'unknown', instance: by, at, why: `gateway ${claim.instance} is gone` }
}

/** How many claims a list has by default. */
export const LIST_LIMIT = 1_000

/** The reason of a new claim in the audit trail. */
export const CLAIMED = 'claimed'
