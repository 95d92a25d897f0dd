import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type FlatBody, readBody, readJsonValue, readQuery } from '../body/read.ts'
import { type Version1, version1 } from '../calls/read-request.ts'
import { createSendPlan } from '../calls/send.ts'
import { compareCall, type FieldTally, NotCompared, onlyAsks, Tally } from '../certify/compare.ts'
import { type Config, readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { GatewayError } from '../errors.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import { percent, plural } from '../migration/report.ts'
import { createService, type Sending } from '../service/service.ts'
import { openUpstream } from '../service/upstream.ts'
import { loadEngine, pathOf } from '../store/open.ts'
import { createMemoryStore } from '../store/sqlite/sqlite.ts'
import type { Store } from '../store/store.ts'
import { createXref, type Xref } from '../xref/xref.ts'
import { chosenAccount, type OwnAccount } from './auth.ts'
import { CommandFailed, isSystemError, systemReason, UsageError } from './failures.ts'
import { openConfiguredStore } from './open-store.ts'
import { clearStatus, print, printError, printJson, showStatus } from './output.ts'
import { stopSignal } from './process.ts'

const DEFAULT_MIN_EQUAL = 0.99
/** The request id of every request to the service. */
const REQUEST_ID = 'transload-certify'

/** The options of `certify compare`, as they were given. */
export interface CompareOptions {
  readonly examples?: boolean | undefined
  readonly bodies?: string | undefined
  readonly recording?: string | undefined
  readonly tenant?: string | undefined
  readonly nativePath: string
  readonly minEqual?: string | undefined
  readonly json?: boolean | undefined
}

/** Sends each call natively, translated, and natively again, and prints how the answers differ, field by field. */
export async function compare(options: CompareOptions): Promise<number> {
  const minEqual = shareOf(options.minEqual)
  const config = readConfig()
  const nativePath = nativePathOf(options.nativePath)
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const account = await chosenAccount(config, options.tenant)
  const calls = callsOf(options, catalog, account)
  const upstream = openUpstream(config)
  const service = createService(config, upstream)
  const send = createSendPlan({ service })
  const opened = account.open(upstream, account.scheme)
  const tally = new Tally()
  const skipped = new Map<string, number>()
  const notCompared: { from: string; why: string }[] = []
  let isStopped = false
  void stopSignal().then(() => {
    isStopped = true
  })
  try {
    await withReadOnlyXref(config, async (xref) => {
      const sending = (): Sending => ({
        account: opened,
        requestId: REQUEST_ID,
        deadline: performance.now() + config.UPSTREAM_TIMEOUT_MS,
      })
      const { settings, tenant } = account
      const deps = { service, upstream, send, nativePath, xref, settings, tenant, sending }
      for (const [i, { from, request }] of calls.entries()) {
        if (isStopped) break
        const { action } = request.compiled
        showStatus(`${i + 1} of ${calls.length}: ${from}`)
        if (!onlyAsks(action)) {
          skipped.set(action.name, (skipped.get(action.name) ?? 0) + 1)
          continue
        }
        try {
          tally.add(action.name, await compareCall(request, deps))
        } catch (error) {
          if (!(error instanceof NotCompared)) throw error
          notCompared.push({ from, why: error.message })
        }
      }
    })
  } finally {
    clearStatus()
    await upstream.close()
  }
  const report: CompareReport = { tally, notCompared, skipped, minEqual, isStopped }
  if (options.json) printJson(jsonOf(report), 2)
  else printReport(report)
  return isEqualEnough(report) ? 0 : 1
}

const NATIVE_PATH = /^\/$|^(\/[\w.-]+)+\/?$/

function nativePathOf(path: string): string {
  if (!NATIVE_PATH.test(path)) {
    throw new UsageError('--native-path takes / or a prefix of the legacy paths such as /quotes, or /v2')
  }
  return path === '/' ? path : path.replace(/\/$/, '')
}

function shareOf(text: string | undefined): number {
  const share = text === undefined ? DEFAULT_MIN_EQUAL : /^(0|1|0?\.\d+|1\.0+)$/.test(text) ? Number(text) : Number.NaN
  if (share >= 0 && share <= 1) return share
  throw new UsageError(`--min-equal takes a number from 0 to 1 such as ${DEFAULT_MIN_EQUAL}`)
}

function callsOf(
  { bodies, recording }: CompareOptions,
  catalog: Catalog,
  { synonyms }: OwnAccount,
): readonly CertifiedCall[] {
  if (bodies !== undefined) return bodiesIn(bodies, catalog, synonyms)
  return recording === undefined ? exampleCalls(catalog) : recordedCalls(recording, catalog, synonyms)
}

function jsonOf({ tally, notCompared, skipped, minEqual }: CompareReport) {
  return {
    equal: tally.equalShare() ?? null,
    minEqual,
    fields: tally.fields(),
    notCompared,
    skipped: Object.fromEntries(skipped),
  }
}

/** Runs work with the gateway's cross-reference, if there is one; nothing is written into it. */
async function withReadOnlyXref<T>(config: Config, work: (xref: Xref) => Promise<T>): Promise<T> {
  const store = await storeOf(config)
  try {
    const readOnly = { ...store, put: async () => {} }
    return await work(createXref(readOnly, config.QUOTE_MEMORY))
  } finally {
    await store.close()
  }
}

async function storeOf({ STORE_URL: url }: Config): Promise<Store> {
  const isMemory = /^\s*memory:/i.test(url)
  const isServer = /^\s*postgres(ql)?:/i.test(url)
  // A new empty store would be left behind.
  if (isMemory || (!isServer && !existsSync(pathOf(url)))) return createMemoryStore()
  return openConfiguredStore(await loadEngine(url), { mustExist: true })
}

/** A version-1 call that is to be sent in several ways. */
interface CertifiedCall {
  /** Where it is from: a file, a line of a recording, or an example. */
  readonly from: string
  readonly request: Version1
}

/** The operator's synonyms of `ActionName`s. */
type Synonyms = Readonly<Record<string, string>>

/** Returns the example of every action. */
function exampleCalls(catalog: Catalog): readonly CertifiedCall[] {
  return [...catalog.actions.values()].map((compiled) => {
    const body = readBody(Buffer.from(JSON.stringify(compiled.action.example.request)), undefined)
    return { from: `the example of ${compiled.action.name}`, request: version1(compiled, body) }
  })
}

/** Reads the bodies in a folder and its subfolders; the folder or the first words of a file's name may say the action. */
function bodiesIn(folder: string, catalog: Catalog, synonyms: Synonyms): readonly CertifiedCall[] {
  const files = listed(folder)
  if (files.length === 0) throw new CommandFailed(`${folder} holds no files`)
  return files.map((file) => {
    const body = readable(file, () => readBody(readFileSync(file), undefined))
    return { from: file, request: classified(body, endpointOf(file, body, catalog), file, synonyms) }
  })
}

/** Reads a recording: one call a line, as `{"path": "/getShippingQuote.php", "body": "…"}`. */
function recordedCalls(file: string, catalog: Catalog, synonyms: Synonyms): readonly CertifiedCall[] {
  const text = readable(file, () => readFileSync(file, 'utf8'))
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    const from = `${file}:${i + 1}`
    const { path, body } = readable(from, () => recordedLine(line, from))
    const [name = '', query = ''] = path.split('?', 2)
    const endpoint = catalog.endpoints.get(`/${basename(name).toLowerCase()}`)
    if (!endpoint) throw new CommandFailed(`${from}: ${name} is no legacy path`)
    const flat = readable(from, () =>
      endpoint.method === 'GET' ? readQuery(query) : readBody(Buffer.from(body), undefined),
    )
    return [{ from, request: classified(flat, endpoint, from, synonyms) }]
  })
}

