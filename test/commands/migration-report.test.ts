/** Promise: the report in Markdown is reviewed (contract, section 11). */

import { expect, test } from 'vitest'
import { markdownOf } from '../../src/commands/migration.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { readReport } from '../../src/migration/report.ts'
import { DAY_MS } from '../../src/store/scoreboard.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { fillCounts } from '../pages/sample-counts.ts'

const NOW = Date.UTC(2031, 2, 4, 5, 6, 7)

async function reportOf(tenant?: string) {
  const store = createMemoryStore({ now: () => NOW })
  await fillCounts(store)
  const day = Math.floor(NOW / DAY_MS)
  const acme = { tenant: 'acme', day, use: 'version-1', action: 'shipment.create' } as const
  await store.addCounts({
    instance: 'sample',
    no: 2,
    days: [day],
    calls: [
      { ...acme, outcome: 'replayed', calls: 2 },
      { ...acme, outcome: 'untranslatable', calls: 3 },
      { ...acme, action: '', outcome: 'action-unknown', calls: 4 },
      { ...acme, use: 'dry-run', outcome: 'done', calls: 5 },
    ],
    names: [],
  })
  return readReport({ store, catalog: await loadMappings(), quietDays: 30, tenants: ['silent'] }, tenant)
}

const empty = async () => {
  const store = createMemoryStore({ now: () => NOW })
  return readReport({ store, catalog: await loadMappings(), quietDays: 30, tenants: [] })
}

const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

test('the report in Markdown is what it was', async () => {
  await expect(text(markdownOf(await reportOf()))).toMatchFileSnapshot('output/migration.md')
  await expect(text(markdownOf(await empty()))).toMatchFileSnapshot('output/migration-empty.md')
})
