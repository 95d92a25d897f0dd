import type { CopyReads, CopyWrites } from './copy.ts'
import type { Doubts } from './doubt.ts'
import type { Events } from './events.ts'
import type { Pruning } from './pruning.ts'
import type { Scoreboard } from './scoreboard.ts'

/**
 * The gateway's durable state, and the contract that every engine keeps.
 *
 * The promise of a write resolves when the write is durable, and not before. Every method rejects with `StoreDown`
 * while the engine cannot answer, and works again once it can. The engine sets every time that it stores, by a clock that
 * all gateways of the store share: PostgreSQL's own, or the machine's.
 */
export interface Store extends Xref, Claims, Locks, Events, Scoreboard, Doubts, Pruning, CopyReads, CopyWrites {
  readonly engine: 'memory' | 'sqlite' | 'postgres'
  /** True while the engine answers. */
  ready(): boolean
  /** Returns the time by the store's clock, in milliseconds since 1970. */
  now(): number
  close(): Promise<void>
}

/** A quote can be approved or updated; a shipment is the result of a booking. */
export type Kind = 'quote' | 'shipment'

/** The origin of a name: the caller's own, such as a `ReferenceNumber`, or the service's, such as its `number`. */
export type GivenBy = 'caller' | 'service'

/** A name that a version-1 caller uses, and the service's id for it. One name may stand for several VINs. */
export interface Link {
  readonly tenant: string
  readonly kind: Kind
  readonly name: string
  /** Upper case; empty for quotes, and for bookings without one. */
  readonly vin: string
  readonly id: string
  readonly givenBy: GivenBy
  /** When the name was given to this id, in milliseconds since 1970. */
  readonly at: number
}

/** A link that is to be written. */
export type NewLink = Omit<Link, 'at'> & {
  /**
   * The time of another link, or one from an import.
   * @default the time of the write
   */
  readonly at?: number | undefined
}

/** The remembered data of a quote or shipment. */
export interface Thing {
  readonly tenant: string
  readonly id: string
  /** The caller's own `ShipmentNumber` for it; empty if it has none. */
  readonly own: string
  /** Data that a later call may lack; null once forgotten. */
  readonly facts: Facts | null
  /** When it was written, in milliseconds since 1970. */
  readonly at: number
}

/** A link, and what is remembered of its id. */
export interface Named extends Link {
  readonly thing: Omit<Thing, 'tenant' | 'id'> | undefined
}

/** A thing that is to be written. */
export type NewThing = Omit<Thing, 'at'>

export type Facts = Readonly<Record<string, string | number>>

/** Links, and a thing, that are written together. */
export interface XrefWrite {
  readonly links: readonly NewLink[]
  readonly thing?: NewThing
}

/** Reads of the record of names. */
export interface NameReads {
  /** Returns every link of a name: the caller's own names first, then the newest first, then the later write first. */
  links(tenant: string, name: string): Promise<readonly Link[]>
  /**
   * Returns the links of a name in the same order, with what is remembered of their ids; for a name that has none, those in
   * another case of its letters, a thousand at most.
   */
  named(tenant: string, name: string): Promise<readonly Named[]>
  thing(tenant: string, id: string): Promise<Thing | undefined>
}

export interface NameWrites {
  /**
   * Writes links and things in one durable step. A link replaces the one with the same key: the last write is the newest,
   * regardless of `at`, and the `at` of a key never goes back. A thing replaces the one with the same tenant and id.
   */
  put(write: XrefWrite): Promise<void>
  /** Removes links in one durable step, except those that stand for another id by now; returns how many. */
  unlink(links: readonly LinkToId[]): Promise<number>
  /** Writes many links in one durable step; an existing link with another id is kept and listed, unless `replace`. */
  load(links: readonly NewLink[], options: { readonly replace: boolean }): Promise<LoadResult>
}

/** The durable record from names to ids. */
export interface Xref extends NameReads, NameWrites {
  /** Yields every link after `after`, ordered by tenant, name, giver, kind and VIN; safe during other writes. */
  scan(options: { readonly tenant?: string; readonly after?: LinkKey }): AsyncIterable<readonly Link[]>
}

/** The key of a link. A name that the service gave never replaces the same name of the caller. */
export type LinkKey = Pick<Link, 'tenant' | 'name' | 'givenBy' | 'kind' | 'vin'>

/** A link, and the id that it stands for. */
export type LinkToId = LinkKey & Pick<Link, 'id'>

interface LoadResult {
  readonly written: number
  /** Links that existed already with the same id. */
  readonly same: number
  /** Links that were not written, each with the existing one. */
  readonly conflicts: readonly { readonly asked: NewLink; readonly found: Link }[]
}

/** The states of a booking's key. A `freed` key was canceled or settled as not booked; like `refused`, it may be claimed again. */
export type ClaimState = 'sending' | 'booked' | 'refused' | 'unknown' | 'freed'

