import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quoteExample } from '../../../mappings/quote-rows.ts'
import { startSandbox } from '../../../test/stand-in/stand-in.ts'
import { shippedCommand } from '../contenders.ts'
import { median, table, whole } from '../figures.ts'
import { freePort, HOST, placed } from '../processes.ts'
import type { Section } from '../section.ts'

const KNOCK_EVERY_MS = 1
const GIVE_UP_MS = 30_000

/** Tries to connect until the gateway listens, sends one quote, and waits for its answer. */
function firstAnswer(port: number): Promise<void> {
  const body = JSON.stringify(quoteExample)
  const credential = Buffer.from('demo:demo-secret').toString('base64')
  const request =
    `POST /getShippingQuote.php HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nAuthorization: Basic ${credential}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const giveUpAt = performance.now() + GIVE_UP_MS
  return new Promise((resolve, reject) => {
    const knock = () => {
      const socket = connect({ port, host: HOST })
      socket.once('connect', () => socket.write(request))
      socket.once('data', (chunk) => {
        socket.destroy()
        const said = chunk.toString('latin1')
        if (said.startsWith('HTTP/1.1 200')) resolve()
        else reject(new Error(said))
      })
      socket.once('error', (error) => {
        if (performance.now() > giveUpAt) reject(error)
        else setTimeout(knock, KNOCK_EVERY_MS)
      })
    }
    knock()
  })
}

/** Returns how long a process takes to end after a signal, in milliseconds. */
async function ending(child: ChildProcess): Promise<number> {
  const at = performance.now()
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return performance.now() - at
}

/** Times of starts and stops with one kind of store, in milliseconds. */
export interface Startups {
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
  const [command = '', ...rest] = words
  try {
    for (let round = -1; round < starts; round += 1) {
      for (const { url, up, down } of figures) {
        const port = await freePort()
        const own = { V2_BASE_URL: sandbox.url, STORE_URL: url(folder, round + 1), HOST, PORT: String(port) }
        const env = { ...process.env, ...own, ADMIN_PORT: '0', NODE_ENV: 'production' }
        const at = performance.now()
        const child = spawn(command, rest, { env, stdio: ['ignore', 'ignore', 'inherit'] })
        const upMs = await firstAnswer(port)
          .then(() => performance.now() - at)
          .finally(() => void child.kill('SIGTERM'))
        const downMs = await ending(child)
        // The first round only fills the page cache.
        if (round < 0) continue
        up.push(upMs)
        down.push(downMs)
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

/** Makes the table of the figures in Markdown. */
function startupTable(figures: readonly Startups[]): string {
  return table(
    ['Store', 'first answer, median ms', 'slowest ms', 'stopped after, median ms'],
    figures.map(({ store, ...times }) => [
      store,
      ...[times.firstAnswerMs, times.slowestMs, times.stoppedAfterMs].map((figure) => whole(figure)),
    ]),
  )
}

/** From the start of the process to the first answer. */
export const startup: Section<readonly Startups[]> = {
  title: 'Start',
  about: 'From the start of the process to the first quote, and from SIGTERM to its end. Nothing is pinned to a core.',
  inRounds: false,
  measure: ({ sizes }) => measureStartups(placed(shippedCommand()), sizes.starts),
  markdown: startupTable,
}
