import { once } from 'node:events'
import { createWriteStream, existsSync, statSync, writeFileSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { Plan } from '../../calls/plan.ts'
import { caseOf } from '../../labs/rehearse/case.ts'
import { compareCall, NotCompared, onlyAsks } from '../../labs/rehearse/compare.ts'
import { NotARecording, type Reading, readLines, readRecord } from '../../labs/rehearse/recording.ts'
import {
  type LinePlace,
  learn,
  noteCompared,
  openRehearsal,
  type Rehearsal,
  type RehearsedCall,
  rehearse as rehearseLine,
} from '../../labs/rehearse/rehearsal.ts'
import type { Config } from '../../language/config/config.ts'
import { engineOf, pathOf } from '../../language/config/store-address.ts'
import { GatewayError } from '../../language/errors.ts'
import type { Problem } from '../../language/mapping/fields.ts'
import { suggestion } from '../../language/text/nearest.ts'
import { openService, sendingOf } from '../../outside/service/service.ts'
import { loadEngine, openStore } from '../../outside/store/open.ts'
import type { Store } from '../../outside/store/store.ts'
import { createMask, keptFields } from '../../runtime/recorder.ts'
import { openNames } from '../../state/names/names.ts'
import { lookupsOf, pageOf, reportLines, reportOf } from '../reports/rehearsal.ts'
import { chosenAccount } from './accounts.ts'
import { CommandFailed, EXIT_FAILED, namingFile, UsageError } from './failures.ts'
import { isSameFile, openConfiguredStore, refuseStore, withoutService } from './open-store.ts'
import { createProgress, type Options, print, printError, printJson } from './output.ts'
import { watchSignals } from './process.ts'

type RehearseOptions = Options<
  'json' | 'showValues',
  'html' | 'lookups' | 'learn' | 'minPass' | 'ignore' | 'tenant' | 'against'
> & { readonly keep?: number; readonly rate: string }

const STANDARD_INPUT = '-'
const HUNDRED = 100
/** 999 of 1,000 are 99.9 percent, although 999 / 1000 is less than 99.9 / 100. */
const ROUNDING = 1e-12

/** Rehearses recorded calls, and reports what would become of them. */
export async function rehearse(operands: readonly string[], options: RehearseOptions): Promise<number> {
  const least = numberOf('--min-pass', options.minPass ?? '0', HUNDRED) / HUNDRED
  const pauseMs = 1000 / numberOf('--rate', options.rate, MOST_PER_SECOND, LEAST_PER_SECOND)
  const names = filesOf(operands, options)
  const rehearsal = await openRehearsal(options.against === undefined ? withoutService() : process.env, options)
  const { tenants } = rehearsal
  if (options.tenant !== undefined && tenants.length > 0 && !tenants.includes(options.tenant))
    throw new UsageError(`there is no tenant ${options.tenant}${suggestion(options.tenant, tenants)}`)
  const reading: Reading = { files: [], bytesRead: 0, isStopped: false }
  if (options.keep !== undefined && names.length > 1) throw new UsageError('--keep takes a line of one file')
  const signals = watchSignals()
  void signals.received.then(() => {
    reading.isStopped = true
    // A read of a pipe that nobody writes to would never end.
    process.stdin.destroy()
  })
  // A kept line is all that a run is for: the service is not asked, and no file is written.
  const { against: other, learn: learnedFile }: Partial<RehearseOptions> = options.keep === undefined ? options : {}
  const against = other === undefined ? undefined : await openAgainst(rehearsal, options, pauseMs)
  const learned = learnedFile === undefined ? undefined : createWriteStream(learnedFile, { mode: OWNER_ONLY })
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag)
  const progress = createProgress('rehearsed', 'lines')
  const shareRead = shareOf(names, reading)
  try {
    for await (const { before, lines } of recordedLines(names, reading)) {
      const file = reading.files.at(-1)?.name ?? ''
      for (const [i, text] of lines.entries()) {
        if (reading.isStopped) break
        const place = { file, line: before + i + 1 }
        const call = text.trim() === '' ? undefined : rehearseLine(rehearsal, text.trim(), place)
        if (place.line === options.keep) return keep(text.trim(), call, place, rehearsal, options)
        if (!call) continue
        if (learned && !learned.write(learn(call))) await once(learned, 'drain')
        await against?.ask(call, place, rehearsal)
      }
      progress(rehearsal.tally.lines, shareRead())
      // Signals have their turn.
      await new Promise(setImmediate)
    }
    if (learned) await finished(learned.end())
    const stopped = signals.exitCode()
    if (options.keep !== undefined && stopped !== undefined) return stopped
    if (options.keep !== undefined) throw new CommandFailed(`${names[0]} has no line ${options.keep}`)
    const report = reportOf(rehearsal, reading.files, stopped !== undefined, new Date())
    if (options.lookups !== undefined) writeFileSync(options.lookups, lookupsOf(rehearsal), { mode: OWNER_ONLY })
    if (options.html !== undefined) writeFileSync(options.html, pageOf(report), { mode: OWNER_ONLY })
    if (options.json) printJson(report, 2)
    else print(...reportLines(report))
    if (stopped !== undefined) return stopped
    if (report.calls.all === 0) printError('transload: no version-1 calls were found')
    const isEnough = (share: number) => share >= least - ROUNDING
    const isWhole = reading.files.every(({ fault }) => fault === undefined)
    // What was to be judged and could not be is not enough.
    const isProven = isEnough(report.share ?? 0) && isEnough(report.equal ?? (against ? 0 : 1))
    return report.calls.all > 0 && isWhole && isProven ? 0 : EXIT_FAILED
  } finally {
    signals.forget()
    await against?.close()
  }
}

