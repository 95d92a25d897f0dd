import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

/** A running command of the program. */
export interface Program {
  /** What it has written so far. */
  readonly out: () => string
  readonly err: () => string
  /** Resolves with the first line of the output, as JSON, that fits; earlier ones count. */
  readonly line: (fits: (line: Readonly<Record<string, unknown>>) => boolean) => Promise<Record<string, unknown>>
  readonly signal: (signal: NodeJS.Signals) => void
  /** Resolves with the exit code, or with the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>
}

/** Runs `node src/main.ts …` with this environment and no other. */
export function runProgram(words: readonly string[], env: Readonly<Record<string, string>>, cwd?: string): Program {
  const child = spawn(process.execPath, [MAIN, ...words], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  const watchers = new Set<() => void>()
  const wake = () => {
    for (const watcher of watchers) watcher()
  }
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    out += chunk
    wake()
  })
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    err += chunk
  })
  let over = false
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => {
      over = true
      wake()
      resolve(code ?? signal)
    })
  })
  onTestFinished(async () => {
    if (!over) child.kill('SIGKILL')
    await ended
  })
  return {
    out: () => out,
    err: () => err,
    line: (fits) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = linesOf(out).find(fits)
          if (!found && !over) return
          watchers.delete(look)
          if (found) resolve(found)
          else reject(new Error(`the program ended without that line: ${out}${err}`))
        }
        watchers.add(look)
        look()
      }),
    signal: (signal) => void child.kill(signal),
    ended,
  }
}

/** Every whole line of an output, as JSON. */
export function linesOf(out: string): Record<string, unknown>[] {
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}
