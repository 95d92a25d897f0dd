import type { Area, Assumption, Effect, Finding } from './assumption.ts'
import { CannotTell, NotAnswered } from './assumption.ts'
import type { Trial } from './trial.ts'

/** The effects that the operator allows. */
export interface Allowed {
  readonly bookings: boolean
  /** True if the operator named the address of the service as stage. */
  readonly isStage: boolean
}

/** The outcome of one assumption. */
export interface Result extends Finding {
  readonly id: string
}

/** Returns why an assumption may not be tried; undefined if it may. */
export function forbidden({ effect, stageOnly }: Assumption, { bookings, isStage }: Allowed): string | undefined {
  if (effect === 'bookings' && !bookings) return 'needs --bookings and --stage'
  return stageOnly && !isStage ? 'needs --stage' : undefined
}

/** The run was asked to stop. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
}

/** After so many checks in a row without any reply, the service counts as out of reach. */
const MOST_WITHOUT_REPLY = 5

/** The service does not answer, and the rest of the run would only wait. */
export class OutOfReach extends Error {
  override readonly name = 'OutOfReach'
}

export interface RunOptions {
  readonly allowed: Allowed
  /** @default all */
  readonly only?: ReadonlySet<string> | undefined
  readonly onArea: (area: Area) => void
  readonly onResult: (assumption: Assumption, result: Result) => void
}

/** Tries assumptions one after the other. */
export async function tryAll(areas: readonly Area[], trial: Trial, options: RunOptions): Promise<readonly Result[]> {
  const { allowed, only, onArea, onResult } = options
  const results: Result[] = []
  let withoutReply = 0
  for (const area of areas) {
    const wanted = area.assumptions.filter(({ id }) => only?.has(id) ?? true)
    if (wanted.length > 0) onArea(area)
    for (const assumption of wanted) {
      const reason = forbidden(assumption, allowed)
      const { finding, isAnswered } =
        reason === undefined
          ? await tryOne(assumption, trial)
          : { finding: { verdict: 'not tried', seen: reason } as const, isAnswered: true }
      withoutReply = isAnswered ? 0 : withoutReply + 1
      const result = { id: assumption.id, ...finding }
      results.push(result)
      onResult(assumption, result)
      if (withoutReply === MOST_WITHOUT_REPLY) throw new OutOfReach(finding.seen)
    }
  }
  return results
}

async function tryOne({ check }: Assumption, trial: Trial): Promise<{ finding: Finding; isAnswered: boolean }> {
  try {
    return { finding: await check(trial), isAnswered: true }
  } catch (error) {
    if (!(error instanceof CannotTell)) throw error
    return { finding: { verdict: 'cannot tell', seen: error.message }, isAnswered: !(error instanceof NotAnswered) }
  }
}

/** The effects, the least first. */
export const EFFECTS: readonly Effect[] = ['reads', 'quotes', 'bookings']
