import type { Trial } from './trial.ts'

/** The most that trying an assumption does at the service. A quote is not binding; a booking is canceled again. */
export type Effect = 'reads' | 'quotes' | 'bookings'

/** The outcome of a check. An assumption that needs more than the operator allows is `not tried`. */
export type Verdict = 'confirmed' | 'contradicted' | 'cannot tell' | 'not tried'

/** The outcome of a check, with the reason. */
export interface Finding {
  readonly verdict: Verdict
  /** The reply in words of the gateway: statuses, types and forms, never a value of the service. */
  readonly seen: string
}

/** Something that the gateway takes for granted about the service, and a way to try it. */
export interface Assumption {
  readonly id: string
  readonly sentence: string
  /** How it is tried. */
  readonly how: string
  /** The remedy of the operator if the service contradicts it: a setting, a mapping, or nothing. */
  readonly otherwise: string
  readonly effect: Effect
  /**
   * True if trying it is a burden or a risk that belongs on the stage address only.
   * @default false, and true for bookings
   */
  readonly stageOnly?: true
  /** Every request that the check may send. */
  readonly requests: readonly string[]
  readonly check: (trial: Trial) => Promise<Finding>
}

/** Assumptions about one part of the service. */
export interface Area {
  readonly title: string
  readonly assumptions: readonly Assumption[]
}

/** The service behaves as the gateway assumes. */
export const confirmed = (seen: string): Finding => ({ verdict: 'confirmed', seen })

/** The service behaves in another way. */
export const contradicted = (seen: string): Finding => ({ verdict: 'contradicted', seen })

/** Decides by a condition. */
export const decide = (isConfirmed: boolean, seen: string): Finding =>
  isConfirmed ? confirmed(seen) : contradicted(seen)

/** The replies do not show if an assumption holds. */
export class CannotTell extends Error {
  override readonly name: string = 'CannotTell'
}

/** The service did not answer. */
export class NotAnswered extends CannotTell {
  override readonly name = 'NotAnswered'
}
