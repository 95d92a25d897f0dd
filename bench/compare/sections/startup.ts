import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { quoteExample } from '../../../mappings/quote-rows.ts'
import { startSandbox } from '../../../test/stand-in/stand-in.ts'
import { shippedCommand } from '../contenders.ts'
import { median, table, whole } from '../figures.ts'
import { freePort, HOST, start, stop } from '../processes.ts'
import type { Section } from '../section.ts'

const KNOCK_EVERY_MS = 1
const GIVE_UP_MS = 30_000

/** Sends a quote until the gateway listens, and waits for its answer. */
async function firstAnswer(port: number): Promise<void> {
  const authorization = `Basic ${btoa('demo:demo-secret')}`
  const request = {
    method: 'POST',
    headers: { authorization, connection: 'close' },
    body: JSON.stringify(quoteExample),
  }
  const giveUpAt = performance.now() + GIVE_UP_MS
  for (;;) {
    const answer = await fetch(`http://${HOST}:${port}/getShippingQuote.php`, request).catch((error: unknown) => {
      if (performance.now() > giveUpAt) throw error
    })
    if (answer?.ok) return
    if (answer) throw new Error(await answer.text())
    await pause(KNOCK_EVERY_MS)
  }
}

/** Times of starts and stops with one kind of store, in milliseconds. */
interface Startups {
  readonly store: string
  readonly firstAnswerMs: number
  readonly slowestMs: number
  readonly stoppedAfterMs: number
}

const stores = [
  { store: '`STORE_URL=memory:`', url: () => 'memory:' },
  { store: 'embedded store, new', url: (folder: string, start: number) => join(folder, `${start}.db`) },
  { store: 'embedded store, there already', url: (folder: string) => join(folder, '0.db') },
] as const

/** Starts a gateway repeatedly with a command. */
async function measureStartups(words: readonly string[], starts: number): Promise<readonly Startups[]> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-bench-'))
  const sandbox = await startSandbox()
  const figures = stores.map(({ store, url }) => ({ store, url, up: [] as number[], down: [] as number[] }))
  try {
    for (let round = -1; round < starts; round += 1) {
      for (const { url, up, down } of figures) {
        const port = await freePort()
        const own = { V2_BASE_URL: sandbox.url, STORE_URL: url(folder, round + 1), HOST, PORT: String(port) }
        const at = performance.now()
        const child = start(words, { env: { ...own, ADMIN_PORT: '0', NODE_ENV: 'production' } })
        await firstAnswer(port)
        const upAt = performance.now()
        await stop(child)
        // The first round only fills the page cache.
        if (round < 0) continue
        up.push(upAt - at)
        down.push(performance.now() - upAt)
      }
    }
    return figures.map(({ store, up, down }) => ({
      store,
      firstAnswerMs: Math.round(median(up)),
      slowestMs: Math.round(Math.max(...up)),
      stoppedAfterMs: Math.round(median(down)),
    }))
  } finally {
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** From the start of the process to the first answer. */
export const startup: Section<readonly Startups[]> = {
  title: 'Start',
  about: 'From the start of the process to the first quote, and from SIGTERM to its end. Nothing is pinned to a core.',
  inRounds: false,
  measure: ({ sizes }) => measureStartups(shippedCommand(), sizes.starts),
  markdown: (figures) =>
    table(
      ['Store', 'first answer, median ms', 'slowest ms', 'stopped after, median ms'],
      figures.map(({ store, firstAnswerMs, slowestMs, stoppedAfterMs }) => [
        store,
        ...[firstAnswerMs, slowestMs, stoppedAfterMs].map(whole),
      ]),
    ),
}
