import { type ComparedField, type Comparison, type Verdict, WHOLE_ANSWER } from './answers.ts'

/** How often a field of an action had each verdict. */
export interface FieldTally {
  readonly action: string
  readonly field: string
  readonly counts: Readonly<Record<Verdict, number>>
  /** The shapes of the first differences. */
  readonly examples: readonly Pick<ComparedField, 'native' | 'translated'>[]
}

/** Sums up comparisons. */
export interface Tally {
  readonly add: (action: string, comparison: Comparison) => void
  readonly fields: () => readonly FieldTally[]
  /**
   * Returns the share of equal fields among those that are no noise; undefined if nothing was compared: calls that both
   * sides refuse prove nothing.
   */
  readonly equalShare: () => number | undefined
}

/** Examples of one field. */
const EXAMPLES_KEPT = 3

/** Makes an empty sum. */
export function createTally(): Tally {
  const tallies = new Map<string, FieldTally>()
  const total: Record<Verdict, number> = { equal: 0, differs: 0, noise: 0 }

  function add(action: string, { field, verdict, native, translated }: ComparedField): void {
    const key = `${action}\n${field}`
    const before = tallies.get(key) ?? { action, field, counts: { equal: 0, differs: 0, noise: 0 }, examples: [] }
    const isExample = verdict === 'differs' && before.examples.length < EXAMPLES_KEPT
    const isNew = !before.examples.some((one) => one.native === native && one.translated === translated)
    total[verdict] += 1
    tallies.set(key, {
      ...before,
      counts: { ...before.counts, [verdict]: before.counts[verdict] + 1 },
      examples: isExample && isNew ? [...before.examples, { native, translated }] : before.examples,
    })
  }

  return {
    add: (action, comparison) => {
      if (comparison.compared) for (const field of comparison.fields) add(action, field)
    },
    fields: () => [...tallies.values()],
    equalShare: () => {
      const counted = total.equal + total.differs
      const isProof = total.differs > 0 || [...tallies.values()].some(({ field }) => field !== WHOLE_ANSWER)
      return isProof ? total.equal / counted : undefined
    },
  }
}