/** One booking that is, was or may have been sent. */
export interface Claim {
  readonly tenant: string
  readonly key: string
  /** `bk_` and twelve hex digits; unique, and what people see. */
  readonly handle: string
  readonly state: ClaimState
  /** Grows by one with every change; compare-and-set compares it. */
  readonly version: number
  /** A hash of the fields, to tell a retry from a different booking. */
  readonly body: string
  /** The gateway instance that made the last change. */
  readonly instance: string
  readonly reference: string
  readonly vin: string
  /** The service's id; empty until booked. */
  readonly shipment: string
  /** The answer of a replay, as JSON; empty until booked. */
  readonly reply: string
  /** When a `booked` key is free again, in milliseconds since 1970; 0: never. */
  readonly expires: number
  readonly createdAt: number
  readonly changedAt: number
}

/** A claim that is to be taken. */
export type NewClaim = Omit<
  Claim,
  'state' | 'version' | 'createdAt' | 'changedAt' | 'shipment' | 'reply' | 'expires'
> & {
  /**
   * The time after the claim when a `booked` key is free again.
   * @default never
   */
  readonly expiresInMs?: number | undefined
  /**
   * The beginning of a doubt: the booking may have been made since then, so the claim is `unknown` from the start.
   * @default the booking was not made
   */
  readonly doubtSince?: number | undefined
}

/** The fields that a change of a claim sets. */
export type ClaimChange = Pick<Claim, 'state' | 'instance'> &
  Partial<Pick<Claim, 'shipment' | 'reply'>> & {
    /** The reason, for the audit trail: `answered 201`, `settled by operator`. */
    readonly why: string
  }

/** One change of a claim. */
export interface AuditEntry {
  readonly at: number
  readonly from: ClaimState | 'none'
  readonly to: ClaimState
  readonly instance: string
  readonly why: string
}

/** Chooses claims. */
export interface ClaimFilter {
  readonly state?: ClaimState | undefined
  readonly tenant?: string | undefined
  /** Made at this time or later, in milliseconds since 1970. */
  readonly since?: number | undefined
  /** Those that follow this one in the list: for the next page. */
  readonly after?: Pick<Claim, 'createdAt' | 'handle'> | undefined
  /** @default 1,000 */
  readonly limit?: number
  /** The newest first. @default false */
  readonly newest?: boolean
}

/** Reads of the record of bookings. */
export interface ClaimReads {
  findClaim(tenant: string, key: string): Promise<Claim | undefined>
  claimByHandle(handle: string): Promise<Claim | undefined>
  /** Returns the claims of a shipment, in whatever case they and the asker spell its UUID. */
  claimsOfShipment(tenant: string, shipment: string): Promise<readonly Claim[]>
  /** Returns claims, oldest first unless `newest`, at most `limit` (1,000 by default). */
  listClaims(options: ClaimFilter): Promise<readonly Claim[]>
  audit(handle: string): Promise<readonly AuditEntry[]>
}

/** The durable record of bookings that are under way, made or in doubt. */
export interface Claims extends ClaimReads {
  /**
   * Takes the key, durably, if it is free: never seen, `refused`, `freed`, or `booked` and expired. One of any number of
   * callers and gateways wins; the others get the claim that holds the key.
   */
  claim(wanted: NewClaim): Promise<{ readonly won: boolean; readonly claim: Claim }>
  /**
   * Changes a claim if it still has this version; else returns undefined. In either case it has written `names` before, as
   * `put` does: nobody who sees the change misses them.
   */
  change(
    claim: Pick<Claim, 'tenant' | 'key' | 'version'>,
    change: ClaimChange,
    names?: XrefWrite,
  ): Promise<Claim | undefined>
  /**
   * Renews the lease of an instance. Returns true if the renewal before is younger than this: between the two, no other
   * instance can have taken the claims of this one for abandoned.
   */
  renewLease(instance: string, maxAgeMs: number): Promise<boolean>
  /** Ends the lease of an instance now. */
  endLease(instance: string): Promise<void>
  /** Turns the `sending` claims of instances without a renewal for this long into `unknown`, and returns them. */
  orphanClaims(silentForMs: number, by: string): Promise<readonly Claim[]>
}

/** Lets one process at a time work on a thing, over all processes that share the store. */
export interface Locks {
  /**
   * Runs work while no other process runs work of the same key; within this process, too. Rejects with `LockTimeout` if
   * the lock is not free within `waitMs`. The lock of a process that dies is free again after its lease. Work asks
   * `isHeld` right before an effect: false means that another process may have the lock by now.
   */
  exclusive<T>(key: string, waitMs: number, work: (isHeld: () => boolean) => Promise<T>): Promise<T>
}

/** Other work of the key did not end in time. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout'
}

/** The engine cannot answer now. */
export class StoreDown extends Error {
  override readonly name = 'StoreDown'
}

/** The store was made by a newer version of the gateway. */
export class StoreTooNew extends Error {
  override readonly name = 'StoreTooNew'
}
