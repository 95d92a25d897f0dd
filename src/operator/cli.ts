import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { configurationErrors } from '../language/config/errors.ts'
import { programVersion } from '../language/config/version.ts'
import { CommandFailed, endWhenOutputCloses, reportFailure, UsageError } from './commands/failures.ts'
import { clearStatus, printError } from './commands/output.ts'
import { unsetIfBlank } from './commands/process.ts'

/** Runs with the operands of the command line and an object of its options; returns the exit code. */
type Run = (...args: never[]) => number | Promise<number>

interface CommandEntry {
  readonly about: string
  readonly options?: readonly Option[]
  /** Lines that the help adds, about files and words that the operands and options take. */
  readonly notes?: readonly string[]
  readonly examples: readonly string[]
  /** Loads only what the command needs. */
  readonly load: () => Promise<Run>
}

/** Takes a function of a module that is loaded when the command runs. */
const from =
  <Module>(load: () => Promise<Module>) =>
  <Name extends keyof Module>(name: Name) =>
  async () =>
    (await load())[name]
const bookings = from(() => import('./commands/bookings.ts'))
const mapping = from(() => import('./commands/mapping.ts'))
const store = from(() => import('./commands/store.ts'))
const tenants = from(() => import('./commands/tenants.ts'))
const webhooks = from(() => import('./commands/webhooks.ts'))
const xref = from(() => import('./commands/xref.ts'))

const option = (flags: string, about: string) => new Option(flags, about)
const json = (about = 'Prints JSON.') => option('--json', about)
const tenant = (about: string) => option('--tenant <NAME>', about)
const since = (about: string) => option('--since <TIME>', about)
const until = (about: string) => option('--until <TIME>', about)

function positiveCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a positive whole number.')
  return Number(text)
}

const TIMES = ['TIME is a date, with or without a time of day, or a duration before now, such as 2h or 30d.']
const UNTIL = until('Ends the doubt at this time. By default, it lasts until "store trust".')
const TIMES_OF_DOUBT = [...TIMES, 'For --until, TIME is a future date, or a duration from now.']
const EVENT_RANGE = [
  option('--state <STATE>', 'Selects events in this state.').choices([
    'recorded',
    'due',
    'delivered',
    'parked',
    'skipped',
  ]),
  tenant("Selects this tenant's events."),
  since('Selects events received at this time or later.'),
  until('Selects events received before this time.'),
]
const TENANTS_OPTION = option('--file <FILE>', 'The tenants file. The default is TENANTS_FILE.')
const XREF_FORMAT = option('--format <FORMAT>', "The file's format. The default depends on its name.").choices([
  'csv',
  'ndjson',
])
const XREF_COLUMNS = [
  'Columns: tenant, kind (quote or shipment), name, vin, id, at, given_by (caller or service). Only name and id are required.',
  'name can also be ShipmentNumber, ReferenceNumber, OrderRefNumber or number; id can be shipment_id, quote_id or uuid.',
]

/** The families of commands. */
const families: Readonly<Record<string, string>> = {
  bookings: 'Lists, shows, settles, reopens and audits bookings.',
  xref: 'Shows, imports and exports the cross-reference.',
  store: 'Backs up, restores, copies and verifies the store.',
  webhooks: 'Lists and replays events, and tests callbacks.',
  migration: 'Reports who still uses version 1 and what blocks them.',
  tenants: 'Adds, removes, checks and lists tenants.',
  mapping: 'Tests mapping modules.',
  certify: "Checks the gateway's assumptions about the service.",
}

