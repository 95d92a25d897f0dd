import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { deprecationFor } from '../../edge/callers/caller.ts'
import { tlsWarnings } from '../../edge/tls.ts'
import { type Config, configNames, effectiveVariables } from '../../language/config/config.ts'
import { ConfigErrors } from '../../language/config/errors.ts'
import { engineOf, pathOf } from '../../language/config/store-address.ts'
import { secretsOf } from '../../language/config/tenants-file.ts'
import { windowsToCome } from '../../language/legacy-headers.ts'
import { nearest } from '../../language/text/nearest.ts'
import { openAccount } from '../../outside/service/account.ts'
import { basicOf } from '../../outside/service/credential.ts'
import { openUpstream } from '../../outside/service/upstream.ts'
import { openSource } from '../../outside/store/sqlite/backup.ts'
import { messageOf, storeVersion } from '../../outside/store/sqlite/connection.ts'
import { unwritableReason } from '../../state/bookings/record.ts'
import { recentOverview } from '../reports/report.ts'
import { aligned, firstNames, isoTime, tenantName } from '../words.ts'
import { attempt, ownAccounts } from './accounts.ts'
import { EXIT_FAILED } from './failures.ts'
import { mistakeOfMemory, refusalAhead } from './last-store.ts'
import { type LoadedConfig, loadConfig } from './load.ts'
import { modeOf, obstacleAt, unusableStore, withExistingStore } from './open-store.ts'
import { type Options, print, printError, printJson } from './output.ts'

/**
 * Checks everything that `serve` checks before it starts, and prints what the gateway would be: mode, addresses, store, the
 * brownouts to come and what is set, without secrets.
 */
export async function check({ json, connect }: Options<'json' | 'connect'>): Promise<number> {
  const lacking: string[] = []
  const loaded = await loadConfig(lacking).catch((error: unknown) => {
    // A slip may be the cause of an error.
    printError(...slipsIn(process.env, new Set()).map((slip) => `warning: ${slip}`))
    throw error
  })
  const { config, catalog, tenants = [] } = loaded
  const secrets = tenants.flatMap(secretsOf)
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT, V2_BASE_URL, V2_TOKEN, RECORD_FILE, WEBHOOK_SECRET, WEBHOOK_CLIENT_ID } =
    config
  const now = Date.now()
  const mode = modeOf(config)
  const ends = deprecationsOf(loaded)
  const brownouts = ends
    .flatMap(({ tenant, windows, coversBookings: bookings }) =>
      windowsToCome(windows, now).map((window) => ({ tenant, ...window, bookings })),
    )
    .sort((one, other) => one.start - other.start)
  const variables = effectiveVariables(process.env)
  const store = await storeState(config)
  const mistakes = [store.mistake, mistakeOfMemory(config)].filter((mistake) => mistake !== undefined)
  const service = connect ? await connected(config) : undefined
  const refusal = store.mistake === undefined ? refusalAhead(config) : undefined
  // The gateway runs without recording.
  const unwritable = RECORD_FILE && unwritableReason(RECORD_FILE)
  const warnings = [
    ...lacking,
    ...tlsWarnings(config),
    unwritable && `RECORD_FILE names ${RECORD_FILE}, which cannot be written: ${unwritable}`,
    refusal && `"transload serve" refuses this store: ${refusal}`,
    ...slipsIn(process.env, new Set(secrets.flatMap(({ ref }) => (ref && 'env' in ref ? [ref.env] : [])))),
    ...(await endWarnings(ends, store.hasCounts, now)),
  ].filter((warning) => warning !== undefined)
  const counts = { actions: catalog.actions.size, paths: catalog.endpoints.size, tenants: tenants.length }
  if (json) {
    const coming = brownouts.map((one) => ({ ...one, start: isoTime(one.start), end: isoTime(one.end) }))
    printJson({ ...counts, mode, store: store.text, service, brownouts: coming, variables, warnings }, 2)
  } else {
    // Undefined where TZ names a zone that does not exist; then times are those of UTC.
    const { timeZone = 'UTC' } = Intl.DateTimeFormat().resolvedOptions()
    print(
      ...(mistakes.length > 0
        ? []
        : [`The configuration is valid: ${counts.actions} actions at ${counts.paths} legacy paths.`]),
      // In client mode, the gateway has no credential but one for events.
      ...(mode === 'client' && WEBHOOK_SECRET !== undefined && WEBHOOK_CLIENT_ID === undefined
        ? [
            'Events are only stored. To let the gateway read their shipments, set WEBHOOK_CLIENT_ID and WEBHOOK_CLIENT_SECRET.',
          ]
        : []),
      ...(brownouts.length > 0 ? [`Upcoming brownouts, in the time zone ${timeZone}:`] : []),
      ...brownouts.map(
        ({ tenant = 'all callers', start, end, bookings }) =>
          `  ${momentOf(start)} to ${momentOf(end)}  ${tenant}${bookings ? ', including bookings' : ''}`,
      ),
      '',
      ...aligned([
        ['mode', mode === 'tenants' ? `tenants: ${counts.tenants}` : mode],
        ['callers', `${HOST}:${PORT}`],
        ['operators', ADMIN_PORT === 0 ? 'no listener' : `${ADMIN_HOST}:${ADMIN_PORT}`],
        ['service', `${V2_BASE_URL.origin}${V2_BASE_URL.prefix}, ${V2_TOKEN}`],
        ['store', store.text],
        ...(service ?? []).map(({ tenant, outcome }) => [tenant, outcome]),
      ]),
      '',
      ...aligned(
        variables.filter(({ from }) => from === 'environment').map(({ name, value = '', from }) => [name, from, value]),
      ),
    )
    printError(...warnings.map((warning) => `warning: ${warning}`))
  }
  if (mistakes.length > 0) throw new ConfigErrors(mistakes)
  return service?.some(({ accepted }) => accepted === false) ? EXIT_FAILED : 0
}