/** Calls leave nothing behind that is worth a larger young generation; old objects are collected when they have grown by a third. */
const HEAP_FLAGS = ['--semi-space-growth-factor=1', '--heap-growing-percent=30']
/** They hold values of callers. */
const OWNER_ONLY = 0o600

/** Reads lines; a file that is no recording is a failure of the command. */
async function* recordedLines(names: readonly string[], reading: Reading) {
  try {
    yield* readLines(names, process.stdin, reading)
  } catch (error) {
    const name = reading.files.at(-1)?.name ?? ''
    if (error instanceof NotARecording) throw new CommandFailed(`cannot read ${name}: it ${error.message}`)
    throw namingFile(error, name)
  }
}

/** Prints a line of a recording as a test case. */
function keep(
  text: string,
  rehearsed: RehearsedCall | undefined,
  { file, line }: LinePlace,
  { config, catalog }: Rehearsal,
  { showValues }: RehearseOptions,
): number {
  const mask = showValues ? String : createMask(keptFields({ catalog, LOOKUPS_FILE: config.LOOKUPS_FILE }))
  const name = `line ${line} of ${file}`
  const call = readRecord(text, file)
  try {
    const made = typeof call === 'string' ? undefined : caseOf(call, name, mask, config, catalog)
    if (!made) throw new CommandFailed(`${name} is not a version-1 call`)
    // A booking may take its customer from a quote in an earlier line.
    const { subject, problems: real = [] }: Partial<Plan> = rehearsed?.plan ?? {}
    const isOnlyWithoutQuote = (one: Problem) =>
      !real.some(({ field, code }) => field === one.field && code === one.code)
    const fromQuote = subject?.quote ? (made.problems ?? []).filter(isOnlyWithoutQuote) : []
    if (fromQuote.length > 0) {
      const fields = fromQuote.map(({ field }) => field).join(' and ')
      printError(
        `transload: ${name} gets ${fields} from an earlier quote. A case has no earlier calls: add ${fields} to its request.`,
      )
    }
    const problems = made.problems?.filter((one) => !fromQuote.includes(one))
    printJson({ ...made, problems: problems?.length ? problems : undefined }, 2)
    return 0
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new CommandFailed(`${name} cannot be kept: ${error.message}`)
  }
}

