import { overwriteError, printError } from './output.ts'

const FIRST_AFTER_MS = 1_000

/** Reports the progress of long work on a terminal, at doubling intervals; elsewhere it reports nothing. */
export function createProgress(verb: string): (rows: number) => void {
  const startedAt = performance.now()
  let intervalMs = FIRST_AFTER_MS
  return (rows) => {
    const elapsedMs = performance.now() - startedAt
    if (!process.stderr.isTTY || elapsedMs < intervalMs) return
    intervalMs *= 2
    const perSecond = Math.round((rows * 1000) / elapsedMs)
    printError(`${count(rows)} ${verb}, ${count(perSecond)} per second`)
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