/** Tries the store; makes none. It has counts if a gateway has made it, and a mistake if none could use it. */
async function storeState({ STORE_URL }: Config) {
  if (engineOf(STORE_URL) === 'memory') return { text: 'memory: everything is lost at exit' }
  try {
    if (engineOf(STORE_URL) === 'postgres') {
      const { inspectPostgres } = await import('../../outside/store/postgres/postgres.ts')
      const hasCounts = (await inspectPostgres(STORE_URL)) !== undefined
      return { text: `PostgreSQL answers${hasCounts ? '' : '; the first start creates the schema'}`, hasCounts }
    }
    const path = resolve(pathOf(STORE_URL))
    const reason = obstacleAt(path)
    if (reason !== undefined) throw reason
    // SQLite takes an empty file for a new database.
    if (!statSync(path, { throwIfNoEntry: false })?.size) return { text: `${path}, which the first start creates` }
    const db = openSource(path)
    try {
      return { text: `${path}, version ${storeVersion(db)}`, hasCounts: true }
    } finally {
      db.close()
    }
  } catch (error) {
    return { text: `cannot be used: ${messageOf(error)}`, mistake: unusableStore(error) }
  }
}

/**
 * Tries every credential of the gateway's own at the service in both ways: it is accepted if that of `V2_TOKEN` is. Without
 * any, tries if the service answers. What was not tried is neither accepted nor not.
 */
async function connected(config: Config) {
  const { UPSTREAM_TIMEOUT_MS: timeoutMs, V2_BASE_URL: address } = config
  const upstream = openUpstream(config)
  // The warnings name the secrets that are not here.
  const accounts = await ownAccounts(config, [])
  const tried = []
  for (const { tenant, open, scheme, hasSecret } of accounts) {
    if (!hasSecret) {
      tried.push({
        tenant: `as ${tenant}`,
        accepted: undefined,
        outcome: 'not tried: its secret is not available here',
      })
      continue
    }
    const basic = await attempt(open(upstream, 'basic'), upstream, config)
    const oauth2 = await attempt(open(upstream, 'oauth2'), upstream, config)
    const accepted = scheme === 'auto' ? basic.accepted || oauth2.accepted : { basic, oauth2 }[scheme].accepted
    tried.push({ tenant: `as ${tenant}`, accepted, outcome: `basic ${basic.outcome}; oauth2 ${oauth2.outcome}` })
  }
  if (accounts.length === 0) {
    const stranger = { upstream, ...address, basic: basicOf('nobody', 'nothing'), pool: 'check', timeoutMs }
    const { outcome } = await attempt(openAccount({ ...stranger, scheme: 'basic' }), upstream, config)
    const accepted = !outcome.startsWith('no ')
    tried.push({ tenant: 'connection', accepted, outcome: accepted ? 'the service answers' : outcome })
  }
  await upstream.close()
  return tried
}

