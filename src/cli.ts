import { readOperands } from './commands/arguments.ts'
import { CommandFailed, reportFailure, UsageError } from './commands/failures.ts'
import { type Help, HelpAsked, helpOf } from './commands/help.ts'
import { endWhenOutputCloses, print } from './commands/output.ts'
import { programVersion } from './config/version.ts'
import { suggestion } from './text/nearest.ts'

/** Runs a command with the arguments after its name; returns the exit code. */
type Command = (args: readonly string[]) => Promise<number>

interface CommandEntry {
  readonly about: string
  /**
   * True where the command takes arguments.
   * @default false
   */
  readonly takesArguments?: true
  /** For the help of a command that takes no arguments. */
  readonly examples?: readonly string[]
  readonly load: () => Promise<Command>
}

const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    about: 'Runs the gateway; the environment configures it.',
    examples: [
      'V2_BASE_URL=https://service.example.com transload serve',
      'V2_BASE_URL=https://service.example.com PORT=80 WORKERS=2 transload serve',
    ],
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  check: {
    about: 'Checks the configuration and the mappings without starting, and prints what is in effect: check [--json]',
    takesArguments: true,
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
  store: {
    about: 'Backs up, restores, verifies and prunes the store: store backup|restore|verify|prune|doubt|trust',
    takesArguments: true,
    load: async () => (await import('./commands/store-command.ts')).store,
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
  mapping: {
    about: 'Writes mapping modules to begin with, and tests them: mapping new|test',
    takesArguments: true,
    load: async () => (await import('./commands/mapping.ts')).mapping,
  },
  auth: {
    about: 'Tries both ways to authenticate at the service, for every tenant: auth rehearse',
    takesArguments: true,
    load: async () => (await import('./commands/auth.ts')).auth,
  },
  certify: {
    about: 'Checks that the service is what the gateway takes it for: certify assumptions|compare',
    takesArguments: true,
    load: async () => (await import('./commands/certify.ts')).certify,
  },
  healthcheck: {
    about: 'Checks that the running gateway answers, for containers.',
    examples: ['transload healthcheck', 'ADMIN_PORT=9902 transload healthcheck'],
    load: async () => (await import('./commands/healthcheck.ts')).healthcheck,
  },
  demo: {
    about: 'Runs the gateway in front of a stand-in of the service, to try it out.',
    examples: ['transload demo', 'PORT=8081 transload demo'],
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  completion: {
    about: 'Prints a script that completes commands in a shell: completion bash|zsh',
    takesArguments: true,
    load: async () => (await import('./commands/completion.ts')).createCompletion(helpOfAll),
  },
}

const usage: readonly string[] = [
  'Usage: transload [command]',
  '',
  ...Object.entries(commands).map(([name, { about }]) => `  ${name.padEnd(12)} ${about}`),
  '',
  '  --help       Prints this; "transload help COMMAND" prints the options and examples of a command.',
  '  --version    Prints the version of the program; also after a command.',
]

/** Runs the command that the arguments name, or `serve` without arguments; returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  endWhenOutputCloses()
  const [name] = args
  // A module of the operator may throw later. The gateway itself ends with the stack, which its operator needs.
  if (name !== undefined && name !== 'serve') process.on('uncaughtException', endAsFailed)
  process.on('beforeExit', endAsStuck)
  try {
    return await dispatch(args)
  } catch (error) {
    return reportFailure(error)
  } finally {
    process.off('beforeExit', endAsStuck)
  }
}

function endAsFailed(error: unknown): void {
  process.exit(reportFailure(error))
}

/** Ends a command that waits while nothing happens any more, which Node would end with a warning and 13. */
function endAsStuck(): void {
  endAsFailed(new CommandFailed('the command waits for something that never comes; see the modules of MAPPINGS_DIR'))
}

async function dispatch([name = 'serve', ...args]: readonly string[]): Promise<number> {
  const [topic] = args
  const end = args.indexOf('--')
  const isVersion = [name, ...(end === -1 ? args : args.slice(0, end))].includes('--version')
  if (name === 'help' && topic !== undefined) return dispatch([topic, '--help'])
  if (name === 'help' || name === '--help' || name === '-h') {
    print(...usage)
    return 0
  }
  if (isVersion || name === '-v' || name === 'version') {
    print(`transload ${programVersion()}`)
    return 0
  }
  const [known, command] = commandNamed(name)
  try {
    return await start(known, command, args)
  } catch (error) {
    if (!(error instanceof HelpAsked)) throw error
    print(...helpOf(command.about, error.help))
    return 0
  }
}

/** Finds a command; the singular and the plural of its name mean the same. */
function commandNamed(name: string): readonly [name: string, command: CommandEntry] {
  for (const known of [name, `${name}s`, name.replace(/s$/, '')]) {
    const command = Object.hasOwn(commands, known) ? commands[known] : undefined
    if (command) return [known, command]
  }
  const [kind, known] = name.startsWith('-')
    ? (['option', ['--help', '--version']] as const)
    : (['command', Object.keys(commands)] as const)
  throw new UsageError(`unknown ${kind} ${name}${suggestion(name, known)}`, usage)
}

async function start(
  name: string,
  { takesArguments, examples = [], load }: CommandEntry,
  args: readonly string[],
): Promise<number> {
  if (!takesArguments) {
    readOperands(name, args, { usage: [`Usage: transload ${name}`], options: {}, operands: [], examples })
  }
  return (await load())(args)
}

/** Asks every command for its help. */
async function helpOfAll(): Promise<Readonly<Record<string, Help>>> {
  const all: Record<string, Help> = {}
  for (const [name, command] of Object.entries(commands)) {
    try {
      await start(name, command, ['--help'])
    } catch (error) {
      if (!(error instanceof HelpAsked)) throw error
      all[name] = error.help
    }
  }
  return all
}
