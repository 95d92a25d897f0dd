import { type Assumption, assumptions, type Result, tryAll, verdicts } from '../../labs/certify/assumptions.ts'
import { type CleanedUp, cleanUp, openJournal } from '../../labs/certify/journal.ts'
import { NotAnswered, openTrial, type Trial } from '../../labs/certify/trial.ts'
import { readConfig } from '../../language/config/config.ts'
import { serviceAddress } from '../../language/config/values.ts'
import { suggestion } from '../../language/text/nearest.ts'
import { openUpstream } from '../../outside/service/upstream.ts'
import { plural } from '../words.ts'
import { chosenAccount } from './accounts.ts'
import { CommandFailed, EXIT_CONTRADICTED, EXIT_FAILED, UsageError } from './failures.ts'
import { type Options, print, printError } from './output.ts'
import { watchSignals } from './process.ts'

type AssumptionsOptions = Options<'bookings', 'stage' | 'tenant' | 'only'> & {
  readonly journal: string
}

/** Tries the assumptions of the gateway about the service; returns the exit code. */
export async function certifyAssumptions(asked: AssumptionsOptions): Promise<number> {
  const config = readConfig()
  const only = onlyOf(asked.only)
  const own = await chosenAccount(config, asked.tenant)
  const { address } = own
  const service = address.origin + address.prefix
  requireStage(asked, service)
  const wanted = assumptions.filter(({ id }) => only?.has(id) ?? true)

  const journal = openJournal(asked.journal, { address: service, tenant: own.tenant })
  const upstream = openUpstream(config)
  // The first signal ends the run after the request under way.
  const signals = watchSignals()
  const stop = new AbortController()
  void signals.received.then(() => {
    printError('Stopping: the test bookings are canceled first.')
    stop.abort()
  })
  const account = own.open(upstream)
  const common = { config, upstream, account, journal, run: Date.now().toString(36), basic: own.basic }
  const trialUntil = (stop?: AbortSignal) => openTrial({ ...common, stop })
  try {
    const cleaning = trialUntil()
    const earlierLeft = await cleanUp(cleaning, journal)
    if (earlierLeft.canceled + earlierLeft.left.length > 0) printError(...cleanedUpLines(earlierLeft))
    const trial = trialUntil(stop.signal)
    const { results, failure } = await tried(wanted, trial, asked.bookings === true, stop.signal)
    const cleanedUp = await cleanUp(cleaning, journal)
    const counts = verdicts.map((verdict) => `${results.filter((one) => one.verdict === verdict).length} ${verdict}`)
    print('', `${plural(results.length, 'assumption')}: ${counts.join(', ')}.`, ...cleanedUpLines(cleanedUp))
    const stopped = signals.exitCode()
    if (stopped !== undefined) return stopped
    if (failure !== undefined) throw failure
    if (cleanedUp.left.length > 0) return EXIT_FAILED
    return results.some(({ verdict }) => verdict === 'contradicted') ? EXIT_CONTRADICTED : 0
  } finally {
    signals.forget()
    await upstream.close()
  }
}

/** Tries what is allowed. A failure comes after the results before it, for the clean-up has to follow. */
async function tried(wanted: readonly Assumption[], trial: Trial, mayBook: boolean, stop: AbortSignal) {
  const results: Result[] = []
  let title = ''
  let failure: unknown
  try {
    for await (const [assumption, result] of tryAll(wanted, trial, mayBook)) {
      results.push(result)
      if (assumption.area !== title) print('', assumption.area)
      title = assumption.area
      print(...resultLines(assumption, result))
    }
  } catch (error) {
    if (error instanceof NotAnswered) failure = new CommandFailed(`the service does not answer: ${error.message}`)
    else if (error !== stop.reason) failure = error
  }
  return { results, failure }
}

function onlyOf(ids: string | undefined): ReadonlySet<string> | undefined {
  if (ids === undefined) return undefined
  const known = assumptions.map(({ id }) => id)
  const wanted = ids.split(',').map((id) => id.trim())
  const unknown = wanted.find((id) => !known.includes(id))
  if (unknown !== undefined) throw new UsageError(`unknown assumption ${unknown}${suggestion(unknown, known)}`)
  return new Set(wanted)
}

/** Throws unless the service is the stage that the operator named; test bookings need one. */
function requireStage({ stage, bookings }: AssumptionsOptions, service: string): void {
  if (stage === undefined) {
    if (!bookings) return
    throw new CommandFailed(
      `--bookings needs --stage: name the address of the service, ${service}, if it is the stage and not production`,
    )
  }
  const named = serviceAddress.safeParse(stage)
  if (!named.success) throw new CommandFailed(`--stage ${stage} is not the address of a service`)
  const { origin, prefix } = named.data
  if (origin + prefix !== service) {
    throw new CommandFailed(
      `--stage names ${origin + prefix}, but the gateway calls ${service}; set V2_BASE_URL, or base_url of the tenant, to the stage`,
    )
  }
}

const VERDICT_CHARACTERS = Math.max(...verdicts.map((verdict) => verdict.length))
const ID_CHARACTERS = Math.max(...assumptions.map(({ id }) => id.length))
const INDENT = ' '.repeat(VERDICT_CHARACTERS + ID_CHARACTERS + 6)

/** Returns the lines of one result; one that contradicts says what to do. */
function resultLines({ id, sentence, otherwise }: Assumption, { verdict, seen }: Result): readonly string[] {
  const line = `  ${verdict.padEnd(VERDICT_CHARACTERS)}  ${id.padEnd(ID_CHARACTERS)}  ${sentence}${seen && ` (${seen})`}`
  return verdict === 'contradicted' ? [line, `${INDENT}→ ${otherwise}`] : [line]
}

/** Says what a clean-up did. */
function cleanedUpLines({ canceled, left }: CleanedUp): readonly string[] {
  return [
    `Canceled ${plural(canceled, 'test booking')}.`,
    ...left.map((line) => `May be left at the service: ${line}`),
    ...(left.length > 0 ? ['The next run tries again.'] : []),
  ]
}
