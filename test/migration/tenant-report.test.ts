import { expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { createListWork, type DayUse, type Evidence, tenantReport, verdictOf } from '../../src/migration/report.ts'
import { type CallCount, DAY_MS, type NameCount, type NameKind, type Use } from '../../src/store/scoreboard.ts'

const TODAY = 20_000
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

type Story = Partial<Omit<Evidence, 'days' | 'watched'>> & {
  readonly watchedDays?: number
  /** The calls of a day, by how many days ago it was. */
  readonly use?: (ago: number) => Partial<Omit<DayUse, 'day'>>
}

function told({ watchedDays = 100, use = () => ({}), ...more }: Story): string {
  const days = range(0, 60).flatMap((ago): DayUse[] => {
    const calls = use(ago)
    return Object.keys(calls).length === 0 ? [] : [{ day: TODAY - ago, version1: 0, version2: 0, failed: 0, ...calls }]
  })
  const last = (what: 'version1' | 'version2') =>
    days.filter((day) => day[what] > 0).reduce<number | undefined>((max, { day }) => Math.max(max ?? 0, day), undefined)
  const { state, since, reasons } = verdictOf({
    today: TODAY,
    watched: range(TODAY - watchedDays + 1, TODAY),
    quietDays: 30,
    lastVersion1: last('version1'),
    lastVersion2: last('version2'),
    days,
    ...more,
  })
  return [`${state}${since === undefined ? '' : ` since ${since}`}`, ...reasons.map((reason) => `  ${reason}`)].join(
    '\n',
  )
}

const STORIES: Readonly<Record<string, Story>> = {
  'never called': {},
  'never called, not watched': { watchedDays: 0 },
  ...Object.fromEntries(
    [0, 1, 5, 6, 7, 8, 28, 29, 30, 31, 59].map((ago) => [
      `last version-1 call ${ago} days ago`,
      { use: (at: number) => (at === ago ? { version1: 3 } : {}) },
    ]),
  ),
  'version 1 long ago, version 2 now': { use: (ago) => (ago > 40 ? { version1: 1 } : { version2: 1 }) },
  'version 1 two weeks ago, version 2 now': { use: (ago) => (ago > 13 ? { version1: 1 } : { version2: 1 }) },
  'version 2 alone': { use: () => ({ version2: 2 }) },
  'version 2 alone, watched for a week': { watchedDays: 7, use: (ago) => (ago < 7 ? { version2: 2 } : {}) },
  'quiet for as long as it was watched': { watchedDays: 29, use: (ago) => (ago === 29 ? { version1: 2 } : {}) },
  'two quiet days are enough': { quietDays: 2, use: (ago) => (ago === 2 ? { version1: 2 } : {}) },
  'two quiet days are not there yet': { quietDays: 2, use: (ago) => (ago === 1 ? { version1: 2 } : {}) },
  'version 1 alone': { use: () => ({ version1: 5 }) },
  'one call': { use: (ago) => (ago === 0 ? { version1: 1 } : {}) },
  'steady share': { use: () => ({ version1: 3, version2: 1 }) },
  'growing share': { use: (ago) => ({ version1: 10, version2: 30 - Math.min(ago, 28) }) },
  'shrinking share': { use: (ago) => ({ version1: 10, version2: Math.min(ago, 28) + 1 }) },
  'just begun': { use: (ago) => ({ version1: 10, ...(ago < 3 && { version2: 10 }) }) },
  'a share that barely moves': { use: (ago) => ({ version1: 100, version2: ago < 7 ? 109 : 100 }) },
  'a share that moves': { use: (ago) => ({ version1: 100, version2: ago < 7 ? 125 : 100 }) },
  'weeks without calls': { use: (ago) => (ago < 7 || ago > 20 ? { version1: 1, version2: 1 } : {}) },
  'five of a hundred are refused': { use: (ago) => (ago < 7 ? { version1: 100, failed: 5 } : {}) },
  'six of a hundred are refused': { use: (ago) => (ago < 7 ? { version1: 100, failed: 6 } : {}) },
  'refused a week ago': { use: (ago) => (ago === 7 ? { version1: 9, failed: 9 } : ago < 7 ? { version1: 9 } : {}) },
  'refused and moving': { use: () => ({ version1: 5, version2: 5, failed: 5 }) },
}

test('the verdict on every story is the reviewed one', async () => {
  const lines = Object.entries(STORIES).map(([name, story]) => `${name}: ${told(story)}\n`)
  await expect(lines.join('')).toMatchFileSnapshot('verdicts.txt')
})

const call = (ago: number, use: Use, action: string, outcome: string, calls: number): CallCount => ({
  tenant: 'acme',
  day: TODAY - ago,
  use,
  action,
  outcome,
  calls,
})

const named = (kind: NameKind, action: string, name: string, count: number, lastAgo = 0): NameCount => ({
  tenant: 'acme',
  kind,
  action,
  name,
  count,
  firstAt: (TODAY - 50) * DAY_MS + count,
  lastAt: (TODAY - lastAgo) * DAY_MS + count,
  example: kind === 'error' ? `request-${count}` : '',
})

test('the report on a tenant is the reviewed one', async () => {
  const report = tenantReport('acme', {
    calls: [
      call(0, 'version-1', 'quote.get', 'done', 10),
      call(0, 'version-1', 'quote.get', 'untranslatable', 2),
      call(0, 'version-1', 'shipment.create', 'replayed', 3),
      call(0, 'version-1', 'shipment.create', 'brownout', 4),
      call(0, 'version-2', '', 'service-404', 5),
      call(0, 'dry-run', 'quote.get', 'untranslatable', 6),
      call(1, 'version-1', 'version-2-body', 'done', 7),
      call(29, 'version-1', 'gone', 'done', 8),
      call(30, 'version-1', 'shipment.get', 'done', 9),
      call(1, 'version-1', '', 'action-unknown', 1),
    ],
    names: [
      named('use', '', 'version-1', 30),
      named('use', '', 'version-2', 5, 3),
      named('use', '', 'dry-run', 6, 2),
      named('used', 'quote.get', 'TempShipFromPostalCode', 12),
      named('lossy', 'quote.get', 'TempShipFromPostalCode', 4),
      named('used', 'quote.get', 'Gone', 2),
      named('used', 'gone', 'Field', 2),
      named('unused', 'quote.get', 'CSR', 3),
      named('unused', 'quote.get', 'TempShipFromCity', 3, 29),
      named('unused', 'quote.get', 'TempShipToCity', 3, 30),
      named('assumed', 'quote.get', 'vehicle_type', 5),
      named('assumed', 'shipment.create', 'PickupZip', 5),
      named('unknown', '', 'Foo', 2),
      named('unknown', '', '', 9),
      named('agent', '', 'OldShop/3', 20),
      named('agent', '', 'curl/8', 30),
      named('network', '', '192.0.2.0/24', 30),
      named('error', '', 'untranslatable', 2),
      named('error', '', 'number-unknown', 3),
    ],
    today: TODAY,
    watched: range(TODAY - 60, TODAY),
    quietDays: 30,
    listWork: createListWork(await loadMappings()),
  })
  await expect(`${JSON.stringify(report, null, 1)}\n`).toMatchFileSnapshot('tenant-report.txt')
})
