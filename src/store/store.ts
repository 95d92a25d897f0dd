/**
 * What the gateway must never lose, and the one contract that every engine keeps.
 *
 * A promise of a write resolves when the write is durable, and not before. Every method rejects with a `StoreDown`
 * while the engine cannot answer; the same call works again once it can.
 */
export interface Store extends Xref, Claims {
  readonly engine: 'memory' | 'sqlite' | 'postgres'
  /** True while the engine answers. */
  ready(): boolean
  close(): Promise<void>
}

/** A quote may be approved or updated; a shipment is what a booking made. */
export type Kind = 'quote' | 'shipment'

/** What a version-1 caller calls a thing, and the service's id for it. One name may stand for several VINs. */
export interface Link {
  readonly tenant: string
  readonly kind: Kind
  readonly name: string
  /** Upper case; empty where the booking had none, and for quotes. */
  readonly vin: string
  readonly id: string
  /** When the name was given to this id, in milliseconds since 1970. */
  readonly at: number
}

/** What is remembered of the thing behind an id. */
export interface Thing {
  readonly tenant: string
  readonly id: string
  /** The caller's own `ShipmentNumber` for it; empty where it has none. */
  readonly own: string
  /** What a later call may lack; null once forgotten. */
  readonly facts: Facts | null
  readonly at: number
}

export type Facts = Readonly<Record<string, string | number>>

/** The durable record from names to ids. */
export interface Xref {
  /**
   * Writes links and things in one durable step. A link with the same tenant, name, kind and VIN is replaced, for what
   * is written last is the newest whatever the clocks of gateways say; its `at` never goes back. A thing with the same
   * tenant and id is replaced.
   */
  put(write: { readonly links: readonly Link[]; readonly thing?: Thing }): Promise<void>
  /** Every link of a name, newest first (ties: later write first). */
  links(tenant: string, name: string): Promise<readonly Link[]>
  thing(tenant: string, id: string): Promise<Thing | undefined>
  /** Drops the facts of things older than this; their links and `own` stay. Returns how many were dropped. */
  forget(olderThan: number): Promise<number>
  /** Writes many links in one durable step; a differing link that exists is left and listed, unless `replace`. */
  load(links: readonly Link[], options: { readonly replace: boolean }): Promise<Loaded>
  /** Every link, in the order of tenant, name, kind, VIN, from after `after`; safe while others write. */
  scan(options: { readonly tenant?: string; readonly after?: LinkKey }): AsyncIterable<readonly Link[]>
}

export type LinkKey = Pick<Link, 'tenant' | 'name' | 'kind' | 'vin'>

export interface Loaded {
  readonly written: number
  /** Links that stood there already with the same id. */
  readonly same: number
  /** What was asked for and what stands there instead. */
  readonly conflicts: readonly { readonly asked: Link; readonly found: Link }[]
}

/** The states of a booking's key. `freed`: canceled or settled as not booked; like `refused`, it may be claimed again. */
export type ClaimState = 'sending' | 'booked' | 'refused' | 'unknown' | 'freed'

/** One booking that was, is or may have been under way. */
export interface Claim {
  readonly tenant: string
  readonly key: string
  /** `bk_` and twelve hex digits: what people call it. Unique. */
  readonly handle: string
  readonly state: ClaimState
  /** Grows by one with every change; what compare-and-set compares. */
  readonly version: number
  /** A hash of the fields, to tell a retry from a different booking. */
  readonly body: string
  /** The gateway instance that made the last change. */
  readonly instance: string
  /** A keyed hash of the credential that claimed it. */
  readonly credential: string
  readonly reference: string
  readonly vin: string
  /** The service's id; empty until booked. */
  readonly shipment: string
  /** What a replay answers, as JSON; empty until booked. */
  readonly reply: string
  /** When a `booked` key counts as none again, in milliseconds since 1970; 0: never. */
  readonly expires: number
  readonly createdAt: number
  readonly changedAt: number
}

/** What a change of a claim may set. */
export type ClaimChange = Pick<Claim, 'state' | 'instance'> &
  Partial<Pick<Claim, 'shipment' | 'reply' | 'expires'>> & {
    readonly at: number
    /** Why, for the audit trail: `answered 201`, `settled by operator`. */
    readonly why: string
  }

export interface AuditEntry {
  readonly at: number
  readonly from: ClaimState | 'none'
  readonly to: ClaimState
  readonly instance: string
  readonly why: string
}

export type NewClaim = Omit<Claim, 'state' | 'version' | 'changedAt' | 'shipment' | 'reply'>

/** Which bookings are under way, made or in doubt. */
export interface Claims {
  /**
   * Takes the key, durably, if it is free: never seen, `refused`, `freed`, or `booked` and expired at `createdAt`.
   * One winner among any number of callers and gateways. The loser gets what stands there.
   */
  claim(wanted: NewClaim): Promise<{ readonly won: boolean; readonly claim: Claim }>
  /** Changes a claim if its version is still this one; undefined if it is not. */
  change(claim: Pick<Claim, 'tenant' | 'key' | 'version'>, change: ClaimChange): Promise<Claim | undefined>
  findClaim(tenant: string, key: string): Promise<Claim | undefined>
  claimByHandle(handle: string): Promise<Claim | undefined>
  claimsOfShipment(tenant: string, shipment: string): Promise<readonly Claim[]>
  /** Claims of a state, oldest first, at most `limit` (1,000 unless told). */
  listClaims(options: {
    readonly state?: ClaimState
    readonly tenant?: string
    readonly limit?: number
  }): Promise<readonly Claim[]>
  audit(handle: string): Promise<readonly AuditEntry[]>
  /** Says that this instance lives. */
  beat(instance: string): Promise<void>
  /** Says that this instance is gone for good: its lease ends now. */
  leave(instance: string): Promise<void>
  /** KeyedMutex the `sending` claims of instances that have been silent for so long into `unknown`; returns them. */
  orphan(silentForMs: number, by: string): Promise<readonly Claim[]>
}

/** The engine cannot answer now. */
export class StoreDown extends Error {
  override readonly name = 'StoreDown'
}

/** The store was made by a newer version of the gateway. */
export class StoreTooNew extends Error {
  override readonly name = 'StoreTooNew'
}
