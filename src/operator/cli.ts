import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { programVersion } from '../language/config/version.ts'
import { CommandFailed, reportFailure, UsageError } from './commands/failures.ts'
import { endWhenOutputCloses } from './commands/output.ts'

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

const option = (flags: string, about: string) => new Option(flags, about)
const json = (about = 'Prints JSON.') => option('--json', about)
const tenant = (about: string) => option('--tenant <NAME>', about)
const since = (about: string) => option('--since <TIME>', about)
const until = (about: string) => option('--until <TIME>', about)

function positiveCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It takes a whole number from 1 on.')
  return Number(text)
}

const TIMES = ['TIME is a date, with or without a time of day, or a duration before now such as 2h or 30d.']
const EVENT_RANGE = [
  option('--state <STATE>', 'Takes only events in this state.').choices([
    'recorded',
    'due',
    'delivered',
    'parked',
    'skipped',
  ]),
  tenant('Takes only events of this tenant.'),
  since('Takes only events that came at this time or later.'),
  until('Takes only events that came before this time.'),
]
const TENANTS_OPTION = option('--file <FILE>', 'The tenants file; by default that of TENANTS_FILE.')
const XREF_FORMAT = option('--format <FORMAT>', 'The form of the file; by default that of its name.').choices([
  'csv',
  'ndjson',
])
const XREF_COLUMNS = [
  'Columns: tenant, kind (quote or shipment), name, vin, id, at, given_by (caller or service). Only name and id are required.',
  'ShipmentNumber, ReferenceNumber, OrderRefNumber and number are names too; shipment_id, quote_id and uuid are ids.',
]

/** The families of commands. */
const families: Readonly<Record<string, string>> = {
  bookings: 'Lists, shows, settles and reopens bookings.',
  xref: 'Shows, imports and exports the cross-reference.',
  store: 'Backs up, restores, copies, verifies and prunes the store.',
  webhooks: 'Lists and replays events, and tests callbacks.',
  migration: 'Reports who still uses version 1, and what keeps them.',
  tenants: 'Adds, removes, imports, checks and lists tenants.',
  mapping: 'Tests mapping modules.',
  certify: 'Checks that the service is what the gateway takes it for.',
}

