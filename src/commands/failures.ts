import { debuglog, inspect } from 'node:util'
import { configurationErrors } from '../config/errors.ts'
import { EXIT_CONFIG, EXIT_FAILED, EXIT_USAGE } from '../exit-codes.ts'
import { StoreDown, StoreTooNew } from '../store/store.ts'
import { printError } from './output.ts'
import { accessReason, isAccessDenied } from './permissions.ts'

/** The command line is invalid. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly usage: readonly string[]

  constructor(message: string | undefined, usage: readonly string[]) {
    super(message ?? '')
    this.usage = usage
  }
}

/** A failure whose message tells the operator the reason. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

const debug = debuglog('transload')

/** Prints why a command failed, without a stack trace; returns the exit code. */
export function reportFailure(error: unknown): number {
  if (debug.enabled) printError(...inspect(error).split('\n'))
  if (error instanceof UsageError) {
    const message = error.message === '' ? [] : [`transload: ${error.message}`]
    const gap = message.length > 0 && error.usage.length > 0 ? [''] : []
    printError(...message, ...gap, ...error.usage)
    return EXIT_USAGE
  }
  const lines = configurationErrors(error)
  if (lines !== undefined) {
    const count = lines.length === 1 ? '1 configuration error' : `${lines.length} configuration errors`
    printError(`transload: ${count}`, ...lines.map((line) => `  ${line}`))
    return EXIT_CONFIG
  }
  if (error instanceof StoreTooNew) {
    printError(`transload: ${error.message}`)
    return EXIT_CONFIG
  }
  printError(`transload: ${reasonOf(error)}`)
  return EXIT_FAILED
}

function reasonOf(error: unknown): string {
  if (error instanceof CommandFailed || error instanceof StoreDown) return error.message
  if (isSystemError(error)) return systemReason(error)
  if (isAccessDenied(error)) return accessReason(error)
  return `internal error: ${error instanceof Error ? error.message : String(error)} (NODE_DEBUG=transload shows more)`
}

/** Tells whether the operating system refused something, such as opening a file. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** Describes an error of the operating system: `cannot open a.csv: no such file or directory`. */
export function systemReason({ message, code, syscall, path }: NodeJS.ErrnoException, file = path): string {
  // Node writes `ENOENT: no such file or directory, open 'a.csv'`.
  if (syscall === 'uv_cwd') return 'the current folder does not exist any more; change to another one'
  const reason = /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? code ?? message
  return `cannot ${syscall}${file === undefined ? '' : ` ${file}`}: ${reason}`
}