/** The groups of the help and the documentation, with their commands and families. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  Start: ['demo', 'init', 'check', 'serve'],
  Operate: ['bookings', 'webhooks', 'tenants', 'healthcheck'],
  Migrate: ['translate', 'rehearse', 'migration', 'mapping', 'certify'],
  Store: ['store', 'xref'],
}

/** Every command by the words that run it, with its operands. The help and the documentation are made of this table. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    about: 'Runs the gateway, configured by the environment. This is the default command.',
    options: [
      option('--new-store', "Starts on a store that lacks this installation's bookings, which is otherwise refused."),
    ],
    examples: ['V2_BASE_URL=https://service.example.com PORT=80 transload serve'],
    load: async () => {
      const { startStoreThread } = await import('./commands/early-thread.ts')
      startStoreThread()
      return (await import('./commands/serve.ts')).serve
    },
  },
  init: {
    about:
      'Writes transload.env with every variable explained, and tenants.json for a gateway with several tenants. Overwrites nothing.',
    options: [option('--sidecar', "For a gateway next to one application. Passes on that application's credential.")],
    examples: ['transload init', 'transload init --sidecar'],
    load: from(() => import('./commands/init.ts'))('init'),
  },
  check: {
    about:
      'Checks the configuration, lookups, mappings, tenants file and store. Prints the settings in effect without secrets. Starts nothing.',
    options: [
      option('--connect', "Tries each of the gateway's credentials at the service, with Basic and with a token."),
      json(),
    ],
    examples: ['V2_BASE_URL=https://service.example.com transload check --json'],
    load: from(() => import('./commands/check.ts'))('check'),
  },
  'translate <ACTION> [FILE]': {
    about: 'Explains the translation of a version-1 request from a file or standard input. Sends nothing.',
    options: [
      json('Prints the explanation as JSON, as /dry-run does.'),
      option('--as <LANGUAGE>', 'Prints the version-2 call as a complete program.')
        .choices(['curl', 'php', 'python', 'csharp', 'java', 'javascript', 'perl'])
        .conflicts('json'),
    ],
    notes: ['ACTION is an action, or a legacy path whose action is chosen as in a call, by ActionName.'],
    examples: [
      'transload translate shipment.create body.json',
      'transload translate /createShipment.php body.json',
      `echo '{"ReferenceNumber":"REF-1"}' | transload translate shipment.get --json`,
      'transload translate quote.get body.json --as php',
    ],
    load: mapping('translate'),
  },
  'rehearse [FILES...]': {
    about: 'Reports how recorded version-1 calls would be handled. Sends nothing.',
    options: [
      option('--show-values', 'Shows values in examples instead of their shapes.'),
      option('--min-pass <PERCENT>', 'Exits with 1 if less than this percentage of calls pass, such as 99.9.'),
      json('Prints the report as JSON.'),
      option('--html <FILE>', 'Writes the report as a web page.'),
      option('--keep <LINE>', 'Prints this line or HAR entry, masked, as a case for "mapping test".').argParser(
        positiveCount,
      ),
      option('--lookups <FILE>', 'Writes values that no table knows to a LOOKUPS_FILE for you to edit.'),
      option('--learn <FILE>', 'Writes the numbers in the recording, for "xref import --format ndjson".'),
      tenant('The tenant of calls without a caller.'),
      option('--ignore <FIELDS>', 'Ignores these fields when comparing replies; separate them with commas.'),
      option(
        '--against <SERVICE>',
        'With the word "service": sends quotes and reads natively and translated, and compares the replies.',
      ),
      option('--rate <CALLS>', 'Maximum calls per second with --against.').default('5'),
    ],
    notes: [
      'FILES are JSON lines from RECORD_FILE, cases for "mapping test", or HAR files, plain or compressed with gzip or zstd.',
      'Without FILES, or with -, the command reads standard input.',
    ],
    examples: [
      'transload rehearse recording.ndjson.gz --min-pass 99.9',
      'transload rehearse recording.ndjson --html report.html --lookups lookups.json',
      'transload rehearse recording.ndjson --keep 17 > my-mappings/cases/refused.json',
    ],
    load: from(() => import('./commands/rehearse.ts'))('rehearse'),
  },
  'bookings list': {
    about: 'Lists bookings, oldest first. Settle the unknown ones.',
    options: [
      option('--state <STATE>', 'Lists only bookings in this state.').choices([
        'sending',
        'booked',
        'refused',
        'unknown',
        'freed',
      ]),
      tenant('Lists only bookings of this tenant.'),
      option('--reference <NAME>', 'Lists only bookings with this reference, VIN, key or shipment.'),
      since('Lists only bookings made at this time or later.'),
      json('Prints JSON, one line per booking.'),
    ],
    notes: TIMES,
    examples: ['transload bookings list --state unknown', 'transload bookings list --reference REF-1'],
    load: bookings('list'),
  },
  'bookings show <KEY>': {
    about: 'Shows a booking, its history, and what you can do.',
    options: [json()],
    examples: ['transload bookings show bk_0123456789ab'],
    load: bookings('show'),
  },
  'bookings settle <KEY>': {
    about: 'Records whether an unknown booking was made.',
    options: [
      option('--shipment-id <ID>', "The id of the service's shipment."),
      option('--number <NUMBER>', "That shipment's number, if callers use it."),
      option('--unchecked', 'Settles without asking the service.'),
      option(
        '--not-booked',
        'Records that the service made no shipment. Asks the service for the reference first.',
      ).conflicts(['shipmentId', 'number']),
      option('--yes', 'Confirms --not-booked in advance.'),
    ],
    examples: [
      'transload bookings settle bk_0123456789ab --shipment-id 6f1c1f5e-0000-4000-8000-000000000001',
      'transload bookings settle bk_0123456789ab --not-booked',
    ],
    load: bookings('settle'),
  },
  'bookings reopen <KEY>': {
    about: 'Undoes a settlement by an operator or the gateway.',
    examples: ['transload bookings reopen bk_0123456789ab'],
    load: bookings('reopen'),
  },
  'bookings audit <FILE>': {
    about: "Compares a list of shipments, such as the service's invoice, with the store's bookings. Changes nothing.",
    options: [
      option('--columns <NAMES>', 'Maps columns with unusual headers.'),
      tenant("Compares only with this tenant's bookings."),
      json('Prints JSON, one line per anomaly.'),
    ],
    notes: [
      'FILE is CSV with column headers in its first line. NAMES are number=HEADER, and likewise reference, vin, price, status and date.',
      "Dates without a time zone use this machine's (TZ). Exit codes: 1 if there is an anomaly, 65 if FILE cannot be read.",
      'The store does not record version-2 calls, so their shipments are shown as not booked here.',
    ],
    examples: ['transload bookings audit invoice.csv --columns "number=Order #,price=Total"'],
    load: from(() => import('./commands/audit.ts'))('audit'),
  },
  'xref get <NAME>': {
    about: "Shows the quotes and shipments of a caller's number.",
    options: [tenant('The tenant of the number.').env('V2_CLIENT_ID').makeOptionMandatory()],
    examples: ['transload xref get REF-1 --tenant acme'],
    load: xref('get'),
  },
  'xref import <FILE>': {
    about: 'Imports numbers from CSV or NDJSON, such as those of the version-1 host. Use - for standard input.',
    options: [
      tenant('The tenant of rows without one.').env('V2_CLIENT_ID'),
      XREF_FORMAT,
      option('--replace', 'Overwrites entries that differ.'),
      option('--restart', 'Starts at the first row instead of resuming an interrupted import.'),
      json('Prints the counts as JSON.'),
    ],
    notes: XREF_COLUMNS,
    examples: [
      'transload xref import numbers.csv --tenant acme',
      'transload xref import - --format ndjson < numbers.ndjson',
    ],
    load: xref('importNumbers'),
  },
  'xref export [FILE]': {
    about: 'Exports numbers in import format, to a file or standard output.',
    options: [
      tenant("Exports only this tenant's numbers."),
      XREF_FORMAT,
      option('--resume', 'Resumes after the last row of FILE.').conflicts('force'),
      option('--force', 'Overwrites FILE.'),
    ],
    notes: XREF_COLUMNS,
    examples: ['transload xref export numbers.csv --force'],
    load: xref('exportNumbers'),
  },
  'store backup <FILE>': {
    about: 'Copies the embedded store to a file while gateways run.',
    options: [option('--force', 'Overwrites FILE.')],
    examples: ['transload store backup /backups/transload.db'],
    load: store('backup'),
  },
  'store copy': {
    about: 'Copies the store to an empty one, such as SQLite to PostgreSQL. Stop all gateways first.',
    options: [
      option('--to <URL>', 'The new store: a path or postgres://…. An interrupted copy resumes.').makeOptionMandatory(),
    ],
    examples: ['transload store copy --to postgres://transload@db.example.com/transload'],
    load: store('copy'),
  },
  'store restore <FILE>': {
    about: 'Restores a backup, and marks bookings made after it as in doubt.',
    options: [
      since("Bookings may be missing since this time. The default is the backup's time."),
      UNTIL,
      option('--complete', 'Declares that nothing was written after the backup, so no booking is in doubt.').conflicts([
        'since',
        'until',
      ]),
      option('--force', 'Replaces a store that cannot be read.'),
    ],
    notes: TIMES_OF_DOUBT,
    examples: [
      'transload store restore /backups/transload.db',
      'transload store restore /backups/transload.db --since 2026-12-31T14:00Z --until 24h',
    ],
    load: store('restore'),
  },
  'store verify [FILE]': {
    about:
      'Checks the store or a backup: integrity, rows, bookings by state, copies, doubts. Exits with 1 if you need to act.',
    options: [json()],
    examples: ['transload store verify /backups/transload.db'],
    load: store('verify'),
  },
  'store doubt': {
    about: 'Declares that the store may lack bookings.',
    options: [since('Bookings may be missing since this time.').makeOptionMandatory(), UNTIL],
    notes: TIMES_OF_DOUBT,
    examples: ['transload store doubt --since 2h'],
    load: store('doubt'),
  },
  'store trust': {
    about: 'Ends the doubt about a store, and accepts a copied store.',
    examples: ['transload store trust'],
    load: store('trust'),
  },
  'webhooks list': {
    about: 'Lists events and their deliveries.',
    options: [...EVENT_RANGE, json('Prints JSON, one line per event.')],
    notes: TIMES,
    examples: ['transload webhooks list --state parked --since 2h'],
    load: webhooks('list'),
  },
  'webhooks show <ID>': {
    about: 'Shows an event as received, and its deliveries.',
    options: [json()],
    examples: ['transload webhooks show msg_0123456789abcdef'],
    load: webhooks('show'),
  },
  'webhooks replay [ID]': {
    about: 'Delivers an event again, or all selected events.',
    options: [...EVENT_RANGE, json()],
    notes: TIMES,
    examples: ['transload webhooks replay --state parked --tenant acme'],
    load: webhooks('replay'),
  },
  'webhooks skip <ID>': {
    about: "Skips an event so that the shipment's next event can be delivered.",
    options: [json()],
    examples: ['transload webhooks skip msg_0123456789abcdef'],
    load: webhooks('skip'),
  },
  'webhooks resume <TENANT>': {
    about: 'Resumes deliveries to a callback that answered 410.',
    options: [json()],
    examples: ['transload webhooks resume acme'],
    load: webhooks('resume'),
  },
  'webhooks test <TENANT>': {
    about: "Sends a signed sample event to a tenant's callback, and shows the response.",
    options: [json()],
    examples: ['transload webhooks test acme'],
    load: webhooks('test'),
  },
  'migration report': {
    about: 'Reports who still uses version 1 and what blocks them.',
    options: [tenant('Reports only on this tenant.'), json()],
    examples: ['transload migration report --tenant acme --json'],
    load: from(() => import('./commands/migration.ts'))('report'),
  },
  'tenants add <NAME>': {
    about: 'Adds a tenant with a generated secret, and shows the secret once.',
    options: [
      option('--id <ID>', "Its callers' Client ID. The default is the tenant's name."),
      option('--v2-client-id <ID>', 'Its Client ID at the service.').makeOptionMandatory(),
      option('--v2-secret-env <NAME>', 'The variable with its secret at the service.'),
      option('--v2-secret-file <PATH>', 'The file with its secret at the service.').conflicts('v2SecretEnv'),
      TENANTS_OPTION,
    ],
    examples: ['transload tenants add acme --v2-client-id acme-v2 --v2-secret-env ACME_SECRET --file tenants.json'],
    load: tenants('add'),
  },
  'tenants rotate <NAME>': {
    about: 'Gives a tenant a new secret, and shows it once. Old secrets keep working.',
    options: [option('--only', 'Removes the old secrets.'), TENANTS_OPTION],
    examples: ['transload tenants rotate acme --file tenants.json'],
    load: tenants('rotate'),
  },
  'tenants remove <NAME>': {
    about: 'Removes a tenant.',
    options: [TENANTS_OPTION],
    examples: ['transload tenants remove acme --file tenants.json'],
    load: tenants('remove'),
  },
  'tenants hash': {
    about: 'Reads a secret from standard input and prints its hash for the tenants file.',
    examples: ['transload tenants hash < secret.txt'],
    load: tenants('hash'),
  },
  'tenants check [FILE]': {
    about: 'Checks a tenants file. The default is TENANTS_FILE.',
    examples: ['transload tenants check tenants.json'],
    load: tenants('check'),
  },
  'tenants list [FILE]': {
    about: "Lists a file's tenants, without secrets.",
    options: [json('Prints JSON, one line per tenant.')],
    examples: ['transload tenants list tenants.json --json'],
    load: tenants('list'),
  },
  'mapping test [DIR]': {
    about: 'Runs the cases in DIR/cases against the modules in DIR.',
    options: [json('Prints JSON, one line per case.')],
    notes: ['DIR defaults to MAPPINGS_DIR, or to the folder "mappings".'],
    examples: ['transload mapping test my-mappings'],
    load: mapping('test'),
  },
  'certify assumptions': {
    about: "Tests the gateway's assumptions about the service.",
    options: [
      option(
        '--stage <URL>',
        "Confirms that the service's address is the stage. It must match V2_BASE_URL or the tenant's address.",
      ),
      option('--bookings', 'Allows test bookings, which are canceled at the end. Requires --stage.'),
      option('--only <IDS>', 'Tests only these assumptions; separate them with commas.'),
      tenant("Uses this tenant's credential."),
      option('--journal <FILE>', 'Records test bookings in this file.').default('transload-test-bookings.ndjson'),
    ],
    examples: [
      'transload certify assumptions > today.txt',
      'transload certify assumptions --stage https://stage.example.com --bookings',
    ],
    load: from(() => import('./commands/certify-assumptions.ts'))('certifyAssumptions'),
  },
  healthcheck: {
    about:
      'Checks that the gateway answers, for containers: on the admin listener, or on the public one if there is none.',
    examples: ['ADMIN_PORT=9902 transload healthcheck'],
    load: from(() => import('./commands/healthcheck.ts'))('healthcheck'),
  },
  demo: {
    about: 'Runs the gateway with a stand-in for the service, to try it out.',
    options: [
      option(
        '--chaos',
        'Puts the gateway and a naive proxy through failures side by side, and counts the bookings that each doubles or loses.',
      ),
      option('--with-history', 'Fills the pages: seven tenants, 90 days of counts, bookings, doubts, and events.'),
      option('--seconds <COUNT>', 'How long --chaos runs. The default is a minute.')
        .argParser(positiveCount)
        .implies({ chaos: true }),
      option('--naive <URL>', 'Runs the naive proxy.').hideHelp(),
    ],
    examples: ['PORT=8081 transload demo', 'transload demo --chaos'],
    load: from(() => import('./commands/demo.ts'))('demo'),
  },
}

/** Runs the command that the arguments name, or `serve` without arguments; returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  endWhenOutputCloses()
  const [name = 'serve', ...more] = args
  // A module of the operator may throw later. The gateway itself ends with the stack, which its operator needs.
  if (name !== 'serve') process.on('uncaughtException', endAsFailed)
  process.on('beforeExit', endAsStuck)
  let exitCode = 0
  const program = createProgram((code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(withHelp(program, [name, ...more]), { from: 'user' })
    return exitCode
  } catch (error) {
    // The help and the version end with 0.
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    const failed = reportFailure(error, [...wordsOf(namedBy(program, args)), '--help'].join(' '))
    const lacksService = configurationErrors(error)?.some((line) => line.startsWith('V2_BASE_URL is required'))
    if (args.length === 0 && lacksService) printError(FIRST_STEPS)
    return failed
  } finally {
    process.off('beforeExit', endAsStuck)
    clearStatus()
  }
}

const FIRST_STEPS = 'To try the gateway without a service, run "transload demo". To set one up, run "transload init".'

function endAsFailed(error: unknown): void {
  process.exit(reportFailure(error))
}

/** Ends a command that waits while nothing happens any more, which Node would end with a warning and 13. */
function endAsStuck(): void {
  endAsFailed(
    new CommandFailed('the command is waiting for something that cannot happen; check the modules in MAPPINGS_DIR'),
  )
}

