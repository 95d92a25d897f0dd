import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { Result } from './run.ts'

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

/** Writes the results of a run. */
export function saveResults(path: string, results: Results): void {
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)
}

/** Reads the results of an earlier run; returns the reason why a file has none. */
export function readResults(path: string): Results | string {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return 'it is not JSON'
    throw error
  }
  const parsed = file.safeParse(value)
  return parsed.success ? parsed.data : 'it has no results of transload certify assumptions --save'
}

/** A result that differs from the one before. */
export interface Change {
  readonly id: string
  /** Undefined for an assumption that the earlier run did not have. */
  readonly before: Result | undefined
  readonly now: Result
}

/** Compares the results of two runs. An assumption that either of them did not try has not changed. */
export function changesSince(before: Results, now: readonly Result[]): readonly Change[] {
  const earlier = new Map(before.results.map((result) => [result.id, result]))
  return now.flatMap((result) => {
    const known = earlier.get(result.id)
    if (result.verdict === 'not tried' || known?.verdict === 'not tried') return []
    return known?.verdict === result.verdict && known.seen === result.seen
      ? []
      : [{ id: result.id, before: known, now: result }]
  })
}