/** Returns the deprecation of each tenant; without tenants, that of all callers. */
function deprecationsOf({ config, tenants }: LoadedConfig) {
  return (tenants ?? [undefined]).map((tenant) => ({ tenant: tenant?.name, ...deprecationFor(config, tenant) }))
}

const RECENT_MS = 28 * 86_400_000
const MOST_LISTED = 10

/** Returns the warnings on the end of version 1: of dates that do not fit, and of callers that it cuts off. */
async function endWarnings(ends: ReturnType<typeof deprecationsOf>, hasCounts: boolean | undefined, now: number) {
  const dates = ends.flatMap(({ tenant = 'all callers', sunset, retiredFrom }) => {
    if (!sunset || (retiredFrom ? sunset <= retiredFrom : sunset.getTime() > now)) return []
    return retiredFrom
      ? [`SUNSET of ${tenant} is after RETIRED_FROM, so callers are told a later end`]
      : [`SUNSET of ${tenant} has passed without RETIRED_FROM: version-1 calls still work`]
  })
  const ending = ends.filter(({ retiredFrom }) => retiredFrom)
  if (ending.length === 0 || !hasCounts) return dates
  const recent: string[] = []
  await withExistingStore(async (counts) => {
    for (const { tenant, lastVersion1 = 0 } of (await recentOverview(counts, [])).tenants) {
      const isEnding = ending.some((end) => (end.tenant ?? tenant) === tenant)
      if (isEnding && new Date(lastVersion1).getTime() > now - RECENT_MS) recent.push(tenant)
    }
    return 0
  })
  if (recent.length === 0) return dates
  const names = recent.sort().map(tenantName)
  return [
    ...dates,
    `RETIRED_FROM cuts off ${recent.length} of the callers of the last 28 days: ${firstNames(names, MOST_LISTED)}`,
  ]
}

/** Writes a time in the time zone of the operator (`TZ`). */
const momentOf = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(at)

/** Variables with these beginnings are hardly meant for another program. */
const OWN_PREFIX = /^(V2|UPSTREAM|LEGACY)_/i
/** Shorter names, such as `HOST`, are near to those of other programs. */
const SHORTEST_LIKENESS = 6

/** Returns a warning for each variable that looks like a slip; `used` are names that the tenants file mentions. */
function slipsIn(env: NodeJS.ProcessEnv, used: ReadonlySet<string>): readonly string[] {
  return Object.keys(env)
    .filter((name) => !configNames.includes(name) && !used.has(name))
    .flatMap((name) => {
      const meant = meantBy(name)
      if (meant === undefined && !OWN_PREFIX.test(name)) return []
      return [`${name} is not a variable of the gateway${meant === undefined ? '' : `; did you mean ${meant}?`}`]
    })
}

function meantBy(name: string): string | undefined {
  if (configNames.includes(`${name}S`)) return `${name}S`
  if (name.length < SHORTEST_LIKENESS || !name.includes('_')) return undefined
  // Other programs know names such as `SSL_CERT_FILE`.
  if (!OWN_PREFIX.test(name)) return nearest(name, configNames, 1)
  const near = nearest(name, configNames)
  if (near !== undefined) return near
  // `V2_TIMEOUT` has the word of `UPSTREAM_TIMEOUT_MS`.
  const words = name.toUpperCase().replace(OWN_PREFIX, '')
  const [found, ...more] = configNames.filter((known) => `_${known}_`.includes(`_${words}_`))
  return more.length === 0 ? found : undefined
}
