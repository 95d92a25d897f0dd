import type { Answer } from '../answer.ts'
import type { XrefRecord } from '../xref/xref.ts'

/** A booking to be sent, with the values that identify it. */
export interface Booking {
  readonly tenant: string
  /** The credential that books, where only the service can verify it; it is not stored. */
  readonly credential: string | undefined
  readonly reference: string
  readonly vin: string
  /** The caller's `Idempotency-Key`, used instead of the reference. */
  readonly idempotencyKey: string | undefined
  /** The documented fields as they were read: the same body means the same fields, not the same bytes. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** When the call times out, in milliseconds of `performance.now()`. */
  readonly deadline: number
}

/** A booking that the service has made. */
export interface Made {
  readonly answer: Answer
  /** Makes the numbers of the shipment resolve. */
  readonly record: XrefRecord
}

/** A booking that is made, by this call or by an earlier one. */
export interface Booked {
  readonly answer: Answer
  /**
   * A shipment that a call with another credential of the tenant booked: this caller gets the answer only if the service
   * lets it read the shipment.
   */
  readonly requiresReadOf?: string
}

/** Thrown where the service provably made no shipment for a booking: its claim is released. */
export class NotBooked extends Error {
  override readonly name = 'NotBooked'
  /** What the call ends with. */
  readonly reason: unknown

  constructor(reason: unknown) {
    super('The service made no shipment.', { cause: reason })
    this.reason = reason
  }
}
