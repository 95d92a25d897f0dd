import type { READS, WRITES } from './all-verbs.ts'
import type { claimReads, claimWrites } from './claim.ts'
import type { StoreOrigin } from './doubt.ts'
import type { createLocks, lockWrites } from './locks.ts'
import type { StoreSize } from './pruning.ts'
import type { VerbsOf } from './work.ts'

/** The verbs that both engines make of the same work, each described where it is declared (`all-verbs.ts`). */
type SharedVerbs = Omit<VerbsOf<typeof READS & typeof WRITES>, keyof typeof lockWrites | 'namesAfter'>

/**
 * The gateway's durable state, and the contract that every engine keeps.
 *
 * The promise of a write resolves only once the write is durable. Every method rejects with `StoreDown` while the engine cannot answer, and
 * works again once it can. The engine sets all times that it stores, by a clock that all gateways of the store share: PostgreSQL's own, or
 * the machine's.
 */
export interface Store extends Engine, SharedVerbs, ReturnType<typeof createLocks> {
  /** Yields every name after `after`, ordered by tenant, name, giver, kind, and id; safe during other writes. */
  scan(options: {
    readonly tenant?: string | undefined
    readonly after?: NameOfId | undefined
  }): AsyncIterable<readonly ScannedName[]>
  /** Ends the doubt, and accepts a copy as the store that belongs there; returns false if there was neither. */
  trust(): Promise<boolean>
  /** Returns how the store came to its place. */
  origin(): Promise<StoreOrigin>
  /** Returns the size, at the same cost for any number of rows. */
  size(): Promise<StoreSize>
}

/** The record of bookings. */
export type Claims = VerbsOf<typeof claimReads & typeof claimWrites>

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

/** Who gave a name: the caller, such as a `ReferenceNumber`, or the service, such as its `number`. */
export type GivenBy = 'caller' | 'service'

/** The id of a quote or shipment. */
export interface ThingId {
  readonly tenant: string
  readonly id: string
}

/**
 * A name, and the id of a thing that bears it. For quotes, a name means the newest one, which replaces the previous one. Several shipments
 * can bear the same name. A name that the service gave never replaces the same name given by the caller.
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

/** A name to be written. */
export interface NewName extends NameOfId {
  /**
   * The time of another name, or a time from an import.
   * @default the time of the write, or the stored time if this id has the name already
   */
  readonly at?: number | undefined
}

/** The state of a quote's approval: none; sent, perhaps with an outcome that is never known; or approved. */
type Approval = '' | 'sent' | 'approved'

/** The remembered parts of a quote. Facts, names, and own number are written together. */
interface QuoteParts {
  /** The caller's own `ShipmentNumber` for it; empty if it has none. */
  readonly own: string
  /** The names that the caller gave the quote. */
  readonly names: readonly string[]
  /** Data that a later booking may need; null once forgotten. */
  readonly facts: Facts | null
  /** The price that the caller was given; empty if it is not known. */
  readonly price: string
  readonly approval: Approval
  /** Other ids that the approval's reply named; one of them may be its shipment's. */
  readonly idsInApproval: readonly string[]
}

export interface Quote extends ThingId, QuoteParts {
  /** When its facts were written, in milliseconds since 1970. */
  readonly at: number
}

/** The parts of a quote to be written; the others do not change, or are blank in a new row. */
export interface QuoteChange extends ThingId, Partial<QuoteParts> {}

/** A vehicle as a booking or the service describes it; unknown parts are empty. */
export interface Vehicle {
  /** Upper case, without blanks. */
  readonly vin: string
  readonly year: string
  readonly make: string
  readonly model: string
}

/** The state of a shipment as the service last showed it: `gone` means that the service no longer knows it. */
export type ShipmentState = 'live' | 'canceled' | 'gone'

/** Reports whether a shipment is stored as gone. One that may be canceled keeps its names until a read shows its state. */
export const isStoredAsGone = (shipment: StoredShipment | undefined): boolean =>
  shipment?.state === 'canceled' || shipment?.state === 'gone'

/** The known vehicles of a shipment. */
export interface KnownVehicles {
  /** The vehicles as they were last shown, or as they were booked; empty if neither is known. */
  readonly vehicles: readonly Vehicle[]
  /** VINs that its vehicles had before, each with the VIN that the vehicle has now; empty if it is not known which vehicle had it. */
  readonly formerVins: Readonly<Record<string, string>>
}

interface ShipmentParts extends KnownVehicles {
  /** The caller's own `ShipmentNumber` for it; empty if it has none. */
  readonly own: string
  /**
   * `in-doubt` after a cancellation or a change of a vehicle whose outcome is not known. Until a read, its booking is not replayed,
   * and no booking of its reference is for another vehicle.
   */
  readonly state: ShipmentState | 'in-doubt'
  /** The id of the quote that it was booked or approved from; empty if there is none. */
  readonly quote: string
}

