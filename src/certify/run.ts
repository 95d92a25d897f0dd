import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Area, Assumption } from './assumptions.ts'
import { CannotTell, type Finding, NotAnswered } from './seen.ts'
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
export async function tryAll(areas: readonly Area[], trial: Trial, options: RunOptions): Promise<void> {
  const { allowed, only, onArea, onResult } = options
  let withoutReply = 0
  for (const area of areas) {
    const wanted = area.assumptions.filter(({ id }) => only?.has(id) ?? true)
    if (wanted.length > 0) onArea(area)
    for (const assumption of wanted) {
      const reason = forbidden(assumption, allowed)
      let finding: Finding = { verdict: 'not tried', seen: reason ?? '' }
      let isAnswered = true
      try {
        if (reason === undefined) finding = await assumption.check(trial)
      } catch (error) {
        if (!(error instanceof CannotTell)) throw error
        finding = { verdict: 'cannot tell', seen: error.message }
        isAnswered = !(error instanceof NotAnswered)
      }
      withoutReply = isAnswered ? 0 : withoutReply + 1
      onResult(assumption, { id: assumption.id, ...finding })
      if (withoutReply === MOST_WITHOUT_REPLY) throw new OutOfReach(finding.seen)
    }
  }
}

const file = z.object({
  service: z.string(),
  at: z.string(),
  results: z.array(
    z.object({
      id: z.string(),
      verdict: z.enum(['confirmed', 'contradicted', 'cannot tell', 'not tried']),
      seen: z.string(),
    }),
  ),
})

/** The results of a run, as a file keeps them. */
export type Results = z.infer<typeof file>

/** Reads the results of an earlier run; returns the reason why a file has none. */
export function readResults(path: string): Results | string {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return 'it is not JSON'
    throw error
  }
  return file.safeParse(value).data ?? 'it has no results of transload certify assumptions --save'
}

/** A result that differs from the one before. */
export interface Change {
  readonly id: string
  /** Undefined for an assumption that the earlier run did not have. */
  readonly before: Result | undefined
  readonly now: Result
}

/** Compares the results of two runs. An assumption that either of them did not try has not changed. */
export function changesSince({ results }: Results, now: readonly Result[]): readonly Change[] {
  return now.flatMap((result) => {
    const before = results.find(({ id }) => id === result.id)
    if (result.verdict === 'not tried' || before?.verdict === 'not tried') return []
    const isSame = before?.verdict === result.verdict && before.seen === result.seen
    return isSame ? [] : [{ id: result.id, before, now: result }]
  })
}
