import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSendPlan } from '../calls/send.ts'
import { type Config, readConfig } from '../config/config.ts'
import { serviceAddress } from '../config/values.ts'
import { EXIT_FAILED, EXIT_SIGNALED } from '../exit-codes.ts'
import { compareCall, NotCompared, onlyAsks } from '../rehearsal/compare.ts'
import { type Block, listFiles, type Reading } from '../rehearsal/recording.ts'
import { noteCompared, placeOf, type Rehearsal } from '../rehearsal/rehearsal.ts'
import {
  changesSince,
  junitOf,
  lookupsOf,
  markdownOf,
  pageOf,
  type Report,
  reportOf,
  textOf,
} from '../rehearsal/report.ts'
import { rehearseAll } from '../rehearsal/run.ts'
import { createService, type Sending } from '../service/service.ts'
import { openUpstream, type Upstream } from '../service/upstream.ts'
import { loadEngine, openStore, pathOf } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { createXref } from '../xref/xref.ts'
import { chosenAccount } from './accounts.ts'
import { CommandFailed, namingFile, UsageError } from './failures.ts'
import { engineOf, openConfiguredStore, withoutService } from './open-store.ts'
import { clearStatus, count, print, printError, printJson, showStatus } from './output.ts'
import { forgettableSignal } from './process.ts'

/** The options, as they were given. */
interface RehearseOptions {
  readonly showValues?: boolean | undefined
  readonly json?: boolean | undefined
  readonly markdown?: string | undefined
  readonly junit?: string | undefined
  readonly html?: string | undefined
  readonly lookups?: string | undefined
  readonly learn?: string | undefined
  readonly baseline?: string | undefined
  readonly minPass?: string | undefined
  readonly ignore?: string | undefined
  readonly tenant?: string | undefined
  readonly against?: string | undefined
  readonly nativePath: string
  readonly actions?: string | undefined
  readonly stage?: string | undefined
  readonly rate: string
  readonly threads?: string | undefined
}

const STANDARD_INPUT = '-'
const HUNDRED = 100

/** Rehearses recorded calls, and reports what would become of them. */
export async function rehearse(operands: readonly string[], options: RehearseOptions): Promise<number> {
  const least = numberOf('--min-pass', options.minPass ?? '0', HUNDRED) / HUNDRED
  const threads = options.threads === undefined ? undefined : Math.max(1, numberOf('--threads', options.threads, 256))
  const before = options.baseline === undefined ? undefined : earlier(options.baseline)
  const names = filesOf(operands)
  const { html, markdown, junit, lookups, learn } = options
  const own = [html, markdown, junit, lookups, learn].find(
    (file) => file !== undefined && names.map((name) => resolve(name)).includes(resolve(file)),
  )
  if (own !== undefined) throw new UsageError(`${own} is a recording; it would be overwritten`)
  const ignored = options.ignore?.split(',').map((field) => field.trim()) ?? []
  const env = options.against === undefined ? withoutService() : process.env
  const setup = {
    env: { ...env },
    showValues: options.showValues ?? false,
    learns: options.learn !== undefined,
    ignored,
    tenant: options.tenant,
  }
  const reading: Reading = { files: [], bytesRead: 0, isStopped: false }
  const signal = forgettableSignal()
  let stopped: NodeJS.Signals | undefined
  void signal.promise.then((received) => {
    stopped = received
    reading.isStopped = true
    // A read of a pipe that nobody writes to would never end.
    process.stdin.destroy()
  })
  const against = options.against === undefined ? undefined : await openAgainst(readConfig(), options, ignored, reading)
  const progress = showProgress(names, reading)
  try {
    const found = await rehearseAll({
      setup,
      names,
      input: process.stdin,
      reading,
      learnFile: options.learn,
      onLines: progress,
      onBlock: against?.ask,
      threads,
    })
    clearStatus()
    const now = reportOf(found, reading.files, stopped !== undefined, new Date())
    const report = before ? { ...now, changes: changesSince(before, now) } : now
    if (options.lookups !== undefined) writeFileSync(options.lookups, lookupsOf(found), { mode: OWNER_ONLY })
    write(report, options)
    if (stopped !== undefined) return EXIT_SIGNALED + constants.signals[stopped]
    if (report.calls.all === 0) printError('transload: no call of version 1 was found')
    const isEnough = (share: number | null) => share === null || share >= least
    return report.calls.all > 0 && isEnough(report.share) && isEnough(report.equal) ? 0 : EXIT_FAILED
  } finally {
    signal.forget()
    clearStatus()
    await against?.close()
  }
}

/** They hold values of callers. */
const OWNER_ONLY = 0o600

function write(report: Report, { json, markdown, junit, html }: RehearseOptions): void {
  if (markdown !== undefined) writeFileSync(markdown, markdownOf(report))
  if (junit !== undefined) writeFileSync(junit, junitOf(report))
  if (html !== undefined) writeFileSync(html, pageOf(report))
  if (json) printJson(report, 2)
  else print(...textOf(report))
}

