import { clearStatus, overwriteError, printError, showStatus } from './output.ts'

const REDRAWN_EVERY_MS = 100
const FIRST_LINE_AFTER_MS = 5_000

/** Reports the progress of long work. */
export interface Progress {
  /** Takes the rows so far, and the share of the work that they are, where it is known. */
  readonly update: (rows: number, share?: number) => void
  readonly end: () => void
}

/** Reports progress: on a terminal as one line that changes, elsewhere as lines at doubling intervals. */
export function createProgress(verb: string): Progress {
  const startedAt = performance.now()
  let nextMs = process.stderr.isTTY ? REDRAWN_EVERY_MS : FIRST_LINE_AFTER_MS
  return {
    update(rows, share) {
      const elapsedMs = performance.now() - startedAt
      if (elapsedMs < nextMs) return
      const perSecond = Math.round((rows * 1000) / elapsedMs)
      const percent = share === undefined ? '' : ` (${Math.floor(100 * share)} %)`
      const line = `${count(rows)} rows ${verb}${percent}, ${count(perSecond)} per second`
      if (process.stderr.isTTY) {
        nextMs = elapsedMs + REDRAWN_EVERY_MS
        showStatus(line)
      } else {
        nextMs *= 2
        printError(line)
      }
    },
    end: clearStatus,
  }
}

const BAR_WIDTH = 30

/** Shows a progress bar on a terminal; elsewhere nothing. */
export function createProgressBar(total: number): (done: number) => void {
  return (done) => {
    if (!process.stderr.isTTY || total === 0) return
    const filled = Math.floor((BAR_WIDTH * done) / total)
    const bar = '#'.repeat(filled) + '-'.repeat(BAR_WIDTH - filled)
    overwriteError(`[${bar}] ${count(done)} of ${count(total)}`, done === total)
  }
}

/** Writes a number with commas between thousands. */
export const count = (rows: number): string => rows.toLocaleString('en-US')

/** Writes a number with a noun, whose plural has an `s`. */
export const several = (things: number, noun: string): string => `${count(things)} ${noun}${things === 1 ? '' : 's'}`