function recordedLine(line: string, from: string): { readonly path: string; readonly body: string } {
  const call = readJsonValue(line)
  const { path, body } = { path: undefined, body: undefined, ...(typeof call === 'object' ? call : {}) }
  if (typeof path !== 'string') throw new CommandFailed(`${from}: a line needs a "path"`)
  return { path, body: typeof body === 'string' ? body : JSON.stringify(body ?? {}) }
}

function listed(folder: string): readonly string[] {
  return readable(folder, () => {
    if (!statSync(folder).isDirectory()) throw new CommandFailed(`${folder} is no folder`)
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  })
}

/** Finds the endpoint of a body: by the action that its folder or file is named after, else by its `ActionName` or fields. */
function endpointOf(file: string, body: FlatBody, catalog: Catalog): Endpoint {
  const endpoints = [...catalog.endpoints.values()]
  const named = [basename(dirname(file)), basename(file)].flatMap((name) =>
    [...catalog.actions.values()].filter(({ action }) => name === action.name || name.startsWith(`${action.name}-`)),
  )
  const ofAction = endpoints.find(({ actions }) => actions.some((compiled) => compiled === named[0]))
  if (ofAction) return ofAction
  const actionName = actionNameIn(body)
  const byName = endpoints.filter(
    ({ actions, choose }) =>
      actionName !== undefined && actions[0]?.action.legacy.actionNames !== 'any' && choose(actionName),
  )
  const [best] = (byName.length > 0 ? byName : endpoints.filter(({ method }) => method === 'POST'))
    .map((endpoint) => ({ endpoint, unknown: unknownIn(body, endpoint) }))
    .sort((one, other) => one.unknown - other.unknown)
  if (!best || best.unknown === body.entries.length) {
    throw new CommandFailed(`${file}: no action knows these fields; put the file into a folder named after its action`)
  }
  return best.endpoint
}

