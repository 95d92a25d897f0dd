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
    default:
      return claim.state satisfies never
  }
}

/** Tells if a claim is finished and has not changed since `before`: its key is free, or no call asks for it again. */
export function isPrunable(
  claim: Pick<Claim, 'state' | 'changedAt' | 'expires'>,
  before: number,
  now: number,
): boolean {
  return !isOpen(claim) && claim.changedAt < before && claim.expires <= now
}

/** Tells if the outcome of a claim is not settled. */
export const isOpen = ({ state }: Pick<Claim, 'state'>): boolean => state === 'sending' || state === 'unknown'

/**
 * Returns the claim of a winner. Its version follows the one before, and a late change by the former owner fails. A booking in
 * doubt counts as old as the doubt: then its shipment is not taken for one that existed before.
 */
export function newlyClaimed(wanted: NewClaim, before: Claim | undefined, at: number): Claim {
  const { expiresInMs, doubtSince, ...given } = wanted
  const createdAt = doubtSince ?? at
  return {
    ...given,
    state: doubtSince === undefined ? 'sending' : 'unknown',
    version: (before?.version ?? 0) + 1,
    shipment: '',
    reply: '',
    expires: expiresInMs === undefined ? 0 : createdAt + expiresInMs,
    createdAt,
    changedAt: at,
  }
}

/**
 * Returns the claim after a change. Its time begins once it is booked: one that an operator settles later is answered to
 * the caller's next attempt, too.
 */
export function changed(claim: Claim, change: ClaimChange, at: number): Claim {
  const lastsMs = claim.expires - (claim.state === 'booked' ? claim.changedAt : claim.createdAt)
  return {
    ...claim,
    state: change.state,
    version: claim.version + 1,
    instance: change.instance,
    shipment: change.shipment ?? claim.shipment,
    reply: change.reply ?? claim.reply,
    expires: claim.expires === 0 ? 0 : lastsMs + (change.state === 'booked' ? at : claim.createdAt),
    changedAt: at,
  }
}

/** Returns the change for a claim whose gateway is gone. */
export function orphaning(claim: Claim, by: string): ClaimChange {
  return { state: 'unknown', instance: by, why: `gateway ${claim.instance} is gone` }
}

/** The default number of claims in a list. */
export const LIST_LIMIT = 1_000

/** Returns the reason of a new claim, for the audit trail. */
export function claimReason({ doubtSince }: Pick<NewClaim, 'doubtSince'>): string {
  return doubtSince === undefined ? 'claimed' : 'may have been booked before the store was restored'
}
