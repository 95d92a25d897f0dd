import type { Catalog } from '../mapping/catalog.ts'
import { DAY_MS, type NameCount, type Scoreboard } from '../store/scoreboard.ts'
import { type TenantReport, tenantReport } from './tenant-report.ts'
import { type DayUse, type Verdict, verdictOf } from './verdict.ts'
import { dayText, plural } from './wording.ts'
import { createListWork } from './work.ts'

/** How many days the pictures and the tables of a report show. */
export const DAYS_SHOWN = 90

/** The tenants that still use version 1, and the fields that keep them there. */
export interface MigrationReport {
  readonly generatedAt: string
  /** The first day on which a gateway counted; undefined if none did. */
  readonly watchedSince: string | undefined
  readonly watchedDays: number
  readonly quietDays: number
  /** On the tenant that the report is about, else on all together. */
  readonly verdict: Verdict
  readonly tenants: readonly TenantReport[]
  /** The number of tenants that are left out because there are too many. */
  readonly leftOut: number
}

export interface ReportDeps {
  readonly store: Scoreboard & { readonly now: () => number }
  readonly catalog: Catalog
  readonly quietDays: number
  /** The tenants that the gateway knows by name, whether or not they have called. */
  readonly tenants: readonly string[]
}

export interface ReportOptions {
  /** @default all tenants */
  readonly tenant?: string | undefined
  /** How many tenants are listed: those that called last. @default all */
  readonly most?: number
}

/** Reads a report from the store. A report on a tenant that is neither known nor counted has no tenants. */
export async function readReport(
  { store, catalog, quietDays, tenants: named }: ReportDeps,
  { tenant: only, most = Number.POSITIVE_INFINITY }: ReportOptions = {},
): Promise<MigrationReport> {
  const at = store.now()
  const today = Math.floor(at / DAY_MS)
  const watched = await store.watchedDays()
  const uses = Map.groupBy(await readUses(store), ({ tenant }) => tenant)
  const wanted = byLastCall([...new Set([...uses.keys(), ...named])], uses).filter(
    (tenant) => only === undefined || tenant === only,
  )
  const listWork = createListWork(catalog)
  const tenants: TenantReport[] = []
  for (const tenant of wanted.slice(0, most)) {
    // One tenant at a time: reads of the embedded store run on the event loop.
    const calls = await store.callCounts(tenant, today - DAYS_SHOWN + 1)
    const names = await store.nameCounts(tenant)
    tenants.push(tenantReport(tenant, { calls, names, today, watched, quietDays, listWork }))
    await new Promise(setImmediate)
  }
  const [first] = watched
  return {
    generatedAt: new Date(at).toISOString(),
    watchedSince: first === undefined ? undefined : dayText(first),
    watchedDays: watched.length,
    quietDays,
    verdict:
      (only !== undefined && tenants[0]?.verdict) || verdictOnAll(wanted, uses, tenants, { today, watched, quietDays }),
    tenants,
    leftOut: Math.max(0, wanted.length - tenants.length),
  }
}

async function readUses(store: Scoreboard): Promise<readonly NameCount[]> {
  const uses: NameCount[] = []
  for (;;) {
    const some = await store.countedTenants(uses.at(-1))
    if (some.length === 0) return uses
    uses.push(...some)
    await new Promise(setImmediate)
  }
}

function byLastCall(tenants: readonly string[], uses: ReadonlyMap<string, readonly NameCount[]>): readonly string[] {
  const lastAt = (tenant: string) => Math.max(0, ...(uses.get(tenant) ?? []).map((use) => use.lastAt))
  return tenants
    .map((tenant) => ({ tenant, at: lastAt(tenant) }))
    .sort((one, other) => other.at - one.at)
    .map(({ tenant }) => tenant)
}

/** How many tenants a reason lists. */
const MOST_UNSEEN = 10

/** Decides on all tenants together. Silence of the others proves nothing about a tenant that never called. */
function verdictOnAll(
  names: readonly string[],
  uses: ReadonlyMap<string, readonly NameCount[]>,
  tenants: readonly TenantReport[],
  basis: Pick<Parameters<typeof verdictOf>[0], 'today' | 'watched' | 'quietDays'>,
): Verdict {
  const lastDay = (use: string) => {
    const counts = [...uses.values()].flat().filter(({ name }) => name === use)
    const lastAt = counts.reduce((last, count) => Math.max(last, count.lastAt), 0)
    return counts.length === 0 ? undefined : Math.floor(lastAt / DAY_MS)
  }
  const verdict = verdictOf({
    ...basis,
    lastVersion1: lastDay('version-1'),
    lastVersion2: lastDay('version-2'),
    days: addDays(tenants),
  })
  const unseen = names.filter((tenant) => !uses.get(tenant)?.some(({ name }) => name !== 'dry-run'))
  if (unseen.length === 0) return verdict
  const listed = unseen.slice(0, MOST_UNSEEN).join(', ')
  const more = unseen.length > MOST_UNSEEN ? ', …' : ''
  const reason = `${plural(unseen.length, 'tenant')} never called, which proves nothing: ${listed}${more}.`
  const state = verdict.state === 'safe' ? 'quiet' : verdict.state
  return { ...verdict, state, reasons: [...verdict.reasons, reason] }
}

function addDays(tenants: readonly TenantReport[]): readonly DayUse[] {
  const days = new Map<number, DayUse>()
  for (const { day, version1, version2, refused } of tenants.flatMap((tenant) => tenant.use)) {
    const before = days.get(day) ?? { version1: 0, version2: 0, refused: 0 }
    days.set(day, {
      day,
      version1: before.version1 + version1,
      version2: before.version2 + version2,
      refused: before.refused + refused,
    })
  }
  return [...days.values()]
}
