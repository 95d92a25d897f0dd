import { readOperands } from './commands/arguments.ts'
import { reportFailure, UsageError } from './commands/failures.ts'
import { suggestion } from './commands/nearest.ts'
import { endWhenOutputCloses, print } from './commands/output.ts'
import { programVersion } from './config/version.ts'

/** Runs a command with the arguments after its name; returns the exit code. */
type Command = (args: readonly string[]) => Promise<number>

interface CommandEntry {
  readonly about: string
  /**
   * True where the command takes arguments.
   * @default false
   */
  readonly takesArguments?: true
  readonly load: () => Promise<Command>
}

const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    about: 'Runs the gateway; the environment configures it.',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  check: {
    about: 'Checks the configuration and the mappings without starting.',
    load: async () => (await import('./commands/check.ts')).check,
  },
  translate: {
    about: 'Explains the translation of a version-1 request: translate <action> [file] [--json]',
    takesArguments: true,
    load: async () => (await import('./commands/translate.ts')).translate,
  },
  xref: {
    about: 'Shows, imports and exports the cross-reference: xref get|import|export',
    takesArguments: true,
    load: async () => (await import('./commands/xref.ts')).xref,
  },
  bookings: {
    about: 'Lists, shows, settles and reopens bookings: bookings list|show|settle|reopen',
    takesArguments: true,
    load: async () => (await import('./commands/bookings.ts')).bookings,
  },
  webhooks: {
    about: 'Lists and replays events, and tests callbacks: webhooks list|show|replay|skip|resume|test',
    takesArguments: true,
    load: async () => (await import('./commands/webhooks.ts')).webhooks,
  },
  migration: {
    about: 'Reports who still uses version 1, and what keeps them: migration report',
    takesArguments: true,
    load: async () => (await import('./commands/migration.ts')).migration,
  },
  tenants: {
    about: 'Hashes secrets, and checks and lists the tenants file: tenants hash|check|list',
    takesArguments: true,
    load: async () => (await import('./commands/tenants.ts')).tenants,
  },
  auth: {
    about: 'Tries both ways to authenticate at the service, for every tenant: auth rehearse',
    takesArguments: true,
    load: async () => (await import('./commands/auth.ts')).auth,
  },
  healthcheck: {
    about: 'Checks that the running gateway answers, for containers.',
    load: async () => (await import('./commands/healthcheck.ts')).healthcheck,
  },
  demo: {
    about: 'Runs the gateway in front of a stand-in of the service, to try it out.',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
}

const usage: readonly string[] = [
  'Usage: transload [command]',
  '',
  ...Object.entries(commands).map(([name, { about }]) => `  ${name.padEnd(12)} ${about}`),
  '',
  '  --help       Prints this.',
  '  --version    Prints the version of the program.',
]

/** Runs the command that the arguments name, or `serve` without arguments; returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  endWhenOutputCloses()
  try {
    return await dispatch(args)
  } catch (error) {
    return reportFailure(error)
  }
}

async function dispatch([name = 'serve', ...args]: readonly string[]): Promise<number> {
  if (name === 'help' || name === '--help' || name === '-h') {
    print(...usage)
    return 0
  }
  if (name === '--version' || name === '-v') {
    print(`transload ${programVersion()}`)
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) {
    const [kind, known] = name.startsWith('-')
      ? (['option', ['--help', '--version']] as const)
      : (['command', Object.keys(commands)] as const)
    throw new UsageError(`unknown ${kind} ${name}${suggestion(name, known)}`, usage)
  }
  if (!command.takesArguments) readOperands(name, args, { usage: [], options: {}, operands: [] })
  return (await command.load())(args)
}
