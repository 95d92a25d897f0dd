import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Invariant } from './invariants.ts'
import type { SCENARIOS } from './scenarios.ts'

/** A change of one place in a file of `src`, which breaks an invariant in a scenario. */
type Mistake = readonly [
  name: string,
  place: readonly [breaks: Invariant, scenario: keyof typeof SCENARIOS, file: string, right: string, wrong: string],
]

export const MISTAKES: readonly Mistake[] = Object.entries(
  JSON.parse(readFileSync(join(import.meta.dirname, 'mistakes.json'), 'utf8')),
)

/** Returns the source of a module, with the mistake if it belongs to this file. */
export function mistaken(name: string, url: string, source: string): string {
  const [, place] = MISTAKES.find(([one]) => one === name) ?? []
  if (!place) throw new Error(`There is no mistake ${name}.`)
  const [, , file, right, wrong] = place
  if (!url.endsWith(file)) return source
  if (source.split(right).length !== 2) throw new Error(`${file} does not contain: ${right}`)
  return source.replace(right, wrong)
}