/** A shipment that is known from a name, a booking, or a read. */
export interface StoredShipment extends ThingId, ShipmentParts {
  /** When it was booked or approved, or last began to be gone or to stand again, in milliseconds since 1970. */
  readonly at: number
}

/** The parts of a shipment to be written; the others do not change, or are blank (`live`) in a new row. */
export interface ShipmentChange extends ThingId, Partial<ShipmentParts> {
  /** @default now */
  readonly at?: number
}

/** A name, with what is stored of the quote or shipment that bears it. */
export interface NameWithBearer extends Name {
  readonly quote?: Quote | undefined
  readonly shipment?: StoredShipment | undefined
}

/** A name or an id's key, and the key of a quote whose approval was noted with it. */
export interface NotedApproval {
  readonly name: string
  readonly quote: string
  /** The quote's own number; empty if it has none. */
  readonly own: string
}

export type Facts = Readonly<Record<string, string | number>>

/** Names, a quote, and a shipment that are written together. */
export interface NamesWrite {
  /** @default none */
  readonly names?: readonly NewName[]
  readonly quote?: QuoteChange | undefined
  readonly shipment?: ShipmentChange | undefined
}

/** A name of an export or import. */
export interface LoadedName extends NewName {
  /** The VIN of a shipment with one vehicle; empty for others. An import adds it to a shipment without a known vehicle. */
  readonly vin: string
}

/** A name as an export contains it. */
export interface ScannedName extends Name {
  readonly vin: string
}

export interface LoadResult {
  readonly written: number
  /** How many names the same id already had. */
  readonly same: number
  /** The names that were not written, each with the existing one. */
  readonly conflicts: readonly { readonly asked: LoadedName; readonly found: Name }[]
}

/** The states of a booking's key. A `freed` key was canceled or settled as not booked; like `refused`, it may be claimed again. */
export type ClaimState = 'sending' | 'booked' | 'refused' | 'unknown' | 'freed'

/** A claim as it was read; a change compares its version. */
export interface ClaimVersion {
  readonly tenant: string
  readonly key: string
  /** Grows by one with every change; used for compare-and-set. */
  readonly version: number
}

/** A booking's vehicle. */
export interface BookedVehicle {
  readonly vin: string
  /** The vehicle as the booking describes it: JSON of its `year`, `make`, and `model`, in the form in which vehicles are compared. */
  readonly vehicle: string
}

/** A booking as its claim describes it from the start. */
interface DescribedBooking extends BookedVehicle {
  readonly tenant: string
  readonly key: string
  /** `bk_` and twelve hex digits; unique, and what people see. */
  readonly handle: string
  /** A hash of the fields, to distinguish a retry from a different booking. */
  readonly body: string
  /** The gateway instance that made the last change. */
  readonly instance: string
  readonly reference: string
  /** The call that made the claim: JSON of its request id, its vehicle's route and its quote; empty if it is not known. */
  readonly request: string
}

/** One booking that is, was or may have been sent. */
export interface Claim extends ClaimVersion, DescribedBooking {
  readonly state: ClaimState
  /** The service's id; empty until booked. */
  readonly shipment: string
  /** The answer that a replay repeats, as JSON; empty until booked. */
  readonly reply: string
  /** When a `booked` key is free again, in milliseconds since 1970; 0 means never. */
  readonly expires: number
  readonly createdAt: number
  readonly changedAt: number
}

/** A claim to be taken. */
export interface NewClaim extends DescribedBooking {
  /**
   * True if the key is made from the reference. Then each vehicle is booked once under it, and claims of further vehicles have the same key
   * with a number.
   */
  readonly isOfReference: boolean
  /**
   * How long after the claim a `booked` key is free again.
   * @default never
   */
  readonly expiresInMs?: number | undefined
  /**
   * The beginning of a doubt: the booking may have been made since then, so its claim is `unknown` from the start.
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
  /** Claims made at this time or later, in milliseconds since 1970. */
  readonly since?: number | undefined
  /** Claims made before this time. */
  readonly until?: number | undefined
  /** Claims with this handle, reference, VIN, or shipment, in any case. */
  readonly name?: string | undefined
  /** Claims that follow this one in the list, for the next page. */
  readonly after?: { readonly createdAt: number; readonly handle: string } | undefined
  /** @default 1,000 */
  readonly limit?: number
  /** Newest first. @default false */
  readonly newest?: boolean
}

/** Thrown if other work with the key did not end in time. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout'
}

/** Thrown if the engine cannot answer now. */
export class StoreDown extends Error {
  override readonly name = 'StoreDown'
}

/** Thrown if the store was made by a newer gateway. */
export class StoreTooNew extends Error {
  override readonly name = 'StoreTooNew'
}
