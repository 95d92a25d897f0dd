/** Promise: `store prune` shows what would go, and deletes it (contract, section 6). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { link, newClaim, scanned, thing } from '../store/samples.ts'

const DAY_MS = 86_400_000

async function filledStore() {
  const folder = newFolder('prune')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const storeUrl = join(folder, 'store.db')
  let daysAgo = 500
  const store = await openStore(storeUrl, { now: () => Date.now() - daysAgo * DAY_MS })
  const { at: _, ...given } = link()
  await store.put({ links: [given, { ...given, name: 'Q-2' }], thing: thing() })
  for (const [key, state] of [
    ['REF-1', 'booked'],
    ['REF-2', 'unknown'],
  ] as const) {
    const { claim } = await store.claim(newClaim({ key }))
    await store.change(claim, { state, instance: 'g', why: 'test' })
  }
  while (daysAgo > 0) {
    daysAgo -= 1
    await store.turnDay(DAY_MS)
  }
  await store.close()
  const prune = (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    run(process.execPath, [join(ROOT, 'src/main.ts'), 'store', 'prune', ...words], {
      env: cleanEnv({ STORE_URL: storeUrl, ...env }),
    })
  return { storeUrl, prune }
}

test('shows what would go, and deletes it', { timeout: 60_000 }, async () => {
  const { storeUrl, prune } = await filledStore()
  const dry = await prune(['--dry-run'])
  expect({ code: dry.code, err: dry.err }).toEqual({ code: 0, err: '' })
  expect(dry.out).toMatch(/^ +1 {2}finished bookings, with their audit trail$/m)
  expect(dry.out).toMatch(/^ +2 {2}numbers$/m)
  expect(dry.out).toMatch(
    /^4 rows that nobody has needed for 400 days \(BOOKING_DAYS\) would go; nothing was deleted\.$/m,
  )
  expect((await prune(['--dry-run'], { BOOKING_DAYS: '501' })).out).toMatch(/^0 rows /m)

  const done = JSON.parse((await prune(['--json'])).out)
  expect(done).toMatchObject({ days: 400, dryRun: false })
  expect(done.tables).toContainEqual({ table: 'claims', pruned: 1 })
  expect((await prune([])).out).toMatch(/^0 rows that nobody has needed for 400 days \(BOOKING_DAYS\) were deleted\.$/m)
  const store = await openStore(storeUrl)
  onTestFinished(() => store.close())
  expect((await store.listClaims({})).map(({ key }) => key)).toEqual(['REF-2'])
  expect(await scanned(store)).toEqual([])
})

test('a store that is not there is an error', async () => {
  const { code, err } = await (await filledStore()).prune([], { STORE_URL: '/nowhere/store.db' })
  expect(code).toBe(1)
  expect(err).toMatch(/^transload: there is no store at \/nowhere\/store\.db; set STORE_URL as the gateway has it\n$/)
})
