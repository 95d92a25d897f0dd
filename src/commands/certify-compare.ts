import { createMerge } from '../calls/merge.ts'
import { createSendPlan } from '../calls/send.ts'
import { type CompareDeps, compareCall } from '../certify/compare-call.ts'
import { onlyAsks } from '../certify/native-request.ts'
import { createTally } from '../certify/tally.ts'
import { type Config, readConfig } from '../config/config.ts'
import { loadMappings } from '../config/mappings.ts'
import { openUpstream } from '../service/open.ts'
import { createService, type Sending } from '../service/service.ts'
import { type OwnAccount, ownAccounts } from './accounts.ts'
import { bodiesIn, type CertifiedCall, exampleCalls, recordedCalls } from './certify-calls.ts'
import { type CompareReport, isEqualEnough, printReport } from './certify-compare-report.ts'
import { withReadOnlyXref } from './certify-xref.ts'
import { CommandFailed, UsageError } from './failures.ts'
import { clearStatus, printJson, showStatus } from './output.ts'
import { stopSignal } from './stop-signal.ts'

const USAGE = [
  '  transload certify compare [--examples | --bodies DIR | --recording FILE] [--native-path PATH] [--tenant NAME] [--min-equal 0.99] [--json]',
]
const OPTIONS = {
  examples: { type: 'boolean' },
  bodies: { type: 'string' },
  recording: { type: 'string' },
  tenant: { type: 'string' },
  'native-path': { type: 'string' },
  'min-equal': { type: 'string' },
  json: { type: 'boolean' },
} as const

/** The part of the help of `certify` that is about `compare`. */
export const COMPARE_HELP = {
  usage: USAGE,
  options: OPTIONS,
  accepted: ['examples', 'bodies', 'recording', 'native-path', 'tenant', 'min-equal', 'json'],
  explained: {
    examples: 'Compares the calls that the documentation shows, which is the default.',
    bodies: 'Compares the version-1 bodies in this folder.',
    recording: 'Compares the calls in this file, one JSON object a line.',
    tenant: 'Uses the credential and the settings of this tenant.',
    'native-path':
      'Where the service reads version-1 requests, / by default: a prefix of the legacy paths such as /quotes, or /v2 for its version-2 paths.',
    'min-equal': 'The least share of equal fields, from 0 to 1; below it the exit code is 1.',
    json: 'Prints the result as JSON.',
  },
  examples: [
    'transload certify compare --examples',
    'transload certify compare --bodies ./bodies --min-equal 1 --json',
    'V2_BASE_URL=https://stage.example.com transload certify compare --native-path /quotes',
  ],
} as const

const DEFAULT_MIN_EQUAL = 0.99
/** The request id of every request to the service. */
const REQUEST_ID = 'transload-certify'

/** The options of `certify compare`, as they were given. */
export interface CompareOptions {
  readonly examples?: boolean | undefined
  readonly bodies?: string | undefined
  readonly recording?: string | undefined
  readonly tenant?: string | undefined
  readonly 'native-path'?: string | undefined
  readonly 'min-equal'?: string | undefined
  readonly json?: boolean | undefined
}

/** Sends each call natively, translated, and natively again, and prints how the answers differ, field by field. */
export async function compare(options: CompareOptions): Promise<number> {
  const minEqual = shareOf(options['min-equal'])
  const config = readConfig()
  const nativePath = nativePathOf(options['native-path'])
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const account = await accountOf(config, options.tenant)
  const calls = callsOf(options, catalog, account)
  const upstream = openUpstream(config)
  const service = createService(config, upstream)
  const merge = createMerge(service, () => Promise.reject(new Error('nothing is updated')))
  const send = createSendPlan({ service, merge })
  const opened = account.open(upstream, account.scheme)
  const tally = createTally()
  const skipped = new Map<string, number>()
  const notCompared: { from: string; why: string }[] = []
  let isStopped = false
  void stopSignal().then(() => {
    isStopped = true
  })
  try {
    await withReadOnlyXref(config, async (xref) => {
      const deps: CompareDeps = {
        service,
        upstream,
        send,
        nativePath,
        xref,
        settings: account.settings,
      }
      for (const [i, { from, request }] of calls.entries()) {
        if (isStopped) break
        const { action } = request.compiled
        showStatus(`${i + 1} of ${calls.length}: ${from}`)
        const sending = (): Sending => ({
          account: opened,
          requestId: REQUEST_ID,
          deadline: performance.now() + config.UPSTREAM_TIMEOUT_MS,
        })
        if (!onlyAsks(action)) {
          skipped.set(action.name, (skipped.get(action.name) ?? 0) + 1)
          continue
        }
        const comparison = await compareCall(request, account.tenant, sending, deps)
        tally.add(action.name, comparison)
        if (!comparison.compared) notCompared.push({ from, why: comparison.why })
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

function nativePathOf(path = '/'): string {
  if (!NATIVE_PATH.test(path)) {
    throw new UsageError('--native-path takes / or a prefix of the legacy paths such as /quotes, or /v2', [
      'Usage:',
      ...USAGE,
    ])
  }
  return path === '/' ? path : path.replace(/\/$/, '')
}

function shareOf(text: string | undefined): number {
  const share = text === undefined ? DEFAULT_MIN_EQUAL : /^(0|1|0?\.\d+|1\.0+)$/.test(text) ? Number(text) : Number.NaN
  if (share >= 0 && share <= 1) return share
  throw new UsageError(`--min-equal takes a number from 0 to 1 such as ${DEFAULT_MIN_EQUAL}`, ['Usage:', ...USAGE])
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
    throw new UsageError('compare needs --tenant, because TENANTS_FILE has several', ['Usage:', ...USAGE])
  }
  return account
}

function callsOf(
  { examples, bodies, recording }: CompareOptions,
  catalog: Awaited<ReturnType<typeof loadMappings>>,
  { synonyms }: OwnAccount,
): readonly CertifiedCall[] {
  if ([examples, bodies, recording].filter((one) => one !== undefined && one !== false).length > 1) {
    throw new UsageError('--examples, --bodies and --recording exclude each other', ['Usage:', ...USAGE])
  }
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
