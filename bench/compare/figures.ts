import type { Round, Row } from './rounds.ts'

/** The one in the middle, or between the two. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((one, other) => one - other)
  const at = (place: number) => sorted[place] ?? Number.NaN
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2
}

/** The median of one figure of the rounds; not a number where it could not be seen. */
export function medianOf({ rounds }: Row, figure: (round: Round) => number | null): number {
  return median(rounds.map((round) => figure(round) ?? Number.NaN))
}

export interface Ratio {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** How many times the calls of another case a case did, round by round: what weighed on one round weighed on both. */
export function ratio(row: Row, to: Row): Ratio {
  const ratios = row.rounds.map(({ perSecond }, i) => perSecond / (to.rounds[i]?.perSecond ?? Number.NaN))
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) }
}

/** A number with thousands set apart. */
export const whole = (figure: number): string =>
  Number.isNaN(figure) ? '–' : Math.round(figure).toLocaleString('en-US')

/** A number with so many decimals. */
export const decimals = (figure: number, digits: number): string =>
  Number.isNaN(figure) ? '–' : figure.toFixed(digits)

/** A table of Markdown; every column but the first holds numbers. */
export function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  const rule = heads.map((_, i) => (i === 0 ? '---' : '---:'))
  return [heads, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The usual table of cases; the ratios are to the case with the id `base` over as many connections. */
export function caseTable(rows: readonly Row[], base: string, unit: string): string {
  const lines = rows.map((row) => {
    const other = rows.find(({ id, connections }) => id === base && connections === row.connections)
    const { median: middle, min, max } = other ? ratio(row, other) : { median: Number.NaN, min: 0, max: 0 }
    const against = row.id === base ? '1' : `${middle.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
    return [
      row.id === base ? `**${row.name}**` : row.name,
      whole(medianOf(row, ({ perSecond }) => perSecond)),
      against,
      decimals(
        medianOf(row, ({ p50 }) => p50),
        2,
      ),
      decimals(
        medianOf(row, ({ p99 }) => p99),
        2,
      ),
      row.id === 'stub' ? '' : whole(medianOf(row, ({ cpuMicros }) => cpuMicros)),
      row.id === 'stub' ? '' : whole(medianOf(row, ({ megabytes }) => megabytes)),
    ]
  })
  return table(['', unit, 'ratio (min–max)', 'p50 ms', 'p99 ms', 'CPU µs per call', 'memory MB'], lines)
}

/** A table for each number of connections, the largest first. */
export function tablesByConnections(rows: readonly Row[], base: string, unit: string): string {
  const numbers = [...new Set(rows.map(({ connections }) => connections))].sort((one, other) => other - one)
  return numbers
    .map((number) => {
      const some = rows.filter(({ connections }) => connections === number)
      return `${number === 1 ? 'One connection' : `${number} connections`}:\n\n${caseTable(some, base, unit)}`
    })
    .join('\n\n')
}
