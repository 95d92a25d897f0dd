import { escapeControls, printableJson } from '../../language/text/service-text.ts'
import { aligned, grouped } from '../words.ts'

/*
 * Writes all terminal output of commands. Only printable text and the commands' own line ends pass, whatever names callers
 * or the service chose.
 */

/** Prints lines on standard output; a line break inside one of them is shown as its escape sequence. */
export function print(...lines: readonly string[]): void {
  clearStatus()
  process.stdout.write(joined(lines))
}

/** Prints lines on standard error, apart from the data on standard output. */
export function printError(...lines: readonly string[]): void {
  clearStatus()
  process.stderr.write(joined(lines))
}

/** Prints a value as JSON on standard output: on one line, or indented for people. */
export function printJson(value: unknown, indent?: number): void {
  clearStatus()
  process.stdout.write(`${printableJson(value, indent)}\n`)
}

/** The options of a command: those that are set or not, and those with a text. */
export type Options<Flag extends string, Text extends string = never> = {
  readonly [Name in Flag]?: boolean
} & { readonly [Name in Text]?: string }

export type JsonOption = Options<'json'>

/** Prints a result: as JSON if that is asked for, else as lines. */
export function printResult({ json }: JsonOption, value: object, ...lines: readonly string[]): number {
  if (json) printJson(value)
  else print(...lines)
  return 0
}

/** Prints pages of things, each on a line: as JSON, or as cells below the names of the columns; returns how many there are. */
export async function printPages<Thing, Column extends string, View extends Readonly<Record<Column, string | number>>>(
  pages: AsyncIterable<readonly Thing[]>,
  { json }: JsonOption,
  viewOf: (thing: Thing) => View,
  columns: readonly Column[],
): Promise<number> {
  const heading = columns.map((name) => name.toUpperCase())
  const cellsOf = (view: View) => [...columns.map((name) => String(view[name]) || '-')]
  let printed = 0
  for await (const page of pages) {
    const views = page.map(viewOf)
    // Every page is as wide as the heading, which stands above the first one.
    if (json) for (const view of views) printJson(view)
    else print(...aligned([heading, ...views.map(cellsOf)]).slice(printed === 0 && page.length > 0 ? 0 : 1))
    printed += page.length
  }
  return printed
}

/** Returns to the start of the line, and erases it. */
const ERASE_LINE = '\r\u001b[2K'
/** The width of a terminal that does not tell its own. */
const PLAIN_COLUMNS = 80
let hasStatus = false

/** Shows a line on the terminal of standard error that the next output replaces; elsewhere it shows nothing. */
function showStatus(line: string): void {
  if (!process.stderr.isTTY) return
  process.stderr.write(ERASE_LINE + escapeControls(line).slice(0, (process.stderr.columns || PLAIN_COLUMNS) - 1))
  hasStatus = true
}

/** Removes the line of `showStatus`. */
export function clearStatus(): void {
  if (hasStatus) process.stderr.write(ERASE_LINE)
  hasStatus = false
}

/** Prompts on the terminal, on the same line as the answer. */
export function prompt(question: string): void {
  if (process.stdin.isTTY) process.stderr.write(escapeControls(question))
}

const joined = (lines: readonly string[]): string => lines.map((line) => `${escapeControls(line)}\n`).join('')

const REDRAWN_EVERY_MS = 100
const FIRST_LINE_AFTER_MS = 5_000

/**
 * Returns the function that reports progress: on a terminal as one line that changes until the next output, elsewhere as lines at
 * doubling intervals. It takes how many `things` there are so far, and the share of the work that they are, where it is known.
 */
export function createProgress(verb: string, things = 'rows') {
  const startedAt = performance.now()
  let nextMs = process.stderr.isTTY ? REDRAWN_EVERY_MS : FIRST_LINE_AFTER_MS
  return (count: number, share?: number) => {
    const elapsedMs = performance.now() - startedAt
    if (elapsedMs < nextMs) return
    const perSecond = Math.round((count * 1000) / elapsedMs)
    const percent = share === undefined ? '' : ` (${Math.floor(100 * share)} %)`
    const line = `${grouped(count)} ${things} ${verb}${percent}, ${grouped(perSecond)} per second`
    if (process.stderr.isTTY) {
      nextMs = elapsedMs + REDRAWN_EVERY_MS
      showStatus(line)
    } else {
      nextMs *= 2
      printError(line)
    }
  }
}
