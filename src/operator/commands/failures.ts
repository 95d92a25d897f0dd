import { debuglog, inspect } from 'node:util'
import { CommanderError } from 'commander'
import type { Config } from '../../language/config/config.ts'
import { configurationErrors } from '../../language/config/errors.ts'
import { errorCodeOf } from '../../language/config/json-file.ts'
import { StoreDown, StoreTooNew } from '../../outside/store/store.ts'
import { printError } from './output.ts'

/** The command failed. */
export const EXIT_FAILED = 1

/** EX_USAGE of sysexits.h: the command line has an error. */
const EXIT_USAGE = 64

/** EX_DATAERR of sysexits.h: a file that the command reads cannot be read. */
export const EXIT_UNREADABLE = 65

/** EX_CONFIG of sysexits.h: a start fails until the configuration is corrected. */
const EXIT_CONFIG = 78

/** A check of the service contradicts an assumption of the gateway. */
export const EXIT_CONTRADICTED = 2

/** The command line is invalid in a way that its grammar does not tell. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A failure whose message tells the operator the reason. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

/** A file that cannot be read to its end; the message tells what it is or has. Rows before the error may have been imported. */
export class FileUnreadable extends Error {
  override readonly name = 'FileUnreadable'
}

const debug = debuglog('transload')

/**
 * Prints why a command failed, without a stack trace; returns the exit code. `help` is the command line that explains the
 * arguments.
 */
export function reportFailure(error: unknown, help = 'transload --help'): number {
  if (debug.enabled) printError(...inspect(error).split('\n'))
  if (error instanceof UsageError || error instanceof CommanderError) {
    // A family of commands without one of them has printed its help.
    if (!('code' in error && error.code === 'commander.help'))
      printError(`transload: ${mistakeIn(error)} See "${help}".`)
    return EXIT_USAGE
  }
  const lines = configurationErrors(error)
  if (lines !== undefined) {
    const count = lines.length === 1 ? '1 configuration error' : `${lines.length} configuration errors`
    printError(`transload: ${count}`, ...lines.map((line) => `  ${line}`))
    return EXIT_CONFIG
  }
  printError(`transload: ${reasonOf(error)}`)
  return error instanceof StoreTooNew ? EXIT_CONFIG : EXIT_FAILED
}

/** Returns a mistake as a sentence. Commander writes `error: unknown option '--jsno'`, and its suggestion on a second line. */
function mistakeIn({ message }: Error): string {
  const mistake = message
    .replace(/^error: /, '')
    // A surplus word may be a secret.
    .replace(/^(too many arguments[^.]*)\..*/s, '$1')
    .replace(/'(--[a-z\d-]+ <[A-Z]+>|[^' ]+)'/g, '$1')
    .replace(/'([^']+)'/g, '"$1"')
    .replace(/\n\(D(id you mean [^\n]*\?)\)$/, '; d$1')
  return /[.?]$/.test(mistake) ? mistake : `${mistake}.`
}

function reasonOf(error: unknown): string {
  const isPlain = error instanceof CommandFailed || error instanceof StoreDown || error instanceof StoreTooNew
  if (isPlain) return error.message
  if (isSystemError(error)) return systemReason(error)
  if (isAccessDenied(error)) return [error.resource, error.message].filter(Boolean).join(': ')
  return `internal error: ${error instanceof Error ? error.message : String(error)} (NODE_DEBUG=transload shows more)`
}

/** Reports whether the operating system refused something, such as opening a file. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** Describes an error of the operating system: `cannot open a.csv: no such file or directory`. */
function systemReason({ message, code, syscall, path }: NodeJS.ErrnoException, file = path): string {
  // Node writes `ENOENT: no such file or directory, open 'a.csv'`.
  if (syscall === 'uv_cwd') return 'the current folder no longer exists; change to another one'
  const reason = /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? code ?? message
  return `cannot ${syscall}${file === undefined ? '' : ` ${file}`}: ${reason}`
}

/** Returns an error of a file as a failure that names it, and any other error as it is. */
export function namingFile(error: unknown, file: string): unknown {
  if (error instanceof FileUnreadable) return new CommandFailed(`${file} ${error.message}`)
  return isSystemError(error) ? new CommandFailed(systemReason(error, file)) : error
}

/** Reports whether Node's permission model refused an access; the message names the flag that would allow it. */
const isAccessDenied = (error: unknown): error is Error & { readonly resource?: string } =>
  errorCodeOf(error) === 'ERR_ACCESS_DENIED'

/** Returns an error that names the setting of an address that cannot be used; any other error unchanged. */
export function listenFailure(error: unknown, { HOST, PORT, ADMIN_HOST, ADMIN_PORT }: Config): unknown {
  if (!isSystemError(error) || !/^(listen|bind|getaddrinfo)$/.test(error.syscall ?? '')) return error
  // Node reports the address and the port, or the name alone.
  const tried = { address: undefined, hostname: undefined, port: undefined, ...error }
  const wanted = tried.hostname ?? tried.address
  const isAdmin =
    tried.port === undefined || PORT === ADMIN_PORT
      ? wanted === ADMIN_HOST && wanted !== HOST
      : tried.port === ADMIN_PORT
  const [host, port, prefix] = isAdmin ? [ADMIN_HOST, ADMIN_PORT, 'ADMIN_'] : [HOST, PORT, '']
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} on ${host} is in use; stop the other program or change ${prefix}PORT`,
    EACCES: `no permission to listen on port ${port}; change ${prefix}PORT to one above 1023`,
    EADDRNOTAVAIL: `${prefix}HOST is ${host}, which is not an address of this machine`,
    ENOTFOUND: `${prefix}HOST is ${host}, a name without an address (${error.code})`,
    EAI_AGAIN: `${prefix}HOST is ${host}, a name without an address (${error.code})`,
  }
  const other = `cannot listen on port ${port} of ${host} (${error.code}); see ${prefix}HOST and ${prefix}PORT`
  return new CommandFailed(reasons[error.code ?? ''] ?? other)
}

/**
 * Ends the process when standard output takes no more: quietly when its reader has closed it, as in
 * `transload xref export | head`, else as a failure, such as on a full disk.
 */
export function endWhenOutputCloses(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(0)
    printError(`transload: cannot write standard output: ${message}`)
    process.exit(EXIT_FAILED)
  })
  // A message that cannot be shown does not change the exit code.
  process.stderr.on('error', () => {})
}
