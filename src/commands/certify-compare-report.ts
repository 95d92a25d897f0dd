import type { FieldTally, Tally } from '../certify/compare.ts'
import { percent, plural } from '../migration/wording.ts'
import { print, printError } from './output.ts'

/** The result of `certify compare`. */
export interface CompareReport {
  readonly tally: Tally
  /** Calls without a verdict, each with the reason. */
  readonly notCompared: readonly { readonly from: string; readonly why: string }[]
  /** How many calls of an action were not sent, because they create or change something. */
  readonly skipped: ReadonlyMap<string, number>
  readonly minEqual: number
  /** True if a signal ended the command early. */
  readonly isStopped: boolean
}

/** Tells if enough fields are equal. Nothing compared is not enough. */
export function isEqualEnough({ tally, minEqual, isStopped }: CompareReport): boolean {
  const share = tally.equalShare()
  return share !== undefined && share >= minEqual && !isStopped
}

/** Prints the table, and what could not be compared. */
export function printReport(report: CompareReport): void {
  const { tally, notCompared, skipped, minEqual, isStopped } = report
  const fields = tally.fields()
  if (fields.length > 0) print(...tableOf(fields), '')
  const share = tally.equalShare()
  print(
    share === undefined
      ? 'Nothing was compared: no call was answered.'
      : `${percent(share)} of the compared fields are equal; the least is ${percent(minEqual)}.`,
  )
  for (const [action, count] of skipped) printError(`not sent: ${plural(count, 'call')} of ${action}, which ${WRITES}`)
  for (const { from, why } of notCompared) printError(`not compared: ${from}: ${why}`)
  if (isStopped) printError('stopped before all calls were compared')
}

const WRITES = 'creates or changes something'

const HEAD = ['action', 'field', 'equal', 'differs', 'noise', 'native → translated'] as const

function tableOf(fields: readonly FieldTally[]): readonly string[] {
  const rows = fields.map(({ action, field, counts, examples }) => [
    action,
    field,
    String(counts.equal),
    String(counts.differs),
    String(counts.noise),
    examples.map(({ native, translated }) => `${native || ABSENT} → ${translated || ABSENT}`).join(', '),
  ])
  const lines = [[...HEAD], ...rows]
  const widths = HEAD.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)))
  return lines.map((cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

const ABSENT = '(absent)'
