import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { fieldsOf } from '../../src/mapping/row-parts.ts'
import { slotKinds } from '../../src/migration/counts.ts'
import { createEquivalents, readReport } from '../../src/migration/report.ts'
import { DAY_MS, type NameCount } from '../../src/store/scoreboard.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'

const catalog = await loadMappings()
const TODAY = 20_100

/** Returns a store whose tenants last called so many days ago, watched for 100 days. */
async function storeWith(lastCalls: Readonly<Record<string, number>>) {
  const store = createMemoryStore({ now: () => (TODAY + 0.5) * DAY_MS })
  const days = Array.from({ length: 100 }, (_, i) => TODAY - i)
  const calls = Object.entries(lastCalls).map(([tenant, ago]) => ({
    tenant,
    day: TODAY - ago,
    use: 'version-1' as const,
    action: 'quote.get',
    outcome: 'done',
    calls: 5,
  }))
  const names = Object.entries(lastCalls).map(([tenant, ago]): NameCount => {
    const at = (TODAY - ago) * DAY_MS
    return { tenant, kind: 'use', action: '', name: 'version-1', count: 5, firstAt: at, lastAt: at, example: '' }
  })
  await store.addCounts({ instance: 'test', no: 1, days, calls, names })
  return store
}

const reportOn = async (lastCalls: Readonly<Record<string, number>>, tenants: readonly string[] = [], only?: string) =>
  readReport({ store: await storeWith(lastCalls), catalog, quietDays: 30, tenants }, only)

describe('the verdict on all tenants', () => {
  test('is safe once every tenant is safe', async () => {
    expect((await reportOn({ one: 40, other: 60 })).verdict.state).toBe('safe')
    expect((await reportOn({ one: 40, other: 10 })).verdict.state).toBe('quiet')
    expect((await reportOn({ one: 40, other: 1 })).verdict.state).toBe('calling')
  })

  test('is not safe while a declared tenant has never called', async () => {
    const { verdict, tenants } = await reportOn({ one: 40 }, ['one', 'silent'])
    expect(tenants.map(({ verdict: { state } }) => state)).toEqual(['safe', 'never-seen'])
    expect(verdict.state).toBe('quiet')
    expect(verdict.reasons).toContain('1 tenant never called, which proves nothing: silent.')
  })

  test('counts a tenant with dry runs alone as one that never called', async () => {
    const store = await storeWith({ one: 40 })
    const at = TODAY * DAY_MS
    const dryRun = {
      tenant: 'dry',
      kind: 'use',
      action: '',
      name: 'dry-run',
      count: 1,
      firstAt: at,
      lastAt: at,
    } as const
    await store.addCounts({ instance: 'test', no: 2, days: [], calls: [], names: [{ ...dryRun, example: '' }] })
    const { verdict } = await readReport({ store, catalog, quietDays: 30, tenants: [] })
    expect(verdict.state).toBe('quiet')
  })
})

test.each([...catalog.actions.values()])('every field of $action.name has an equivalent, or a reason', (compiled) => {
  const { action, fields } = compiled
  const equivalent = createEquivalents(catalog)
  const kinds = slotKinds(compiled)
  expect(new Set([...action.request, ...(action.remember ?? [])].flatMap(fieldsOf))).toEqual(new Set(fields.names))
  for (const [slot, field] of fields.names.entries()) {
    const found = equivalent(action.name, field)
    expect(found?.note, field).not.toBe('')
    // A field without effect has no place in version 2, and every other one has.
    expect((found?.places.length ?? 0) > 0, field).toBe(kinds[slot] === 'used')
  }
})

test('an action or a field that is not declared any more has no equivalent', () => {
  const equivalent = createEquivalents(catalog)
  expect(equivalent('gone', 'ActionName')).toBeUndefined()
  expect(equivalent('quote.get', 'Gone')).toBeUndefined()
})
