import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, sep } from 'node:path'
import { onTestFinished } from 'vitest'

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '..')

/** How a command ended, and all that it wrote. */
export interface Ended {
  /** The exit code, or the signal that ended it. */
  readonly code: number | NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface CommandOptions {
  readonly cwd?: string
  /** @default cleanEnv() */
  readonly env?: NodeJS.ProcessEnv
  /** @default nothing */
  readonly input?: string | Uint8Array
  readonly uid?: number
  readonly gid?: number
}

/** A command under way. */
export interface Running {
  /** Of the command itself, for a signal that nothing else gets. */
  readonly pid: number
  /** Resolves with the output as soon as the pattern occurs in it; rejects if the command ends before that. */
  readonly says: (pattern: RegExp) => Promise<string>
  /** Signals the command and all that it started, as Ctrl-C in a terminal does. */
  readonly signal: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Ended>
}

/** Runs a command to its end. A program that is missing is an error that says so. */
export function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return launch(program, args, options).ended
}

/** Runs a command that has to end with 0, and gives what it wrote. */
export async function output(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, out, err } = await run(program, args, options)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${err}${out}`)
  return out
}

/** Starts a command that runs until it is told to stop, at the latest by the end of the test. */
export function start(program: string, args: readonly string[], options: CommandOptions = {}): Running {
  const running = launch(program, args, options)
  onTestFinished(async () => {
    running.signal('SIGKILL')
    await running.ended
  })
  return running
}

function launch(program: string, args: readonly string[], { env = cleanEnv(), input, ...options }: CommandOptions) {
  // A group of its own, so that a signal reaches what it started too and not the tests.
  const child = spawn(program, args, {
    ...options,
    env: { ...COMPILED_ONCE, ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  let over = false
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
  // A command that ends without reading its input is no fault of the test.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', (cause: NodeJS.ErrnoException) => {
      over = true
      reject(cause.code === 'ENOENT' ? new Error(`this test needs ${program}: install it`, { cause }) : cause)
    })
    child.once('close', (code, signal) => {
      over = true
      wake()
      resolve({ code: code ?? signal, out, err })
    })
  })
  return {
    // It has none where there is no such program; then it has ended already.
    pid: child.pid ?? 0,
    ended,
    signal: (signal: NodeJS.Signals) => (over ? undefined : signalGroup(child, signal)),
    says: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const look = () => {
          if (pattern.test(out)) resolve(out)
          else if (over) reject(new Error(`${program} ended without saying ${pattern}:\n${out}${err}`))
          else return
          watchers.delete(look)
        }
        watchers.add(look)
        look()
      }),
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // It ended by itself in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** What npm and vitest tell the commands that they start; a person at a terminal has none of it. */
const FROM_THE_TESTS =
  /^(npm_(lifecycle|package|execpath|node_execpath|command|config_(local_prefix|loglevel|allow_scripts))|(NODE|NODE_ENV|INIT_CWD|CI|TEST|DEV|PROD|MODE|BASE_URL|COLOR|FORCE_COLOR)$|VITE|TRANSLOAD_)/

/** Where processes share what Node has compiled (vitest.config.ts); for those that inherit no environment. */
export const COMPILED_ONCE = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }

/** The environment as a person at a terminal has it: without the runtime that npm brings with the packages. */
export function cleanEnv(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !FROM_THE_TESTS.test(name))
  // The servers of the tests are here, whatever stands between here and a registry.
  const direct = [process.env['no_proxy'] ?? process.env['NO_PROXY'] ?? [], '127.0.0.1'].flat().join(',')
  const always = { PATH: personalPath().join(delimiter), no_proxy: direct, NO_PROXY: direct }
  return { ...Object.fromEntries(kept), ...always, ...more }
}

/** A `PATH` on which `node` is the one that runs the tests. */
export function pathWithThisNode(): string {
  return [join(process.execPath, '..'), ...personalPath()].join(delimiter)
}

/** The folders of `PATH` without those that npm puts before them. */
export function personalPath(): readonly string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !NPM_FOLDER.test(folder.split(sep).join('/')))
}

const NPM_FOLDER = /node_modules\/(\.bin|.*\/node-gyp-bin)\/?$/

/** A new empty folder; its maker removes it. */
export function newFolder(name: string): string {
  return realpathSync(mkdtempSync(join(tmpdir(), `transload-${name}-`)))
}