function filesOf(operands: readonly string[]): readonly string[] {
  try {
    return listFiles(operands.length === 0 ? [STANDARD_INPUT] : operands)
  } catch (error) {
    throw namingFile(error, operands.find((operand) => operand !== STANDARD_INPUT && !existsSync(operand)) ?? '')
  }
}

function numberOf(option: string, text: string, most: number): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (value <= most) return value
  throw new UsageError(`${option} takes a number up to ${most}`)
}

function earlier(file: string): Report {
  try {
    const report: Partial<Report> | null = JSON.parse(readFileSync(file, 'utf8'))
    // Only reports have all of these.
    if (report?.version === 1 && report.problems && report.unknown && report.at) return report as Report
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw namingFile(error, file)
  }
  throw new CommandFailed(`cannot read ${file}: it is no report of transload rehearse --json`)
}

const BAR_CHARACTERS = 20
const REDRAWN_EVERY_MS = 200

/** Shows on a terminal how far the reading is, and how long the rest takes. */
function showProgress(names: readonly string[], reading: Reading): (lines: number) => void {
  const isKnown = !names.includes(STANDARD_INPUT)
  const size = isKnown
    ? names.reduce((sum, name) => sum + (statSync(name, { throwIfNoEntry: false })?.size ?? 0), 0)
    : 0
  const startedAt = performance.now()
  let nextMs = 0
  return (lines) => {
    const elapsedMs = performance.now() - startedAt
    if (elapsedMs < nextMs) return
    nextMs = elapsedMs + REDRAWN_EVERY_MS
    const said = `${count(lines)} lines, ${count(Math.round((lines * 1000) / elapsedMs))} per second`
    if (size === 0) return showStatus(said)
    const share = Math.min(1, reading.bytesRead / size)
    const bar = '#'.repeat(Math.round(share * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS, '-')
    const seconds = Math.ceil((elapsedMs * (1 / share - 1)) / 1000)
    showStatus(`[${bar}] ${Math.floor(share * HUNDRED)} %  ${said}, ${count(seconds)} s left`)
  }
}

/** The request id of every request to the service. */
const REQUEST_ID = 'transload-rehearse'
const NATIVE_PATH = /^\/$|^(\/[\w.-]+)+\/?$/
const MOST_PER_SECOND = 1_000

/** Asks the service what it answers to calls itself, and compares that with the translated answers. */
async function openAgainst(config: Config, options: RehearseOptions, ignored: readonly string[], reading: Reading) {
  const { nativePath, tenant, actions, against, stage } = options
  if (against !== 'service') throw new UsageError('--against takes service')
  if (!NATIVE_PATH.test(nativePath)) {
    throw new UsageError('--native-path takes / or a prefix of the legacy paths such as /quotes, or /v2')
  }
  const wanted = actions?.split(',').map((name) => name.trim())
  const account = await chosenAccount(config, tenant)
  const named = serviceAddress.safeParse(stage).data
  const isStage = named?.origin === account.address.origin && named.prefix === account.address.prefix
  if (wanted && !isStage)
    throw new UsageError(
      '--actions needs --stage with the address of the service: calls may book, change and cancel there',
    )
  const pauseMs = 1000 / Math.max(0.01, numberOf('--rate', options.rate, MOST_PER_SECOND))
  const upstream: Upstream = openUpstream(config)
  const service = createService(config, upstream)
  const opened = account.open(upstream, account.scheme)
  const store = await storeOf(config)
  const sending = (): Sending => ({
    account: opened,
    requestId: REQUEST_ID,
    deadline: performance.now() + config.UPSTREAM_TIMEOUT_MS,
  })
  const deps = {
    service,
    upstream,
    send: createSendPlan({ service }),
    nativePath: nativePath === '/' ? nativePath : nativePath.replace(/\/$/, ''),
    // Nothing is written into the cross-reference.
    xref: createXref({ ...store, put: async () => {} }, config.QUOTE_MEMORY),
    settings: account.settings,
    tenant: account.tenant,
    sending,
    ignored,
  }
  return {
    async ask({ no, bytes }: Block, { tally, requestOf }: Rehearsal): Promise<void> {
      for (const [line, text] of Buffer.from(bytes).toString('utf8').split('\n').entries()) {
        if (reading.isStopped) return
        const asked = requestOf(text)
        if (!asked) continue
        const { request, caller } = asked
        const { action } = request.compiled
        const place = placeOf(no, line)
        const skip = (why: string) =>
          noteCompared(
            tally.tables.compared,
            action.name,
            { field: `(${why})`, verdict: 'noise', native: '', translated: '' },
            place,
            caller.name,
          )
        if (wanted ? !wanted.includes(action.name) : !onlyAsks(action)) {
          skip('not sent')
          continue
        }
        try {
          for (const one of await compareCall(request, deps))
            noteCompared(tally.tables.compared, action.name, one, place, caller.name)
        } catch (error) {
          if (!(error instanceof NotCompared)) throw error
          skip(`not compared: ${error.message}`)
        }
        await sleep(pauseMs)
      }
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
  return openConfiguredStore(await loadEngine(url), { mustExist: true })
}
