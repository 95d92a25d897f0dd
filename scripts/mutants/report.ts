import { describe, type Mutant } from './mutants.ts'
import type { Verdict } from './try.ts'

/** A mutant and its end. */
export interface Tried {
  readonly mutant: Mutant
  readonly verdict: Verdict
}

const isKilled = ({ verdict }: Tried) => verdict === 'killed' || verdict === 'timed out'
/** A mutant that the compiler refuses could not be committed: it is neither killed nor alive. */
const counts = ({ verdict }: Tried) => verdict !== 'refused'

/** Returns the mutants killed of all by folder, and the survivors. */
export function report(tried: readonly Tried[], seed: string): string {
  const byFolder = [...Map.groupBy(tried, ({ mutant }) => mutant.folder)].sort(([one], [other]) =>
    one.localeCompare(other, 'en'),
  )
  const rows = [...byFolder, ['all', tried] as const].map(([folder, some]) => rowOf(folder, some))
  const survivors = tried.filter((one) => counts(one) && !isKilled(one))
  return [
    '',
    `Seed ${seed}. Killed of all, without those that the compiler refuses:`,
    ...rows,
    '',
    `${survivors.length} survive:`,
    ...survivors.map(({ mutant, verdict }) => `${describe(mutant)}${verdict === 'uncalled' ? ' (never called)' : ''}`),
  ].join('\n')
}

function rowOf(folder: string, some: readonly Tried[]): string {
  const all = some.filter(counts).length
  const killed = some.filter(isKilled).length
  const percent = all === 0 ? '' : `${Math.floor((killed * 100) / all)} %`
  const refused = some.length - all
  return `${folder.padEnd(18)}${`${killed}/${all}`.padStart(9)}${percent.padStart(7)}${refused > 0 ? `  (${refused} refused)` : ''}`
}