/** Returns the files to read; none of them is written. */
function filesOf(operands: readonly string[], { html, lookups, learn }: RehearseOptions): readonly string[] {
  const names = operands.length === 0 ? [STANDARD_INPUT] : operands
  for (const name of names) {
    if (name === STANDARD_INPUT) continue
    try {
      if (statSync(name).isDirectory()) throw new CommandFailed(`cannot read ${name}: it is a folder; name its files`)
    } catch (error) {
      throw namingFile(error, name)
    }
  }
  for (const file of [html, lookups, learn]) {
    const isOwn = (name = '') => file !== undefined && isSameFile(name, file)
    const what = names.some(isOwn) ? 'a recording' : isOwn(process.env['LOOKUPS_FILE']) ? 'LOOKUPS_FILE' : undefined
    if (what !== undefined) throw new UsageError(`${file} is ${what}; it would be overwritten`)
    if (file !== undefined) refuseStore(file)
  }
  return names
}

function numberOf(option: string, text: string, most: number, least = 0): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (value <= most && value >= least) return value
  throw new UsageError(`${option} takes a number ${least > 0 ? `from ${least} ` : ''}up to ${most}`)
}

/** Returns a function that tells the share of the files that was read; undefined for standard input. */
function shareOf(names: readonly string[], reading: Reading): () => number | undefined {
  const sizes = names.map((name) => (name === STANDARD_INPUT ? Number.NaN : statSync(name).size))
  const size = sizes.reduce((sum, one) => sum + one, 0)
  return () => (size > 0 ? Math.min(1, reading.bytesRead / size) : undefined)
}

/** The request id of every request to the service. */
const REQUEST_ID = 'transload-rehearse'
const MOST_PER_SECOND = 1_000
const LEAST_PER_SECOND = 0.01

/** Asks the service what it answers to calls itself, and compares that with the translated answers. */
async function openAgainst({ config, ignored }: Rehearsal, { tenant, against }: RehearseOptions, pauseMs: number) {
  if (against !== 'service') throw new UsageError('--against takes only the word service')
  const account = await chosenAccount(config, tenant)
  const { service, upstream } = openService(config)
  const opened = account.open(upstream)
  const store = await storeOf(config)
  const sending = () => ({ ...sendingOf(opened, config.UPSTREAM_TIMEOUT_MS), requestId: REQUEST_ID })
  // Nothing is written into the store.
  const names = openNames({ ...store, put: async () => {}, noteUses: async () => {} }, config.QUOTE_MEMORY)
  const nothing = { freeLater: async () => {} }
  const rooms = { service, names, bookings: nothing, inspect: () => undefined, onNotServed: () => undefined }
  const comparison = { ...account, rooms, sending, ignored }
  return {
    async ask({ plan: { request }, caller }: RehearsedCall, place: LinePlace, { tally }: Rehearsal): Promise<void> {
      const { action } = request.compiled
      const note = (one: Parameters<typeof noteCompared>[2]) =>
        noteCompared(tally.compared, action.name, one, place, caller.name)
      const skip = (why: string) => note({ field: `(${why})`, verdict: 'noise', native: '', translated: '' })
      if (!onlyAsks(action)) return skip('not sent')
      try {
        for (const one of await compareCall(request, comparison)) note(one)
      } catch (error) {
        if (!(error instanceof NotCompared)) throw error
        skip(`not compared: ${error.message}`)
      }
      await sleep(pauseMs)
    },
    async close(): Promise<void> {
      await upstream.close()
      await store.close()
    },
  }
}

async function storeOf({ STORE_URL: url }: Config): Promise<Store> {
  const engine = engineOf(url)
  // A new empty store would be left behind.
  if (engine === 'memory' || (engine === 'file' && !existsSync(pathOf(url)))) return openStore('memory:')
  return openConfiguredStore(await loadEngine(url), { blocks: true })
}
