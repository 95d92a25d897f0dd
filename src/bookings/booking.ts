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
  /** The documented fields as they were read: two bodies are the same if their fields are, whatever their bytes. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** When the call times out, in milliseconds of `performance.now()`. */
  readonly deadline: number
  /**
   * Thrown instead of sending the booking; the answer of an earlier call still counts.
   * @default the booking may be sent
   */
  readonly refusal?: Error | undefined
}

/** A booking that the service has made. */
export interface Made {
  readonly answer: Answer
  /** Makes the numbers of the shipment resolve. */
  readonly record: XrefRecord
}

/** The result of a booking, made by this call or by an earlier one. */
export interface Booked {
  readonly answer: Answer
  /**
   * A shipment that another credential of the tenant booked: this caller gets the answer only if the service lets it
   * read the shipment.
   */
  readonly requiresReadOf?: string
}

/** Thrown if the service provably made no shipment for a booking; its claim is released. */
export class NotBooked extends Error {
  override readonly name = 'NotBooked'
  /** The error that the call is answered with. */
  readonly reason: unknown

  constructor(reason: unknown) {
    super('The service made no shipment.', { cause: reason })
    this.reason = reason
  }
}
