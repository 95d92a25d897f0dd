/** Promise: a log that nobody reads stops no call (contract, section 11). */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { startGatewayProcess } from '../bookings/gateway-process.ts'
import { newFolder } from '../command.ts'
import { basic } from '../gateway.ts'
import { size } from '../size.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

/* A gateway whose standard output is a pipe that its reader does not read. */

const LONG_MS = 120_000
const MEGABYTE = 1024 ** 2
const KILOBYTE = 1024
/** The gateway's limit, plus the buffers of the pipe and Node's streams. */
const MOST_LOG_BYTES = 9 * MEGABYTE
/** The lines of all calls are 14 or 24 MB. */
const CALLS = size(12_000, 20_000)
const MOST_MEGABYTES = 256
const CONNECTIONS = 8
/** A call without a usable credential has a line of about 1,200 bytes, because its id is shown escaped. */
const REFUSED = {
  method: 'GET',
  path: '/getShipment.php?number=1',
  headers: { authorization: basic('\u0001'.repeat(128), '') },
} as const

/** Starts a gateway with the memory settings of the image, whose log is read until it says that it listens. */
async function startStalled() {
  const sandbox = await startSandbox()
  const folder = newFolder('stalled')
  onTestFinished(async () => {
    await sandbox.close()
    await rm(folder, { recursive: true, force: true })
  })
  const { url, child } = await startGatewayProcess({
    storeUrl: join(folder, 'store.db'),
    serviceUrl: sandbox.url,
    env: {
      NODE_OPTIONS: '--max-semi-space-size=8',
      MALLOC_ARENA_MAX: '2',
      MALLOC_TRIM_THRESHOLD_: '131072',
      EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
    },
  })
  const stdout = child.stdout?.pause() ?? expect.fail('the gateway has no output')
  return {
    child,
    url,
    /** Continues reading, and resolves with the lines when one matches. */
    readUntil: async (pattern: RegExp) => {
      const lines: string[] = []
      for await (const line of createInterface(stdout)) {
        lines.push(line)
        if (pattern.test(line)) break
      }
      stdout.pause()
      return lines
    },
    megabytes: () =>
      Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / KILOBYTE,
  }
}

/** Makes refused calls over a few connections. */
async function callMany(url: string, count: number): Promise<void> {
  const over = async () => {
    const client = new Client(url)
    for (let sent = 0; sent < count / CONNECTIONS; sent += 1) {
      const { statusCode, body } = await client.request(REFUSED)
      await body.dump()
      expect(statusCode).toBe(401)
    }
    await client.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, over))
}

test('it drops lines instead of keeping them, answers every call, and says how many it dropped', {
  timeout: LONG_MS,
}, async () => {
  const { url, readUntil, megabytes } = await startStalled()
  await callMany(url, CALLS)
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

test('it ends on a signal, although its last lines find no reader', { timeout: LONG_MS }, async () => {
  const { child, url } = await startStalled()
  await callMany(url, CALLS / 20)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await ended).toEqual([null, 'SIGKILL'])
})
