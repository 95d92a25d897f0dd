import { parseArgs } from 'node:util'
import { isConfigurationErrors } from './config/errors.ts'
import { EXIT_CONFIG, EXIT_USAGE } from './exit-codes.ts'
import { StoreTooNew } from './store/store.ts'

/** A command gets its words and gives the exit code; it is loaded when it is called. */
type Command = (words: readonly string[]) => Promise<number>

interface Named {
  readonly about: string
  /** Whether it takes no words, so that any is a mistake. */
  readonly alone?: true
  readonly load: () => Promise<Command>
}

const commands: Readonly<Record<string, Named>> = {
  serve: {
    about: 'Runs the gateway; the environment configures it.',
    alone: true,
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  check: {
    about: 'Checks the configuration and the mappings without starting.',
    alone: true,
    load: async () => (await import('./commands/check.ts')).check,
  },
  translate: {
    about: 'Explains the translation of a version-1 request: translate <action> [file] [--json]',
    load: async () => (await import('./commands/translate.ts')).translate,
  },
  xref: {
    about: 'Shows, imports and exports the cross-reference: xref get|import|export',
    load: async () => (await import('./commands/xref.ts')).xref,
  },
  bookings: {
    about: 'Lists, shows and settles bookings: bookings list|show|settle',
    load: async () => (await import('./commands/bookings.ts')).bookings,
  },
  tenants: {
    about: 'Hashes secrets, and checks and lists the tenants file: tenants hash|check|list',
    load: async () => (await import('./commands/tenants.ts')).tenants,
  },
  auth: {
    about: 'Tries both ways to authenticate at the service, for every tenant: auth rehearse',
    load: async () => (await import('./commands/auth.ts')).auth,
  },
  healthcheck: {
    about: 'Asks the running gateway whether it lives, for containers.',
    alone: true,
    load: async () => (await import('./commands/healthcheck.ts')).healthcheck,
  },
  demo: {
    about: 'Runs the gateway before a stand-in of the service, to try it out.',
    alone: true,
    load: async () => (await import('./commands/demo.ts')).demo,
  },
}

/** Runs the command that the words name; without one, the gateway. */
export async function run(words: readonly string[]): Promise<number> {
  const [name = 'serve', ...rest] = words
  if (name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(usage())
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) {
    process.stderr.write(`transload: there is no command ${name}\n\n${usage()}`)
    return EXIT_USAGE
  }
  // Whoever reads the output may have seen enough: `transload xref export | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  try {
    if (command.alone) parseArgs({ args: rest })
    return await (await command.load())(rest)
  } catch (error) {
    if (isConfigurationErrors(error)) {
      process.stderr.write(`transload: ${error.mistakes.length} to mend before it can start\n`)
      for (const mistake of error.mistakes) process.stderr.write(`  ${mistake}\n`)
      return EXIT_CONFIG
    }
    if (error instanceof StoreTooNew) {
      process.stderr.write(`transload: ${error.message}\n`)
      return EXIT_CONFIG
    }
    if (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')) {
      process.stderr.write(`transload: ${error.message}\n`)
      return EXIT_USAGE
    }
    throw error
  }
}

function usage(): string {
  const lines = Object.entries(commands).map(([name, { about }]) => `  ${name.padEnd(12)} ${about}`)
  return `Usage: transload [command]\n\n${lines.join('\n')}\n`
}
