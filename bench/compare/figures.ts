import type { Round, Row } from './rounds.ts'

/** Returns the median; the mean of the middle two if the number of figures is even. */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((one, other) => one - other)
  const at = (place: number) => sorted[place] ?? Number.NaN
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2
}

/** Calls a second of a case, divided by those of the base. */
export interface Ratio {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** One line of a table: medians of the rounds of one case, with the digits that the page shows. */
export interface Line {
  readonly id: string
  readonly name: string
  readonly connections: number
  readonly perSecond: number
  /** Missing for the base itself. */
  readonly ratio?: Ratio
  readonly p50Ms: number
  readonly p99Ms: number
  /** Missing where it cannot be measured. */
  readonly cpuMicros?: number
  /** Missing where it cannot be measured. */
  readonly megabytes?: number
}

/** The id of the stub of the service; its CPU time and memory are not shown. */
export const STUB = 'stub'
const RATIO_DIGITS = 2
const LATENCY_DIGITS = 2

/** Rounds a figure to the digits that the page shows. */
export const roundTo = (figure: number, digits: number): number => Number(figure.toFixed(digits))

/** Compares two cases round by round, because what slows one round down slows down both. */
function ratio(row: Row, base: Row): Ratio {
  const ratios = row.rounds.map(({ perSecond }, i) => perSecond / (base.rounds[i]?.perSecond ?? Number.NaN))
  return {
    median: roundTo(median(ratios), RATIO_DIGITS),
    min: roundTo(Math.min(...ratios), RATIO_DIGITS),
    max: roundTo(Math.max(...ratios), RATIO_DIGITS),
  }
}

/** Reduces rounds to lines; ratios are to the case with the id `base` over as many connections. */
export function summarize(rows: readonly Row[], base: string): readonly Line[] {
  return rows.map((row) => {
    const { id, name, connections, rounds } = row
    const middle = (figure: (round: Round) => number | null, digits = 0) =>
      roundTo(median(rounds.map((round) => figure(round) ?? Number.NaN)), digits)
    const other = rows.find((one) => one.id === base && one.connections === connections)
    const cpuMicros = middle((round) => round.cpuMicros)
    const megabytes = middle((round) => round.megabytes)
    return {
      id,
      name,
      connections,
      perSecond: middle((round) => round.perSecond),
      ...(other && id !== base && { ratio: ratio(row, other) }),
      p50Ms: middle((round) => round.p50, LATENCY_DIGITS),
      p99Ms: middle((round) => round.p99, LATENCY_DIGITS),
      ...(id !== STUB && !Number.isNaN(cpuMicros) && { cpuMicros }),
      ...(id !== STUB && !Number.isNaN(megabytes) && { megabytes }),
    }
  })
}

/** Formats a whole number with separators between thousands. */
export const whole = (figure: number): string => Math.round(figure).toLocaleString('en-US')

/** Makes a Markdown table; every column but the first holds numbers. */
export function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  const rule = heads.map((_, i) => (i === 0 ? '---' : '---:'))
  return [heads, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

const ratioText = ({ median, min, max }: Ratio) =>
  `${median.toFixed(RATIO_DIGITS)} (${min.toFixed(RATIO_DIGITS)}–${max.toFixed(RATIO_DIGITS)})`

const unmeasured = (id: string) => (id === STUB ? '' : '–')

/** Makes the table of some cases; the base is in bold type. */
export function caseTable(lines: readonly Line[], base: string, unit: string): string {
  const cells = lines.map(({ id, name, perSecond, ratio, p50Ms, p99Ms, cpuMicros, megabytes }) => [
    id === base ? `**${name}**` : name,
    whole(perSecond),
    ratio ? ratioText(ratio) : '1',
    p50Ms.toFixed(LATENCY_DIGITS),
    p99Ms.toFixed(LATENCY_DIGITS),
    cpuMicros === undefined ? unmeasured(id) : whole(cpuMicros),
    megabytes === undefined ? unmeasured(id) : whole(megabytes),
  ])
  return table(['', unit, 'ratio (min–max)', 'p50 ms', 'p99 ms', 'CPU µs per call', 'memory MB'], cells)
}

/** Makes a table for each number of connections, the largest first. */
export function tablesByConnections(lines: readonly Line[], base: string, unit: string): string {
  const numbers = [...new Set(lines.map(({ connections }) => connections))].sort((one, other) => other - one)
  return numbers
    .map((number) => {
      const some = lines.filter(({ connections }) => connections === number)
      return `${number === 1 ? 'One connection' : `${number} connections`}:\n\n${caseTable(some, base, unit)}`
    })
    .join('\n\n')
}