const unknownIn = (body: FlatBody, { actions: [first] }: Endpoint): number =>
  first ? version1(first, body).fields.unknown.length : Number.POSITIVE_INFINITY

function actionNameIn({ entries }: FlatBody): string | undefined {
  const value = entries.find(([name]) => name.toLowerCase() === 'actionname')?.[1]
  return typeof value === 'string' ? value : undefined
}

function classified(body: FlatBody, { choose, path }: Endpoint, from: string, synonyms: Synonyms): Version1 {
  const compiled = choose(actionNameIn(body), synonyms)
  if (!compiled) throw new CommandFailed(`${from}: ${path} does not know this ActionName`)
  return version1(compiled, body)
}

/** Reads input; a mistake in it is told in one line. */
function readable<T>(from: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (isSystemError(error)) throw new CommandFailed(systemReason(error, from))
    if (error instanceof GatewayError) throw new CommandFailed(`${from}: ${error.message}`)
    throw error
  }
}

/** The result of `certify compare`. */
interface CompareReport {
  readonly tally: Tally
  /** Calls without a verdict, each with the reason. */
  readonly notCompared: readonly { readonly from: string; readonly why: string }[]
  /** How many calls of an action were not sent, because they create or change something. */
  readonly skipped: ReadonlyMap<string, number>
  readonly minEqual: number
  /** True if a signal ended the command early. */
  readonly isStopped: boolean
}

/** Tells if enough fields are equal. Nothing compared is not enough. */
function isEqualEnough({ tally, minEqual, isStopped }: CompareReport): boolean {
  const share = tally.equalShare()
  return share !== undefined && share >= minEqual && !isStopped
}

/** Prints the table, and what could not be compared. */
function printReport(report: CompareReport): void {
  const { tally, notCompared, skipped, minEqual, isStopped } = report
  const fields = tally.fields()
  if (fields.length > 0) print(...tableOf(fields), '')
  const share = tally.equalShare()
  print(
    share === undefined
      ? 'Nothing was compared: no call was answered.'
      : `${percent(share)} of the compared fields are equal; the least is ${percent(minEqual)}.`,
  )
  for (const [action, count] of skipped) printError(`not sent: ${plural(count, 'call')} of ${action}, which ${WRITES}`)
  for (const { from, why } of notCompared) printError(`not compared: ${from}: ${why}`)
  if (isStopped) printError('stopped before all calls were compared')
}

const WRITES = 'creates or changes something'

const HEAD = ['action', 'field', 'equal', 'differs', 'noise', 'native → translated'] as const

function tableOf(fields: readonly FieldTally[]): readonly string[] {
  const rows = fields.map(({ action, field, counts, examples }) => [
    action,
    field,
    String(counts.equal),
    String(counts.differs),
    String(counts.noise),
    examples.map(({ native, translated }) => `${native || ABSENT} → ${translated || ABSENT}`).join(', '),
  ])
  const lines = [[...HEAD], ...rows]
  const widths = HEAD.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)))
  return lines.map((cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

const ABSENT = '(absent)'
