import { z } from 'zod'
import type { Assumption } from './assumptions.ts'
import { CannotTell, described, isDone, NotAnswered, type Trial } from './trial.ts'

/** The effects that the operator allows. */
export interface AllowedEffects {
  readonly bookings: boolean
  /** True if the operator named the address of the service as stage. */
  readonly isStage: boolean
}

/** Returns why an assumption may not be tried; undefined if it may. */
export function forbidden(
  { effect, stageOnly }: Assumption,
  { bookings, isStage }: AllowedEffects,
): string | undefined {
  if (effect === 'bookings' && !bookings) return 'needs --bookings and --stage'
  return stageOnly && !isStage ? 'needs --stage' : undefined
}

/** The outcomes of an assumption. One that needs more than the operator allows is `not tried`. */
export const verdicts = ['confirmed', 'contradicted', 'cannot tell', 'not tried'] as const

export const result = z.object({
  id: z.string(),
  verdict: z.enum(verdicts),
  /** The reply in words of the gateway: statuses, types and forms, never a value of the service. */
  seen: z.string(),
})

/** The outcome of one assumption. */
export type Result = z.infer<typeof result>

/** After so many checks in a row without any reply, the service counts as out of reach. */
const MOST_WITHOUT_REPLY = 5

/** Tries assumptions one after the other. Throws `NotAnswered` if the service is out of reach: the rest would only wait. */
export async function* tryAll(
  assumptions: readonly Assumption[],
  trial: Trial,
  allowed: AllowedEffects,
): AsyncGenerator<readonly [Assumption, Result]> {
  let withoutReply = 0
  for (const assumption of assumptions) {
    const { id } = assumption
    try {
      yield [assumption, await resultOf(assumption, trial, allowed)]
      withoutReply = 0
    } catch (error) {
      if (!(error instanceof CannotTell)) throw error
      yield [assumption, { id, verdict: 'cannot tell', seen: error.message }]
      withoutReply = error instanceof NotAnswered ? withoutReply + 1 : 0
      if (withoutReply === MOST_WITHOUT_REPLY) throw error
    }
  }
}

async function resultOf(assumption: Assumption, trial: Trial, allowed: AllowedEffects): Promise<Result> {
  const { id } = assumption
  const reason = forbidden(assumption, allowed)
  if (reason !== undefined) return { id, verdict: 'not tried', seen: reason }
  const found = await assumption.check(trial)
  const [isKept, kept, otherwise = kept] = 'status' in found ? [isDone(found), found] : found
  const seen = isKept ? kept : otherwise
  return { id, verdict: isKept ? 'confirmed' : 'contradicted', seen: typeof seen === 'string' ? seen : described(seen) }
}
