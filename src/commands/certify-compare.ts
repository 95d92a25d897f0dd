import { createMerge } from '../calls/merge.ts'
import { createSendPlan } from '../calls/send.ts'
import { compareCall, NotCompared, onlyAsks, Tally } from '../certify/compare.ts'
import { type Config, readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { openUpstream } from '../service/open.ts'
import { createService, type Sending } from '../service/service.ts'
import { type OwnAccount, ownAccounts } from './auth.ts'
import { bodiesIn, type CertifiedCall, exampleCalls, recordedCalls } from './certify-calls.ts'
import { type CompareReport, isEqualEnough, printReport } from './certify-compare-report.ts'
import { withReadOnlyXref } from './certify-xref.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { clearStatus, printJson, showStatus } from './output.ts'
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
  const account = await accountOf(config, options.tenant)
  const calls = callsOf(options, catalog, account)
  const upstream = openUpstream(config)
  const service = createService(config, upstream)
  const merge = createMerge(service, () => Promise.reject(new Error('nothing is updated')))
  const send = createSendPlan({ service, merge })
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

async function accountOf(config: Config, tenant: string | undefined): Promise<OwnAccount> {
  const accounts = await ownAccounts(config)
  if (accounts.length === 0) {
    throw new CommandFailed(
      'there is no credential to ask with; set V2_CLIENT_ID and V2_CLIENT_SECRET, or TENANTS_FILE',
    )
  }
  const [account] = tenant === undefined ? accounts : accounts.filter((one) => one.tenant === tenant)
  if (!account) throw new CommandFailed(`there is no tenant ${tenant}`)
  if (tenant === undefined && accounts.length > 1) {
    throw new UsageError('compare needs --tenant, because TENANTS_FILE has several')
  }
  return account
}

function callsOf(
  { bodies, recording }: CompareOptions,
  catalog: Awaited<ReturnType<typeof loadMappings>>,
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
