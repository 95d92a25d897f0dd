import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { COMPILED_ONCE } from '../command.ts'

const KNOWN = '\u001b[31m "known"}'
const ESCAPED = '\\u001b[31m "unknown"}'

interface Writer {
  readonly child: ChildProcess
  /** Returns the next thing that the process tells. */
  readonly told: () => Promise<Readonly<Record<string, unknown>>>
  /** Reads standard output up to the line of a number, and resolves with its lines. */
  readonly read: (last: number) => Promise<readonly string[]>
}

function startWriter(count: number, bytes: number): Writer {
  const program = join(import.meta.dirname, 'log-output-child.ts')
  const child = spawn(process.execPath, [program, String(count), String(bytes)], {
    env: { ...COMPILED_ONCE, PATH: process.env['PATH'] },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const events = createInterface(child.stderr)[Symbol.asyncIterator]()
  return {
    child,
    told: async () => JSON.parse(String((await events.next()).value)),
    read: async (last) => {
      const lines: string[] = []
      for await (const line of createInterface(child.stdout)) {
        lines.push(line)
        if (line.startsWith(`${last} `)) break
      }
      return lines
    },
  }
}

const numbered = (lines: readonly string[]) => lines.map((line) => Number.parseInt(line, 10)).filter(Number.isInteger)
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

test('every line is written in its order, and only lines that are not known to be printable are escaped', async () => {
  const { child, read } = startWriter(600, 20)
  const lines = await read(599)
  expect(numbered(lines)).toEqual(upTo(600))
  expect(lines.slice(0, 2)).toEqual([KNOWN, ESCAPED])
  child.stdin?.end()
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('the lines of a process that ends at once are written before it ends', async () => {
  const { child, read } = startWriter(3, 20)
  child.stdin?.end()
  expect(numbered(await read(2))).toEqual(upTo(3))
})

test('a flush writes what waits, and calls back when it is written, or at once if there is nothing', async () => {
  const { child, told, read } = startWriter(10, 20)
  expect(await told()).toEqual({ wrote: 10 })
  child.stdin?.write('flush\n')
  expect(await told()).toEqual({ flushed: expect.any(Number), error: null })
  expect(numbered(await read(9))).toEqual(upTo(10))
  child.stdin?.write('flush\n')
  expect(await told()).toEqual({ flushed: expect.any(Number), error: null })
})

/** The lines that are written together: with the two others, all of the test's are. */
const BATCH = 256

test('lines beyond 8 MiB that nobody reads are dropped and counted, and a flush fails', async () => {
  const { child, told, read } = startWriter(40 * BATCH - 2, 1024)
  expect(await told()).toEqual({ wrote: 40 * BATCH - 2 })
  child.stdin?.write('flush\n')
  const failed = await told()
  expect(failed).toEqual({ flushed: expect.any(Number), error: 'Standard output takes nothing.' })
  const lines = read(32 * BATCH - 3)
  expect(await told()).toEqual({ dropped: 8 * BATCH })
  child.stdin?.write('flush\n')
  expect(await told()).toEqual({ flushed: expect.any(Number), error: null })
  expect(numbered(await lines)).toEqual(upTo(32 * BATCH - 2))
})