/** Every command by the words that run it, with its operands. The help and the documentation are made of this table. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    about: 'Runs the gateway; the environment configures it. It is what runs without a command.',
    options: [
      option('--new-store', 'Starts on a store that lacks bookings of this installation, which is else refused.'),
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
      'Writes transload.env with every variable and its meaning, and tenants.json for a shared edge; overwrites nothing.',
    options: [option('--sidecar', 'For one application beside the gateway, whose own credential is passed on.')],
    examples: ['transload init', 'transload init --sidecar'],
    load: async () => (await import('./commands/init.ts')).init,
  },
  check: {
    about:
      'Checks the configuration, the lookups, the mappings and the tenants file, tries the store, and prints what is in effect without secrets; starts nothing.',
    options: [
      option('--all', 'Prints all variables, also those that are not set.'),
      option('--connect', 'Tries each credential of the gateway at the service, with Basic and with a token.'),
      json(),
    ],
    examples: ['V2_BASE_URL=https://service.example.com transload check --json'],
    load: async () => (await import('./commands/check.ts')).check,
  },
  'translate <ACTION> [FILE]': {
    about: 'Explains the translation of a version-1 request from a file or standard input; sends nothing.',
    options: [
      json('Prints the explanation as JSON, as /dry-run answers it.'),
      option('--as <LANGUAGE>', 'Prints the version-2 call as a program that runs.')
        .choices(['curl', 'php', 'python', 'csharp', 'java', 'javascript', 'go', 'perl'])
        .conflicts('json'),
    ],
    examples: [
      'transload translate shipment.create body.json',
      `echo '{"ReferenceNumber":"REF-1"}' | transload translate shipment.get --json`,
      'transload translate quote.get body.json --as php',
    ],
    load: async () => (await import('./commands/mapping.ts')).translate,
  },
  'rehearse [FILES...]': {
    about: 'Reports what would become of recorded version-1 calls; sends nothing.',
    options: [
      option('--show-values', 'Shows values in examples; otherwise only their shapes.'),
      option('--min-pass <PERCENT>', 'The least share of calls that pass, such as 99.9; below it the exit code is 1.'),
      json('Prints the report as JSON.'),
      option('--html <FILE>', 'Writes the report as one page.'),
      option('--keep <LINE>', 'Prints this line, or entry of a HAR, masked, as a case for "mapping test".').argParser(
        positiveCount,
      ),
      option('--lookups <FILE>', 'Writes the values that no table knows as a LOOKUPS_FILE to edit.'),
      option('--learn <FILE>', 'Writes the numbers that the recording tells, for "xref import --format ndjson".'),
      tenant('The tenant of calls whose caller the recording does not tell.'),
      option('--ignore <FIELDS>', 'Does not compare these fields of replies, separated by commas.'),
      option(
        '--against <SERVICE>',
        'With the word service: asks it natively and translated, and compares; quotes and reads only.',
      ),
      option('--rate <CALLS>', 'The most calls a second with --against.').default('5'),
    ],
    notes: [
      'FILES are JSON lines, as RECORD_FILE writes them, cases of "mapping test", or HARs, plain or as gzip or zstd;',
      'without FILES, or as -, it reads standard input.',
    ],
    examples: [
      'transload rehearse recording.ndjson.gz --min-pass 99.9',
      'transload rehearse recording.ndjson --html report.html --lookups lookups.json',
      'transload rehearse recording.ndjson --keep 17 > my-mappings/cases/refused.json',
    ],
    load: async () => (await import('./commands/rehearse.ts')).rehearse,
  },
  'bookings list': {
    about: 'Lists bookings, the oldest first; those to settle are unknown.',
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
      option('--limit <COUNT>', 'Lists at most so many; 1,000 by default.').argParser(positiveCount),
      option('--after <KEY>', 'Lists those that follow this booking: the next page.').conflicts('reference'),
      json('Prints JSON, a line for each booking.'),
    ],
    notes: TIMES,
    examples: ['transload bookings list --state unknown', 'transload bookings list --reference REF-1'],
    load: async () => (await import('./commands/bookings.ts')).list,
  },
  'bookings show <KEY>': {
    about: 'Shows a booking with its audit trail.',
    options: [json()],
    examples: ['transload bookings show bk_0123456789ab'],
    load: async () => (await import('./commands/bookings.ts')).show,
  },
  'bookings settle <KEY>': {
    about: 'Records that an unknown booking was made, or that it was not.',
    options: [
      option('--shipment-id <ID>', 'The id of the shipment that the service made.'),
      option('--number <NUMBER>', 'The number of that shipment, if callers know it by the number.'),
      option('--unchecked', 'Settles without asking the service.'),
      option(
        '--not-booked',
        'Records that the service made no shipment; asks the service for the reference first.',
      ).conflicts(['shipmentId', 'number']),
      option('--yes', 'Answers the question of --not-booked, where nobody can be asked.'),
    ],
    examples: [
      'transload bookings settle bk_0123456789ab --shipment-id 6f1c1f5e-0000-4000-8000-000000000001',
      'transload bookings settle bk_0123456789ab --not-booked',
    ],
    load: async () => (await import('./commands/bookings.ts')).settle,
  },
  'bookings reopen <KEY>': {
    about: 'Reverts a settlement, of an operator or of the gateway itself.',
    examples: ['transload bookings reopen bk_0123456789ab'],
    load: async () => (await import('./commands/bookings.ts')).reopen,
  },
  'bookings audit <FILE>': {
    about:
      'Compares a list of shipments, such as an invoice of the service, with the bookings of the store; changes nothing.',
    options: [
      option('--columns <NAMES>', 'Names the columns of the list that have unusual names.'),
      tenant('Compares only with the bookings of this tenant.'),
      json('Prints JSON, a line for each anomaly.'),
    ],
    notes: [
      'FILE is CSV whose first line names the columns. NAMES are number=HEADER, and likewise reference, vin, price, status and date.',
      'Dates without a zone are in that of this machine (TZ). Exit codes: 1 if there is an anomaly, 65 if FILE cannot be read.',
    ],
    examples: ["transload bookings audit invoice.csv --columns 'number=Order #,price=Total'"],
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  'xref get <NAME>': {
    about: "Shows the quotes and shipments of a caller's number.",
    options: [tenant('The tenant of the number.').env('V2_CLIENT_ID').makeOptionMandatory()],
    examples: ['transload xref get REF-1 --tenant acme'],
    load: async () => (await import('./commands/xref.ts')).get,
  },
  'xref import <FILE>': {
    about: 'Imports numbers from CSV or NDJSON, such as those of the version-1 host; - is standard input.',
    options: [
      tenant('The tenant of rows without one.').env('V2_CLIENT_ID'),
      XREF_FORMAT,
      option('--replace', 'Overwrites what the store says otherwise.'),
      option('--restart', 'Starts at the first row, although an interrupted import could go on.'),
      json('Prints the counts as JSON.'),
    ],
    notes: XREF_COLUMNS,
    examples: [
      'transload xref import numbers.csv --tenant acme',
      'transload xref import - --format ndjson < numbers.ndjson',
    ],
    load: async () => (await import('./commands/xref.ts')).importNumbers,
  },
  'xref export [FILE]': {
    about: 'Exports numbers in the form of an import, to a file or standard output.',
    options: [
      tenant('Exports the numbers of this tenant only.'),
      XREF_FORMAT,
      option('--resume', 'Goes on after the last row of FILE.').conflicts('force'),
      option('--force', 'Overwrites FILE.'),
    ],
    notes: XREF_COLUMNS,
    examples: ['transload xref export numbers.csv --force'],
    load: async () => (await import('./commands/xref.ts')).exportNumbers,
  },
  'store backup <FILE>': {
    about: 'Copies the embedded store into a file, while gateways go on.',
    options: [option('--force', 'Overwrites FILE.')],
    examples: ['transload store backup /backups/transload.db'],
    load: async () => (await import('./commands/store.ts')).backup,
  },
  'store copy': {
    about: 'Copies the store into an empty one, which may have the other engine; no gateway may run.',
    options: [
      option(
        '--to <URL>',
        'The other store: a path, or postgres://…; a copy that was interrupted goes on.',
      ).makeOptionMandatory(),
    ],
    examples: ['transload store copy --to postgres://transload@db.example.com/transload'],
    load: async () => (await import('./commands/store.ts')).copy,
  },
  'store restore <FILE>': {
    about: 'Puts a backup in the place of the store, and records what bookings it may lack.',
    options: [
      since('Bookings may be missing since then; by default since the backup.'),
      option('--until <TIME>', 'The doubt ends then; by default with "store trust".'),
      option('--complete', 'Nothing was written after the backup: no booking is in doubt.').conflicts([
        'since',
        'until',
      ]),
      option('--force', 'Replaces a store that cannot be read.'),
    ],
    notes: [...TIMES, 'For --until it is a date to come, or a duration from now on.'],
    examples: [
      'transload store restore /backups/transload.db',
      'transload store restore /backups/transload.db --since 2026-12-31T14:00Z --until 24h',
    ],
    load: async () => (await import('./commands/store.ts')).restore,
  },
  'store verify [FILE]': {
    about:
      'Checks the store or a backup: integrity, rows, bookings by state, copies, doubts. It ends with 1 if something has to be done.',
    options: [json()],
    examples: ['transload store verify /backups/transload.db'],
    load: async () => (await import('./commands/store.ts')).verify,
  },
  'store prune': {
    about: 'Deletes rows that were not needed for BOOKING_DAYS, beside running gateways.',
    options: [option('--dry-run', 'Counts what would go, and deletes nothing.'), json()],
    examples: ['transload store prune --dry-run'],
    load: async () => (await import('./commands/store.ts')).prune,
  },
  'store doubt': {
    about: 'Declares that bookings may be missing in the store.',
    options: [
      since('Bookings may be missing since then.').makeOptionMandatory(),
      option('--until <TIME>', 'The doubt ends then; by default with "store trust".'),
    ],
    notes: [...TIMES, 'For --until it is a date to come, or a duration from now on.'],
    examples: ['transload store doubt --since 2h'],
    load: async () => (await import('./commands/store.ts')).doubt,
  },
  'store trust': {
    about: 'Ends the doubt about a store, and accepts a copied store as that of its place.',
    examples: ['transload store trust'],
    load: async () => (await import('./commands/store.ts')).trust,
  },
  'webhooks list': {
    about: 'Lists events and their deliveries.',
    options: [...EVENT_RANGE, json('Prints JSON, a line for each event.')],
    notes: TIMES,
    examples: ['transload webhooks list --state parked --since 2h'],
    load: async () => (await import('./commands/webhooks.ts')).list,
  },
  'webhooks show <ID>': {
    about: 'Shows an event with what was received and delivered.',
    options: [json()],
    examples: ['transload webhooks show msg_0123456789abcdef'],
    load: async () => (await import('./commands/webhooks.ts')).show,
  },
  'webhooks replay [ID]': {
    about: 'Delivers an event again, or all that fit the options.',
    options: [...EVENT_RANGE, json()],
    notes: TIMES,
    examples: ['transload webhooks replay --state parked --tenant acme'],
    load: async () => (await import('./commands/webhooks.ts')).replay,
  },
  'webhooks skip <ID>': {
    about: 'Gives an event up, and lets the next one of its shipment go out.',
    options: [json()],
    examples: ['transload webhooks skip msg_0123456789abcdef'],
    load: async () => (await import('./commands/webhooks.ts')).skip,
  },
  'webhooks resume <TENANT>': {
    about: 'Goes on with deliveries that a callback has stopped with 410.',
    options: [json()],
    examples: ['transload webhooks resume acme'],
    load: async () => (await import('./commands/webhooks.ts')).resume,
  },
  'webhooks test <TENANT>': {
    about: 'Sends a signed sample event to the callback of a tenant, and shows the reply.',
    options: [json()],
    examples: ['transload webhooks test acme'],
    load: async () => (await import('./commands/webhooks.ts')).test,
  },
  'migration report': {
    about: 'Reports who still uses version 1, and what keeps them.',
    options: [
      tenant('Reports on this tenant only.'),
      option('--format <FORMAT>', 'The form of the report: Markdown or JSON.').choices(['md', 'json']).default('md'),
    ],
    examples: ['transload migration report --tenant acme --format json'],
    load: async () => (await import('./commands/migration.ts')).report,
  },
  'tenants add <NAME>': {
    about: 'Adds a tenant with a secret that the gateway makes, and shows the secret once.',
    options: [
      option('--id <ID>', 'The Client ID of its callers; the name by default.'),
      option('--v2-client-id <ID>', 'Its Client ID at the service.').makeOptionMandatory(),
      option('--v2-secret-env <NAME>', 'The variable with its secret at the service.'),
      option('--v2-secret-file <PATH>', 'The file with its secret at the service.').conflicts('v2SecretEnv'),
      TENANTS_OPTION,
    ],
    examples: ['transload tenants add acme --v2-client-id acme-v2 --v2-secret-env ACME_SECRET --file tenants.json'],
    load: async () => (await import('./commands/tenants.ts')).add,
  },
  'tenants rotate <NAME>': {
    about: 'Gives a tenant a new secret, and shows it once; the old ones go on.',
    options: [option('--only', 'Ends the old ones.'), TENANTS_OPTION],
    examples: ['transload tenants rotate acme --file tenants.json'],
    load: async () => (await import('./commands/tenants.ts')).rotate,
  },
  'tenants remove <NAME>': {
    about: 'Removes a tenant.',
    options: [TENANTS_OPTION],
    examples: ['transload tenants remove acme --file tenants.json'],
    load: async () => (await import('./commands/tenants.ts')).remove,
  },
  'tenants import <CSV>': {
    about: 'Adds tenants with the secrets that they have, from a file or standard input (-).',
    options: [TENANTS_OPTION],
    notes: ['Columns: name, id, secret, v2_client_id, and v2_secret_env or v2_secret_file.'],
    examples: ['transload tenants import old.csv --file tenants.json'],
    load: async () => (await import('./commands/tenants.ts')).importTenants,
  },
  'tenants hash': {
    about: 'Reads a secret from standard input and prints its hash for the tenants file.',
    examples: ['transload tenants hash < secret.txt'],
    load: async () => (await import('./commands/tenants.ts')).hash,
  },
  'tenants check [FILE]': {
    about: 'Checks a tenants file, or the one that TENANTS_FILE names.',
    examples: ['transload tenants check tenants.json'],
    load: async () => (await import('./commands/tenants.ts')).check,
  },
  'tenants list [FILE]': {
    about: 'Lists the tenants of a file, without secrets.',
    options: [json('Prints JSON, a line for each tenant.')],
    examples: ['transload tenants list tenants.json --json'],
    load: async () => (await import('./commands/tenants.ts')).list,
  },
  'mapping test [DIR]': {
    about: 'Runs the cases of DIR/cases against the modules of DIR.',
    options: [json('Prints JSON, a line for each case.')],
    notes: ['DIR is MAPPINGS_DIR by default, or else the folder mappings.'],
    examples: ['transload mapping test my-mappings'],
    load: async () => (await import('./commands/mapping.ts')).test,
  },
  'certify assumptions': {
    about: 'Tries what the gateway assumes about the service.',
    options: [
      option(
        '--stage <URL>',
        'Names the address of the service as the stage; it must be that of V2_BASE_URL or of the tenant.',
      ),
      option('--bookings', 'Allows test bookings, which are canceled at the end; needs --stage.'),
      option('--plan', 'Prints what would be tried, and sends nothing.'),
      option('--only <IDS>', 'Tries only these assumptions, separated by commas.'),
      tenant('Uses the credential of this tenant.'),
      option('--save <FILE>', 'Keeps the results in this file.'),
      option(
        '--compare <FILE>',
        'Prints what differs from the results in this file; the exit code is 3 if something does.',
      ),
      option('--journal <FILE>', 'Records test bookings in this file.').default('transload-test-bookings.ndjson'),
      option('--clean-up', 'Cancels the test bookings that an earlier run has left, and tries nothing.'),
      json(),
    ],
    examples: [
      'transload certify assumptions --plan',
      'transload certify assumptions --save before.json',
      'transload certify assumptions --compare before.json',
      'transload certify assumptions --stage https://stage.example.com --bookings',
      'transload certify assumptions --clean-up',
    ],
    load: async () => (await import('./commands/certify-assumptions.ts')).certifyAssumptions,
  },
  healthcheck: {
    about: 'Checks that the running gateway answers, for containers: on the admin listener, else on the public one.',
    examples: ['ADMIN_PORT=9902 transload healthcheck'],
    load: async () => (await import('./commands/healthcheck.ts')).healthcheck,
  },
  demo: {
    about: 'Runs the gateway in front of a stand-in of the service, to try it out.',
    options: [
      option(
        '--chaos',
        'Breaks the gateway and a naive proxy side by side, and counts what each books twice or loses.',
      ),
      option('--seconds <COUNT>', 'How long, with --chaos; a minute by default.').argParser(positiveCount),
      option('--naive <URL>', 'Runs the naive proxy.').hideHelp(),
    ],
    examples: ['PORT=8081 transload demo', 'transload demo --chaos'],
    load: async () => (await import('./commands/demo.ts')).demo,
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
  try {
    const program = createProgram((code) => {
      exitCode = code
    })
    await program.parseAsync(withHelp(program, [name, ...more]), { from: 'user' })
    return exitCode
  } catch (error) {
    // The help and the version end with 0.
    return error instanceof CommanderError && error.exitCode === 0 ? 0 : reportFailure(error)
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

/** Builds the command line of the table. */
function createProgram(onEnd: (exitCode: number) => void): Command {
  const program = new Command('transload')
    .description('A gateway that lets version-1 integrations go on working against version 2.')
    .version(`transload ${programVersion()}`, '-v, --version', 'Prints the version.')
    .helpOption('-h, --help', 'Prints this.')
    .helpCommand('help [COMMAND]', 'Prints the help of a command.')
    .exitOverride()
    // `reportFailure` prints the mistakes, in one line.
    .configureOutput({ outputError: () => {} })
  for (const [usage, { about, options = [], notes = [], examples, load }] of Object.entries(commands)) {
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
    for (const one of options) command.addOption(one)
  }
  return program
}

