import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { areas, assumptions } from '../certify/assumptions.ts'
import { type CleanedUp, cleanUp, openJournal } from '../certify/journal.ts'
import {
  changesSince,
  OutOfReach,
  type Result,
  type Results,
  type RunOptions,
  readResults,
  Stopped,
  tryAll,
} from '../certify/run.ts'
import { openTrial, type Trial } from '../certify/trial.ts'
import { readConfig } from '../config/config.ts'
import { EXIT_CHANGED, EXIT_CONTRADICTED, EXIT_FAILED, EXIT_SIGNALED } from '../exit-codes.ts'
import { openUpstream } from '../service/open.ts'
import { suggestion } from '../text/nearest.ts'
import { type Asked, allowedBy, certifiedAccount, wrongCredentialOf } from './certify-assumptions-account.ts'
import {
  changeLines,
  cleanedUpLines,
  planLines,
  plannedJson,
  resultJson,
  resultLines,
  summaryLine,
} from './certify-assumptions-output.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { print, printError, printJson } from './output.ts'
import { forgettableSignal } from './process.ts'

/** The values of the options. */
export type AssumptionsOptions = Asked & {
  readonly plan?: boolean | undefined
  readonly only?: string | undefined
  readonly save?: string | undefined
  readonly compare?: string | undefined
  readonly journal: string
  readonly cleanUp?: boolean | undefined
  readonly json?: boolean | undefined
}

/** Tries the assumptions of the gateway about the service; returns the exit code. */
export async function certifyAssumptions(asked: AssumptionsOptions): Promise<number> {
  const config = readConfig()
  const only = onlyOf(asked.only)
  const before = asked.compare === undefined ? undefined : earlier(asked.compare)
  const own = await certifiedAccount(config, asked)
  const { address } = own
  const service = address.origin + address.prefix
  const allowed = allowedBy(asked, service)
  const wanted = assumptions.filter(({ id }) => only?.has(id) ?? true)
  if (asked.plan) {
    if (asked.json) printJson({ service, assumptions: wanted.map((one) => plannedJson(one, allowed)) }, 2)
    else print(...planLines(areas, wanted, allowed, service))
    return 0
  }

  const journal = openJournal(asked.journal, { address: service, tenant: own.tenant })
  const upstream = openUpstream(config)
  const stopped = watchSignals()
  const account = own.open(upstream, own.scheme)
  const run = Date.now().toString(36)
  const trialUntil = (checkGoingOn: () => void) => {
    const credentials = { basic: own.basic, wrongCredential: wrongCredentialOf(own) }
    return openTrial({ config, upstream, account, journal, run, checkGoingOn, ...credentials })
  }
  try {
    const cleaning = trialUntil(() => undefined)
    const earlierLeft = await cleanUp(cleaning, journal, config)
    if (asked.cleanUp) {
      print(...cleanedUpLines(earlierLeft))
      return earlierLeft.left.length === 0 ? 0 : EXIT_FAILED
    }
    if (earlierLeft.canceled + earlierLeft.left.length > 0) printError(...cleanedUpLines(earlierLeft))
    const trial = trialUntil(stopped.check)
    const { results, failure } = await tried(trial, { allowed, only, isQuiet: asked.json ?? false })
    const cleanedUp = await cleanUp(cleaning, journal, config)
    report({ asked, service, results, cleanedUp, quotes: trial.quotesMade(), before })
    const signal = stopped.signal()
    if (signal !== undefined) return EXIT_SIGNALED + constants.signals[signal]
    if (failure !== undefined) throw failure
    if (cleanedUp.left.length > 0) return EXIT_FAILED
    if (before) return changesSince(before, results).length > 0 ? EXIT_CHANGED : 0
    return results.some(({ verdict }) => verdict === 'contradicted') ? EXIT_CONTRADICTED : 0
  } finally {
    stopped.forget()
    await upstream.close()
  }
}

/** Tries what is allowed. A failure comes after the results before it, for the clean-up has to follow. */
async function tried(
  trial: Trial,
  { isQuiet, ...options }: { isQuiet: boolean } & Pick<RunOptions, 'allowed' | 'only'>,
): Promise<{ results: readonly Result[]; failure: unknown }> {
  const results: Result[] = []
  let failure: unknown
  try {
    await tryAll(areas, trial, {
      ...options,
      onArea: ({ title }) => {
        if (!isQuiet) print('', title)
      },
      onResult: (assumption, result) => {
        results.push(result)
        if (!isQuiet) print(...resultLines(assumption, result))
      },
    })
  } catch (error) {
    if (error instanceof OutOfReach) failure = new CommandFailed(`the service does not answer: ${error.message}`)
    else if (!(error instanceof Stopped)) failure = error
  }
  return { results, failure }
}

interface Report {
  readonly asked: AssumptionsOptions
  readonly service: string
  readonly results: readonly Result[]
  readonly cleanedUp: CleanedUp
  readonly quotes: number
  readonly before: Results | undefined
}

function report({ asked, service, results, cleanedUp, quotes, before }: Report): void {
  const changes = before && changesSince(before, results)
  const at = new Date().toISOString()
  if (asked.save !== undefined) writeFileSync(asked.save, `${JSON.stringify({ service, at, results }, null, 2)}\n`)
  if (asked.json) {
    printJson({ service, at, results: results.map(resultJson), ...(changes && { changes }), quotes, ...cleanedUp }, 2)
    return
  }
  print('', summaryLine(results), ...cleanedUpLines(cleanedUp))
  if (quotes > 0) print(`Quotes made: ${quotes}. The service has no way to delete a quote.`)
  if (before && changes) print('', ...changeLines(before, changes))
}

/** Notes the first signal, which ends the run after the request under way; a second one ends the process. */
function watchSignals() {
  let signal: NodeJS.Signals | undefined
  const { promise, forget } = forgettableSignal()
  void promise.then((received) => {
    signal = received
    printError('Stopping: the test bookings are canceled first.')
  })
  return {
    signal: () => signal,
    check: () => {
      if (signal !== undefined) throw new Stopped()
    },
    forget,
  }
}

function onlyOf(ids: string | undefined): ReadonlySet<string> | undefined {
  if (ids === undefined) return undefined
  const known = assumptions.map(({ id }) => id)
  const wanted = ids.split(',').map((id) => id.trim())
  const unknown = wanted.find((id) => !known.includes(id))
  if (unknown !== undefined) throw new UsageError(`unknown assumption ${unknown}${suggestion(unknown, known)}`)
  return new Set(wanted)
}

function earlier(path: string): Results {
  const results = readResults(path)
  if (typeof results === 'string') throw new CommandFailed(`cannot read ${path}: ${results}`)
  return results
}
