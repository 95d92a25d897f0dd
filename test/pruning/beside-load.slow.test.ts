/** Promise: old rows go beside calls, which do not wait for it (contract, section 7). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import type { Pruning } from '../../src/outside/store/pruning.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { pruneTable } from '../../src/state/uses/pruning.ts'
import { newFolder } from '../command.ts'
import { size } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { named, newClaim } from '../store/samples.ts'

const OLD_NAMES = size(2_000, 20_000)
const STEP_ROWS = 500
const CALLERS = 16
/** Everything of the days before today is old. */
const NOTHING_KEPT_MS = -3 * 86_400_000

let folder: string
let server: PostgresServer
beforeAll(async () => {
  folder = newFolder('beside-load')
  server = await startPostgres()
})
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

async function oldStore(url: string): Promise<Store> {
  const store = await openStore(url)
  onTestFinished(() => store.close())
  const old = Array.from({ length: OLD_NAMES }, (_, no) => ({ ...named({ name: `OLD-${no}`, at: 1 }), vin: '' }))
  await store.load(old, { replace: true })
  return store
}

describe.each([
  ['sqlite', async () => join(folder, `${crypto.randomUUID()}.db`)],
  ['postgres', () => server.createDatabase()],
] as const)('on %s', (_engine, newUrl) => {
  test('a step deletes few rows, and calls go on between two of them', { timeout: 120_000 }, async () => {
    const store = await oldStore(await newUrl())
    const steps: number[] = []
    const counting: Pruning = {
      ...store,
      prune: async (step) => {
        const end = await store.prune(step)
        steps.push(end.pruned)
        return end
      },
    }
    let ended = false
    const pruning = pruneTable(counting, 'names', {
      olderThanMs: NOTHING_KEPT_MS,
      pause: (tookMs) => delay(10 * tookMs),
      mayGoOn: () => steps.reduce((sum, pruned) => sum + pruned, 0) < OLD_NAMES,
    }).finally(() => {
      ended = true
    })
    let no = 0
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!ended) {
        no += 1
        // A write that adds no row: each open booking would be looked at by every step.
        await store.renewLease(`gateway ${no % CALLERS}`, 1)
      }
    })
    await Promise.all(callers)
    expect(await pruning).toBe(OLD_NAMES)
    expect(Math.max(...steps)).toBeLessThanOrEqual(STEP_ROWS)
    expect(no).toBeGreaterThan(steps.length)
  })
})

test('on the embedded store, calls that come with a step are done before it', async () => {
  const store = await oldStore(join(folder, `${crypto.randomUUID()}.db`))
  const order: string[] = []
  const noted = async (what: string, work: Promise<unknown>) => {
    await work
    order.push(what)
  }
  for (let nth = 0; nth < 10; nth += 1) {
    await Promise.all([
      noted('step', store.prune({ table: 'names', olderThanMs: NOTHING_KEPT_MS })),
      noted('step', store.prune({ table: 'facts', olderThanMs: 0 })),
      noted('call', store.put({ names: [named({ name: `fresh-${nth}` })] })),
      noted('call', store.claim(newClaim({ key: `K-${nth}`, handle: `bk_${nth}` }))),
    ])
    expect(order.splice(0)).toEqual(['call', 'call', 'step', 'step'])
  }
})
