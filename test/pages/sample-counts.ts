import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CallCount, DAY_MS, type NameCount } from '../../src/outside/store/scoreboard.ts'
import type { Store } from '../../src/outside/store/store.ts'
import type { Use } from '../../src/runtime/call.ts'

type SampleName = Pick<NameCount, 'tenant' | 'kind' | 'name'> & Partial<NameCount>

/** The data of the tenant acme. */
const sample: { readonly names: readonly SampleName[]; readonly callsOfToday: readonly Omit<CallCount, 'day'>[] } =
  JSON.parse(readFileSync(join(import.meta.dirname, 'sample-counts.json'), 'utf8'))

/** A name that is an attack if it is not treated as plain text. */
export const HOSTILE = `<img src=x onerror=alert(1)>"'&\u001b[31m\u202e=HYPERLINK("x")|\``

/** Tenants with different stories, by the end of `today`, a day since 1970. */
const STORIES: Readonly<Record<string, (day: number, today: number) => Partial<Record<Use, number>>>> = {
  acme: (day, today) => ({ 'version-1': 40 + (day % 7) * 5, 'version-2': day > today - 20 ? 15 : 0 }),
  'calling-only': (day) => ({ 'version-1': 12 + (day % 5) }),
  gone: (day, today) => ({ 'version-1': day < today - 45 ? 20 : 0, 'version-2': 10 }),
  quieter: (day, today) => ({ 'version-1': day < today - 12 ? 20 : 0 }),
  [HOSTILE]: () => ({ 'version-1': 3 }),
  '': () => ({ 'version-2': 4 }),
}

const DAYS = 70

/** Fills a store with 70 days of counts. */
export async function fillCounts(store: Store): Promise<void> {
  const today = Math.floor(store.now() / DAY_MS)
  const days = Array.from({ length: DAYS }, (_, i) => today - DAYS + 1 + i)
  const calls: CallCount[] = []
  const names = new Map<string, NameCount>()
  const name = (count: SampleName) => {
    const at = { firstAt: (today - DAYS) * DAY_MS, lastAt: today * DAY_MS }
    const whole = { action: '', count: 3, example: '', ...at, ...count }
    names.set(JSON.stringify([whole.tenant, whole.kind, whole.action, whole.name]), whole)
  }
  for (const [tenant, story] of Object.entries(STORIES)) {
    for (const day of days) {
      for (const [use, count] of Object.entries(story(day, today)) as [Use, number][]) {
        if (count === 0) continue
        const action = use === 'version-1' ? 'quote.get' : ''
        calls.push({ tenant, day, use, action, outcome: 'done', calls: count })
        name({ tenant, kind: 'use', name: use, count, lastAt: day * DAY_MS })
      }
    }
    name({ tenant, kind: 'agent', name: 'OldShop/3' })
    name({ tenant, kind: 'network', name: '192.0.2.0/24' })
  }
  for (const one of sample.names) name(one)
  calls.push(...sample.callsOfToday.map((call) => ({ ...call, day: today })))
  name({ tenant: 'acme', kind: 'unknown', name: HOSTILE })
  name({ tenant: HOSTILE, kind: 'agent', name: HOSTILE })
  await store.addCounts({ instance: 'sample', no: 1, days, calls, names: [...names.values()] })
}

/** Fills a store with tenants that called today; the calls of every third one end differently. */
export async function fillTenants(store: Store, many: number, outcome = 'service-failed'): Promise<void> {
  const day = Math.floor(store.now() / DAY_MS)
  const at = day * DAY_MS
  const tenants = Array.from({ length: many }, (_, i) => `tenant ${String(i).padStart(5, '0')}`)
  const calls = tenants.map(
    (tenant, i): CallCount => ({
      ...{ tenant, day, use: 'version-1', action: 'quote.get', calls: 9 },
      outcome: i % 3 === 0 ? outcome : 'done',
    }),
  )
  const names = tenants.map(
    (tenant): NameCount => ({
      ...{ tenant, kind: 'use', action: '', name: 'version-1', count: 9, firstAt: at, lastAt: at, example: '' },
    }),
  )
  await store.addCounts({ instance: 'many', no: 1, days: [day], calls, names })
}
