/** Promise: no statement of a call reads a whole table (contract, section 7). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../../src/store/open.ts'
import { newFolder } from '../../command.ts'

test.each([
  [
    'a name in any case',
    "SELECT 1 FROM links WHERE tenant = 'a' AND lower(name) = lower('B') AND name <> lower(name) AND name <> upper(name)",
    'links_in_mixed_case',
  ],
  [
    'the bookings of a shipment',
    "SELECT 1 FROM claims WHERE tenant = 'a' AND lower(shipment) = lower('B') AND shipment <> ''",
    'claims_by_shipment',
  ],
])('%s is found by an index of its own, not by a look at all of a tenant', async (_, query, index) => {
  const folder = newFolder('plans')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 't.db')
  const store = await openStore(path)
  await store.close()
  const db = new DatabaseSync(path, { readOnly: true })
  onTestFinished(() => db.close())
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${query}`).all()
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining(index)])
})
