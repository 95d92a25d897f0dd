/** Promise: a log that nobody reads stops no call (contract, section 11). */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { COMPILED_ONCE, newFolder, ROOT } from '../command.ts'
import { wholeReplies } from '../http/line.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

/* A gateway whose standard output is a pipe that its reader does not read. */

const LONG_MS = 120_000
const MEGABYTE = 1024 ** 2
const KILOBYTE = 1024
/** The limit of the gateway, and what the pipe and Node's streams hold besides. */
const MOST_LOG_BYTES = 9 * MEGABYTE
/** The lines of all calls are 24 MB. */
const CALLS = 20_000
const MOST_MEGABYTES = 256
const CONNECTIONS = 8
/** A call without a usable credential has a line of about 1,200 bytes: the id that it names is shown escaped. */
const LONG_ID = '\u0001'.repeat(128)
const REFUSED = [
  'GET /getShipment.php?number=1 HTTP/1.1',
  'Host: localhost',
  `Authorization: Basic ${Buffer.from(`${LONG_ID}:`).toString('base64')}`,
  '\r\n',
].join('\r\n')

interface StalledGateway {
  readonly child: ChildProcess
  readonly url: string
  /** Reads on, and resolves with the lines until one matches. */
  readonly readUntil: (pattern: RegExp) => Promise<readonly string[]>
  readonly megabytes: () => number
}

async function startStalled(): Promise<StalledGateway> {
  const sandbox = await startSandbox()
  const folder = newFolder('stalled')
  // With the memory settings of the image.
  const child = spawn(process.execPath, ['--max-semi-space-size=8', join(ROOT, 'src/main.ts'), 'serve'], {
    env: {
      ...COMPILED_ONCE,
      PATH: process.env['PATH'],
      MALLOC_ARENA_MAX: '2',
      MALLOC_TRIM_THRESHOLD_: '131072',
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      V2_BASE_URL: sandbox.url,
      STORE_URL: join(folder, 'store.db'),
      EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await sandbox.close()
    await rm(folder, { recursive: true, force: true })
  })
  const lines: string[] = []
  const reader = createInterface(child.stdout)
  const next = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      const look = (line: string) => {
        if (!pattern.test(line)) return
        reader.off('line', look)
        resolve()
      }
      reader.on('line', look)
    })
  reader.on('line', (line) => lines.push(line))
  await next(/"listening"/)
  reader.pause()
  const { url }: { url: string } = JSON.parse(lines.at(-1) ?? '')
  return {
    child,
    url,
    readUntil: async (pattern) => {
      lines.length = 0
      const found = next(pattern)
      reader.resume()
      await found
      return lines
    },
    megabytes: () =>
      Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / KILOBYTE,
  }
}

/** Makes calls that are refused, over a few connections; resolves with the number of answers. */
async function callMany(url: string, count: number): Promise<number> {
  const { hostname, port } = new URL(url)
  const over = async (calls: number) => {
    const socket = connect(Number(port), hostname).setEncoding('latin1')
    let text = ''
    let answered = 0
    for (let sent = 0; sent < calls; sent += 1) {
      socket.write(REFUSED)
      while (answered <= sent) {
        const [chunk] = await once(socket, 'data')
        text += chunk
        const whole = wholeReplies(text)
        if (whole.length === 0) continue
        expect(whole.map(({ status }) => status)).toEqual([401])
        answered += 1
        text = ''
      }
    }
    socket.destroy()
    return answered
  }
  const answers = await Promise.all(Array.from({ length: CONNECTIONS }, () => over(count / CONNECTIONS)))
  return answers.reduce((sum, each) => sum + each, 0)
}

test('it drops lines instead of keeping them, answers every call, and says how many it dropped', {
  timeout: LONG_MS,
}, async () => {
  const { url, readUntil, megabytes } = await startStalled()
  expect(await callMany(url, CALLS)).toBe(CALLS)
  expect(megabytes()).toBeLessThan(MOST_MEGABYTES)

  const lines = await readUntil(/log lines were dropped/)
  const calls = lines.filter((line) => line.includes('"msg":"call"'))
  expect(Buffer.byteLength(calls.join('\n'))).toBeLessThan(MOST_LOG_BYTES)
  const { lines: dropped, level } = JSON.parse(lines.at(-1) ?? '')
  expect(level).toBe('warn')
  expect(dropped).toBeGreaterThan(CALLS / 4)
  // From now on its log is complete.
  await callMany(url, CONNECTIONS)
  expect(await readUntil(/"msg":"call"/)).not.toEqual([])
})

test('it ends when it is told to, although its last lines find no reader', { timeout: LONG_MS }, async () => {
  const { child, url } = await startStalled()
  await callMany(url, CALLS / 20)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await ended).toEqual([null, 'SIGKILL'])
})