/**
 * Returns the words of a command line that asks for help as `bookings list --help`: `help bookings list` and `bookings help list`
 * mean that. A word that names no command stays alone, which is told; commander would print the help above it.
 */
function withHelp(program: Command, args: readonly string[]): readonly string[] {
  const [first = '', second, ...more] = args
  const asksFamily = second === 'help' && (commandOf(program, first)?.commands.length ?? 0) > 0
  const asksOption = args.some((word) => word === '--help' || word === '-h')
  if (first !== 'help' && !asksFamily && !asksOption) return args
  const words = first === 'help' ? args.slice(1) : asksFamily ? [first, ...more] : args
  const end = words.findIndex((word) => word === '--help' || word === '-h')
  const topic = end < 0 ? words : words.slice(0, end)
  let command = program
  for (const word of topic) {
    if (command.commands.length === 0) break
    const named = commandOf(command, word)
    if (!named) return topic
    command = named
  }
  return [...topic, '--help']
}

const commandOf = (program: Command, name: string): Command | undefined =>
  program.commands.find((command) => command.name() === name || command.alias() === name)

/** Returns the parent of the commands of a family; a singular means the same as the plural. */
function familyOf(program: Command, name: string, about: string): Command {
  const known = commandOf(program, name)
  if (known) return known
  const family = program.command(name).description(about)
  return name.endsWith('s') ? family.alias(name.slice(0, -1)) : family
}

/** A script passes an empty text when its variable is not set. */
function refuseEmpty(command: Command): void {
  const option = command.options.find((one) => command.getOptionValue(one.attributeName()) === '')
  if (option) throw new UsageError(`${option.long} needs a value`)
  const operand = command.registeredArguments[command.args.indexOf('')]
  if (operand) throw new UsageError(`${command.name()} needs ${operand.name()}`)
}
