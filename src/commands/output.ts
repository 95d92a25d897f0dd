import { escapeControls, printableJson } from '../text/plain-text.ts'

/*
 * Writes all terminal output of commands. Only printable text and the commands' own line ends pass, whatever names callers
 * or the service chose.
 */

/** Prints lines on standard output; a line break inside one of them is shown as its escape sequence. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(joined(lines))
}

/** Prints lines on standard error, apart from the data on standard output. */
export function printError(...lines: readonly string[]): void {
  process.stderr.write(joined(lines))
}

/** Prints a line on standard error over the one before; the last one stays. */
export function overwriteError(line: string, isLast: boolean): void {
  process.stderr.write(`\r${escapeControls(line)}${isLast ? '\n' : ''}`)
}

/** Prints a value as JSON on standard output: on one line, or indented for people. */
export function printJson(value: unknown, indent?: number): void {
  process.stdout.write(`${printableJson(value, indent)}\n`)
}

/** Prompts on the terminal, on the same line as the answer. */
export function prompt(question: string): void {
  if (process.stdin.isTTY) process.stderr.write(escapeControls(question))
}

const joined = (lines: readonly string[]): string => lines.map((line) => `${escapeControls(line)}\n`).join('')

/** Ends the process quietly when the reader of standard output closes it, as in `transload xref export | head`. */
export function endWhenOutputCloses(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
}
