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
export interface Store
  extends Engine,
    NameRecord,
    Claims,
    Locks,
    Events,
    Scoreboard,
    Doubts,
    Pruning,
    CopyReads,
    CopyWrites {}

export interface Engine {
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

/** The key of a quote or shipment. */
export interface ThingId {
  readonly tenant: string
  readonly id: string
}

/**
 * A name, and the id of a thing that bears it. For quotes, a name means the newest one: it replaces the one before. Shipments bear a
 * name side by side. A name that the service gave never replaces the same name of the caller.
 */
export interface NameOfId extends ThingId {
  readonly kind: Kind
  readonly name: string
  readonly givenBy: GivenBy
}

export interface Name extends NameOfId {
  /** When the name was given to this id, in milliseconds since 1970. */
  readonly at: number
}

/** A name that is to be written. */
export interface NewName extends NameOfId {
  /**
   * The time of another name, or one from an import.
   * @default the time of the write, or the stored time if this id has the name already
   */
  readonly at?: number | undefined
}

/** The state of a quote's approval: none, sent, perhaps with an outcome that is never known, or approved. */
export type Approval = '' | 'sent' | 'approved'

/** What is remembered of a quote. Facts, names, and own number are written together. */
interface QuoteParts {
  /** The caller's own `ShipmentNumber` for it; empty if it has none. */
  readonly own: string
  /** The names that the caller gave it. */
  readonly names: readonly string[]
  /** Data that a later booking may lack; null once forgotten. */
  readonly facts: Facts | null
  /** The price as the caller was told it; empty if it is not known. */
  readonly price: string
  readonly approval: Approval
  /** Other ids that the reply to the approval named: one of them may be that of its shipment. */
  readonly idsInApproval: readonly string[]
}

export interface Quote extends ThingId, QuoteParts {
  /** When its facts were written, in milliseconds since 1970. */
  readonly at: number
}

/** The parts of a quote that are to be written; the others stay, or are blank in a new row. */
export interface QuoteChange extends ThingId, Partial<QuoteParts> {}

/** A vehicle as a booking or the service tells of it; what is not known is empty. */
export interface Vehicle {
  /** Upper case, without blanks. */
  readonly vin: string
  readonly year: string
  readonly make: string
  readonly model: string
}

/** The state of a shipment as the service last showed it: `gone` is one that it does not know any more. */
export type ShipmentState = 'live' | 'canceled' | 'gone'

/** Reports whether a shipment is stored as gone: one that is perhaps canceled bears its names until a read shows it. */
export const isStoredAsGone = (shipment: StoredShipment | undefined): boolean =>
  shipment?.state === 'canceled' || shipment?.state === 'gone'

/** The vehicles of a shipment, as far as they are known. */
export interface KnownVehicles {
  /** Its vehicles as they were last shown, or as they were booked; empty if neither is known. */
  readonly vehicles: readonly Vehicle[]
  /** VINs that its vehicles had before, each with the VIN that the vehicle has now; empty if it is not known which vehicle had it. */
  readonly formerVins: Readonly<Record<string, string>>
}

interface ShipmentParts extends KnownVehicles {
  /** The caller's own `ShipmentNumber` for it; empty if it has none. */
  readonly own: string
  /** `perhaps-canceled` after a cancellation whose outcome is not known: its booking is not replayed without a read. */
  readonly state: ShipmentState | 'perhaps-canceled'
  /** The id of the quote that it was booked or approved from; empty if there is none. */
  readonly quote: string
}

/** A shipment that a name, a booking, or a read has told of. */
export interface StoredShipment extends ThingId, ShipmentParts {
  /** When it was booked or approved, or got another state since, in milliseconds since 1970. */
  readonly at: number
}

/** The parts of a shipment that are to be written; the others stay, or are blank (`live`) in a new row. */
export interface ShipmentChange extends ThingId, Partial<ShipmentParts> {}

/** A name, and what is stored of the quote or shipment that bears it. */
export interface NameWithBearer extends Name {
  readonly quote?: Quote | undefined
  readonly shipment?: StoredShipment | undefined
}

export type Facts = Readonly<Record<string, string | number>>

/** Names, a quote, and a shipment that are written together. */
export interface NamesWrite {
  /** @default none */
  readonly names?: readonly NewName[]
  readonly quote?: QuoteChange | undefined
  readonly shipment?: ShipmentChange | undefined
}

/** Reads of the record of names. Ids that are UUIDs are found in any case of their letters. */
export interface NameReads {
  /**
   * Returns every bearer of a name, with what is stored of it: the caller's own names first, then the newest first, then the
   * later write first; for a name that nothing bears, those in another case of its letters, a thousand at most.
   */
  named(tenant: string, name: string): Promise<readonly NameWithBearer[]>
  /** Reports whether a shipment bears this very name, whoever gave it. */
  bears(tenant: string, name: string, id: string): Promise<boolean>
  quote(tenant: string, id: string): Promise<Quote | undefined>
  shipment(tenant: string, id: string): Promise<StoredShipment | undefined>
  /** Returns the shipments that were booked or approved from a quote, the newest first. */
  shipmentsOfQuote(tenant: string, quote: string): Promise<readonly StoredShipment[]>
}

export interface NameWrites {
  /**
   * Writes names, and the given parts of a quote and a shipment, in one durable step. The last write of a quote's name is the
   * newest, regardless of `at`; the `at` of a name never goes back.
   */
  put(write: NamesWrite): Promise<void>
  /** Removes names in one durable step, except those of quotes that stand for another id by now; returns how many. */
  unlink(names: readonly NameOfId[]): Promise<number>
  /** Writes many names in one durable step; a quote's name that stands for another id is kept and listed, unless `replace`. */
  load(names: readonly LoadedName[], options: { readonly replace: boolean }): Promise<LoadResult>
}

/** The durable record from names to ids. */
export interface NameRecord extends NameReads, NameWrites {
  /** Yields every name after `after`, ordered by tenant, name, giver, kind, and id; safe during other writes. */
  scan(options: { readonly tenant?: string; readonly after?: NameOfId }): AsyncIterable<readonly ScannedName[]>
}

/** A name of an export or import. */
export interface LoadedName extends NewName {
  /** The VIN of a shipment of one vehicle; empty for others. An import adds it to a shipment of which no vehicle is known. */
  readonly vin: string
}

/** A name as an export has it. */
export interface ScannedName extends Name {
  readonly vin: string
}

interface LoadResult {
  readonly written: number
  /** Names that the same id had already. */
  readonly same: number
  /** Names that were not written, each with the existing one. */
  readonly conflicts: readonly { readonly asked: LoadedName; readonly found: Name }[]
}

/** The states of a booking's key. A `freed` key was canceled or settled as not booked; like `refused`, it may be claimed again. */
export type ClaimState = 'sending' | 'booked' | 'refused' | 'unknown' | 'freed'

/** A claim as it was read: a change compares its version. */
export interface ClaimVersion {
  readonly tenant: string
  readonly key: string
  /** Grows by one with every change; compare-and-set compares it. */
  readonly version: number
}

/** The vehicle of a booking. */
export interface BookedVehicle {
  readonly vin: string
  /** The vehicle as the booking tells of it: JSON of its `year`, `make`, and `model`, in the form that tells vehicles apart. */
  readonly vehicle: string
}

/** A booking, as its claim tells of it from the start. */
interface ClaimedBooking extends BookedVehicle {
  readonly tenant: string
  readonly key: string
  /** `bk_` and twelve hex digits; unique, and what people see. */
  readonly handle: string
  /** A hash of the fields, to tell a retry from a different booking. */
  readonly body: string
  /** The gateway instance that made the last change. */
  readonly instance: string
  readonly reference: string
  /** The call that made the claim, for people: JSON of its request id, and of where its vehicle goes; empty if it is not known. */
  readonly request: string
}

/** One booking that is, was or may have been sent. */
export interface Claim extends ClaimVersion, ClaimedBooking {
  readonly state: ClaimState
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
export interface NewClaim extends ClaimedBooking {
  /**
   * True if the key is that of the reference: then one vehicle is booked once under it. Claims of further vehicles have the same key
   * with a number.
   */
  readonly isOfReference: boolean
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
export interface ClaimChange {
  readonly state: ClaimState
  readonly instance: string
  readonly shipment?: string
  readonly reply?: string
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
  /** Made before this time. */
  readonly until?: number | undefined
  /** With this handle, reference, VIN, or shipment, in any case of its letters. */
  readonly name?: string | undefined
  /** Those that follow this one in the list: for the next page. */
  readonly after?: { readonly createdAt: number; readonly handle: string } | undefined
  /** @default 1,000 */
  readonly limit?: number
  /** The newest first. @default false */
  readonly newest?: boolean
}

/** Reads of the record of bookings. */
export interface ClaimReads {
  findClaim(tenant: string, key: string): Promise<Claim | undefined>
  claimByHandle(handle: string): Promise<Claim | undefined>
  /** Returns the claim that a wanted one would meet: it holds the key, or is of the same vehicle. Takes nothing. */
  holderOf(wanted: NewClaim): Promise<Claim | undefined>
  /** Returns the claims of a reference, in any case of its letters, oldest first. */
  claimsOfReference(tenant: string, reference: string): Promise<readonly Claim[]>
  /** Returns the claims of a shipment, in whatever case they and the asker spell its UUID. */
  claimsOfShipment(tenant: string, shipment: string): Promise<readonly Claim[]>
  /** Returns claims, oldest first unless `newest`, at most `limit` (1,000 by default). */
  listClaims(options: ClaimFilter): Promise<readonly Claim[]>
  /** Counts the claims of each state, of one tenant or of all; counts none beyond `most`. */
  countClaims(most: number, tenant?: string): Promise<Readonly<Partial<Record<ClaimState, number>>>>
  audit(handle: string): Promise<readonly AuditEntry[]>
}

/** The durable record of bookings that are under way, made or in doubt. */
export interface Claims extends ClaimReads, ClaimWrites {}

export interface ClaimWrites {
  /**
   * Takes the key, durably, if it is free: never seen, `refused`, `freed`, or `booked` and expired. One of any number of
   * callers and gateways wins; the others get the claim that holds the key. Under a reference, a claim that is not free holds the key
   * unless the wanted vehicle provably is another one; then the wanted booking gets a claim of its own.
   */
  claim(wanted: NewClaim): Promise<{ readonly won: boolean; readonly claim: Claim }>
  /**
   * Changes a claim if it still has this version; else returns undefined. In either case it has written `names` before, as
   * `put` does: nobody who sees the change misses them.
   */
  change(claim: ClaimVersion, change: ClaimChange, names?: NamesWrite): Promise<Claim | undefined>
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
