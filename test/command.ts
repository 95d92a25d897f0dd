import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, sep } from 'node:path'
import { onTestFinished } from 'vitest'

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '..')

/** The gateway's program: the one that `test/built.ts` has built, if any, because it starts in half the time. */
export const PROGRAM = process.env['TRANSLOAD_PROGRAM'] ?? join(ROOT, 'src/main.ts')

/** The end of a command, and its output. */
export interface CommandEnd {
  /** The exit code, or the signal that ended the command. */
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

/** A running command. */
export interface Running {
  /** The id of the process, for a signal to it alone. */
  readonly pid: number
  /** Resolves with the output when it matches the pattern; rejects if the command ends before. */
  readonly says: (pattern: RegExp) => Promise<string>
  /** Signals the command and its descendants, like Ctrl-C in a terminal. */
  readonly signal: (signal: NodeJS.Signals) => void
  readonly ended: Promise<CommandEnd>
}

/**
 * Runs a command to its end; throws an error that names the program if it is not installed. Gateway commands that need no separate process
 * share one.
 */
export function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandEnd> {
  const [script = '', ...words] = args
  const isShared = program === process.execPath && PROGRAMS.has(script) && options.uid === undefined
  return isShared && !OF_THEIR_OWN.has(words[0]) ? runShared(words, options) : runAlone(program, args, options)
}

/** Runs a command to its end in a separate process. */
export function runAlone(program: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandEnd> {
  return launch(program, args, options).ended
}

const PROGRAMS: ReadonlySet<string> = new Set([PROGRAM, join(ROOT, 'src/main.ts'), join(ROOT, 'bin/transload.js')])
/** They keep running, or read standard input as a file. */
const OF_THEIR_OWN: ReadonlySet<string | undefined> = new Set([undefined, 'serve', 'demo', 'translate'])

/** A command line for a process that runs several. */
export interface CommandLine extends Required<Pick<CommandOptions, 'cwd' | 'env' | 'input'>> {
  readonly words: readonly string[]
  /** True if standard error goes to standard output. */
  readonly isMerged: boolean
}

/** Processes that wait for a command line. */
const idle: ChildProcess[] = []

/** Runs a command of the gateway to its end, in a process that others have used. */
export async function runShared(
  words: readonly string[],
  options: CommandOptions,
  isMerged = false,
): Promise<CommandEnd> {
  const { cwd = ROOT, env = cleanEnv(), input = '' } = options
  const host = idle.pop() ?? startHost()
  const stop = new AbortController()
  const { signal } = stop
  const ended = Promise.race([once(host, 'message', { signal }), once(host, 'exit', { signal })])
  host.send({ words, cwd, env: { ...COMPILED_ONCE, ...env }, input, isMerged } satisfies CommandLine)
  const [end] = await ended.finally(() => stop.abort())
  if (typeof end !== 'object') throw new Error(`transload ${words.join(' ')} ended its process with ${end}`)
  if (host.connected) idle.push(host)
  return end as CommandEnd
}

function startHost(): ChildProcess {
  const host = fork(join(ROOT, 'test/command-host.ts'), {
    env: cleanEnv(COMPILED_ONCE),
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  // It ends when the tests end.
  host.unref()
  host.channel?.unref()
  return host
}

/** Runs a command that must end with 0, and returns its output. */
export async function output(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, out, err } = await run(program, args, options)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${err}${out}`)
  return out
}

/** Starts a command, and kills it at the end of the test. */
export function start(program: string, args: readonly string[], options: CommandOptions = {}): Running {
  const running = launch(program, args, options)
  onTestFinished(async () => {
    running.signal('SIGKILL')
    await running.ended
  })
  return running
}

function launch(program: string, args: readonly string[], { env = cleanEnv(), input, ...options }: CommandOptions) {
  // In a new process group, a signal reaches its descendants but not the tests.
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
  // A command may end without reading its input.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<CommandEnd>((resolve, reject) => {
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
    // There is none if the program is not installed; then it has already ended.
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
    // It has ended in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Variables that npm and vitest, but not a terminal, set for the commands that they start. */
const FROM_THE_TESTS =
  /^(npm_(lifecycle|package|execpath|node_execpath|command|config_(local_prefix|loglevel|allow_scripts))|(NODE|NODE_ENV|INIT_CWD|CI|TEST|DEV|PROD|MODE|BASE_URL|COLOR|FORCE_COLOR|NO_COLOR)$|VITE|TRANSLOAD_)/

/** The variable of Node's compile cache (vitest.config.ts), for processes that inherit no environment. */
export const COMPILED_ONCE = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }

/** Returns the environment of a terminal: without the variables of npm and vitest, and without the packages' runtime. */
export function cleanEnv(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !FROM_THE_TESTS.test(name))
  // The servers of the tests are on this machine, so they need no proxy.
  const direct = [process.env['no_proxy'] ?? process.env['NO_PROXY'] ?? [], '127.0.0.1'].flat().join(',')
  const always = { PATH: personalPath().join(delimiter), no_proxy: direct, NO_PROXY: direct }
  return { ...Object.fromEntries(kept), ...always, ...more }
}

/** Returns a `PATH` whose `node` is the one that runs the tests. */
export function pathWithThisNode(): string {
  return [join(process.execPath, '..'), ...personalPath()].join(delimiter)
}

/** Returns the folders of `PATH` without those that npm adds. */
export function personalPath(): readonly string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !NPM_FOLDER.test(folder.split(sep).join('/')))
}

const NPM_FOLDER = /node_modules\/(\.bin|.*\/node-gyp-bin)\/?$/

/** Makes an empty folder; the caller removes it. */
export function newFolder(name: string): string {
  return realpathSync(mkdtempSync(join(tmpdir(), `transload-${name}-`)))
}
