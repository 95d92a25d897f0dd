import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { pruneRound, unhurried } from '../../src/pruning/round.ts'
import { openStore } from '../../src/store/open.ts'
import { PRUNE_CLAIMS, PRUNE_ROWS, type PruneStepEnd } from '../../src/store/pruning.ts'
import type { Store } from '../../src/store/store.ts'
import { newFolder } from '../command.ts'
import { size } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { link, newClaim } from '../store/samples.ts'

const OLD_LINKS = size(2_000, 20_000)
const KEEP_MS = 3_600_000
const CALLERS = 16
/** Of each caller, with and without pruning. */
const QUOTES = size(60, 300)

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

const { at: _, ...given } = link()
/** A write of two links. They stand before the old ones: a round that met them would go on as long as they come. */
const quote = (no: number | string): Parameters<Store['put']>[0] => ({
  links: [
    { ...given, name: `A-${no}`, id: `id-${no}` },
    { ...given, name: `ALSO-${no}`, id: `id-${no}` },
  ],
})

/** Writes links that are old at once. */
async function loadOld(store: Store): Promise<void> {
  const old = Array.from({ length: OLD_LINKS }, (_, no) => link({ name: `OLD-${no}`, at: 1 }))
  await store.load(old, { replace: true })
}

async function oldStore(url: string): Promise<Store> {
  const store = await openStore(url)
  onTestFinished(() => store.close())
  await loadOld(store)
  return store
}

describe.each([
  ['sqlite', async () => join(folder, `${crypto.randomUUID()}.db`)],
  ['postgres', () => server.createDatabase()],
] as const)('on %s', (engine, newUrl) => {
  test('a step looks at few rows, and calls go on between two of them', { timeout: 120_000 }, async () => {
    const store = await oldStore(await newUrl())
    const steps: PruneStepEnd[] = []
    /** How many steps ended while each call waited. */
    const waited: number[] = []
    const counting: Store = {
      ...store,
      prune: async (step) => {
        const end = await store.prune(step)
        steps.push(end)
        return end
      },
    }
    let ended = false
    const round = pruneRound(counting, { olderThanMs: KEEP_MS, pause: unhurried }).finally(() => {
      ended = true
    })
    let no = 0
    const caller = async () => {
      while (!ended) {
        no += 1
        const before = steps.length
        await store.put(quote(`new-${no}`))
        waited.push(steps.length - before)
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
    const rounds = (await round) ?? []
    expect(rounds.reduce((sum, { pruned }) => sum + pruned, 0)).toBe(OLD_LINKS)
    expect(Math.max(...steps.map(({ looked }) => looked))).toBeLessThanOrEqual(Math.max(PRUNE_ROWS, PRUNE_CLAIMS))
    expect(steps.length).toBeGreaterThanOrEqual(OLD_LINKS / PRUNE_ROWS)
    // A call waits for the step that is under way when it comes, and for no other: the pauses are longer than a call.
    const waitedForMany = waited.filter((count) => count > 1).length
    expect(waitedForMany).toBeLessThanOrEqual(waited.length / 50)
    if (engine === 'sqlite') expect(waited.length).toBeGreaterThan(steps.length)
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
      noted('step', store.prune({ table: 'links', olderThanMs: KEEP_MS })),
      noted('step', store.forget(0)),
      noted('call', store.put(quote(`fresh-${nth}`))),
      noted('call', store.claim(newClaim({ key: `K-${nth}` }))),
    ])
    expect(order.splice(0)).toEqual(['call', 'call', 'step', 'step'])
  }
})

test('the slow calls beside pruning are like those without it', { timeout: 120_000 }, async () => {
  const store = await oldStore(join(folder, `${crypto.randomUUID()}.db`))
  let no = 0
  async function slowest(): Promise<number> {
    const took: number[] = []
    const caller = async () => {
      for (let nth = 0; nth < QUOTES; nth += 1) {
        no += 1
        const begun = performance.now()
        await store.put(quote(`timed-${no}`))
        took.push(performance.now() - begun)
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
    return took.toSorted((one, other) => one - other)[Math.floor(took.length * 0.95)] ?? 0
  }
  const pruneWhile = async (goesOn: () => boolean): Promise<void> => {
    while (goesOn()) await pruneRound(store, { olderThanMs: KEEP_MS, pause: unhurried, mayGoOn: goesOn })
  }
  await slowest()
  const ratios: number[] = []
  // A busy machine can slow down one of two measurements: the best of several pairs counts.
  for (let pair = 0; pair < 5; pair += 1) {
    const alone = await slowest()
    let goesOn = true
    await loadOld(store)
    const pruning = pruneWhile(() => goesOn)
    const beside = await slowest()
    goesOn = false
    await pruning
    ratios.push(beside / alone)
  }
  expect(Math.min(...ratios)).toBeLessThan(2)
})
