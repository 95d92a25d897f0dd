import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { COMPILED_ONCE } from '../command.ts'

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

test('the lines of a process that ends at once are written before it ends', async () => {
  const { child, read } = startWriter(3, 20)
  child.stdin?.end()
  expect(numbered(await read(2))).toEqual(upTo(3))
})