/** Builds the command line of the table. */
function createProgram(onEnd: (exitCode: number) => void): Command {
  const program = new Command('transload')
    .description('A gateway that keeps version-1 integrations working with version 2.')
    .version(`transload ${programVersion()}`, '-v, --version', 'Show the version.')
    .helpOption('-h, --help', 'Show help.')
    .commandsGroup('Start:')
    .helpCommand(...HELP_COMMAND)
    .exitOverride()
    // `reportFailure` prints the mistakes, in one line.
    .configureOutput({ outputError: () => {} })
  const entries = Map.groupBy(Object.entries(commands), ([usage]) => usage.split(' ', 1)[0] ?? '')
  for (const [group, names] of Object.entries(groups)) {
    program.commandsGroup(`${group}:`)
    for (const name of names) for (const entry of entries.get(name) ?? []) addCommand(program, entry, onEnd)
  }
  return program
}

const HELP_COMMAND = ['help [COMMAND]', "Show a command's help."] as const

/** Adds a command of the table. */
function addCommand(
  program: Command,
  [usage, { about, options = [], notes = [], examples, load }]: readonly [string, CommandEntry],
  onEnd: (exitCode: number) => void,
): void {
  const [first = ''] = usage.split(' ')
  const family = families[first]
  const command = (family === undefined ? program : familyOf(program, first, family))
    .command(family === undefined ? usage : usage.slice(first.length + 1))
    .description(about)
    .addHelpText(
      'after',
      `\n${[...notes, ...(notes.length > 0 ? [''] : []), 'Examples:', ...examples.map((line) => `  ${line}`)].join('\n')}`,
    )
    .action(async (...args: unknown[]) => {
      refuseEmpty(command)
      const start = await load()
      // The last argument is the command itself. The compiler cannot see that the others are what the table says.
      onEnd(await start(...(args.slice(0, -1) as never[])))
    })
  for (const one of options) {
    if (one.envVar !== undefined) unsetIfBlank(one.envVar)
    command.addOption(one)
  }
}

/** Returns the command that the first words name. */
function namedBy(program: Command, [first = '', ...more]: readonly string[]): Command {
  const found = commandOf(program, first)
  return found ? namedBy(found, more) : program
}

/** Returns the words that run a command: `transload bookings list`. */
const wordsOf = (command: Command): readonly string[] => [
  ...(command.parent ? wordsOf(command.parent) : []),
  command.name(),
]

const isHelp = (word: string) => word === '--help' || word === '-h'

/**
 * Returns the words of a command line that asks for help as `bookings list --help`: `help bookings list` and `bookings help list`
 * mean that. A word that names no command stays alone, which is told; commander would print the help above it.
 */
function withHelp(program: Command, args: readonly string[]): readonly string[] {
  const [first = '', second] = args
  const asksFamily = second === 'help' && (commandOf(program, first)?.commands.length ?? 0) > 0
  if (first !== 'help' && !asksFamily && !args.some(isHelp)) return args
  const words = args.filter((word, i) => word !== 'help' || i > 1)
  const topic = words.slice(0, [...words, '-h'].findIndex(isHelp))
  const command = namedBy(program, topic)
  const known = wordsOf(command).slice(1)
  return known.length < topic.length && command.commands.length > 0 ? topic : [...known, '--help']
}

const commandOf = (program: Command, name: string): Command | undefined =>
  program.commands.find((command) => command.name() === name || command.alias() === name)

/** Returns the parent of the commands of a family; a singular means the same as the plural. */
function familyOf(program: Command, name: string, about: string): Command {
  const known = commandOf(program, name)
  if (known) return known
  const family = program
    .command(name)
    .description(about)
    .helpCommand(...HELP_COMMAND)
  return name.endsWith('s') ? family.alias(name.slice(0, -1)) : family
}

/** A script passes an empty text when its variable is not set. */
function refuseEmpty(command: Command): void {
  const option = command.options.find((one) => command.getOptionValue(one.attributeName()) === '')
  if (option) throw new UsageError(`${option.long} needs a value`)
  const operand = command.registeredArguments[command.args.indexOf('')]
  if (operand) throw new UsageError(`${command.name()} needs ${operand.name()}`)
}
