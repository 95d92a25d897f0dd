import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

/** The address on which every measured program listens. */
export const HOST = '127.0.0.1'

/** The number of cores; read before this process is pinned to one of them. */
export const CORES = availableParallelism()
const PATIENCE_MS = 20_000
const KNOCK_EVERY_MS = 20
const MS_PER_TICK = 10
const KILOBYTE = 1024

/** The core of each program. With two cores, the load and the stub of the service share one. */
export const cores = { contender: '0', load: '1', stub: CORES > 2 ? '2' : '1' } as const

/** True if programs can be pinned to cores on this machine. */
export const pinning = CORES > 1 && spawnSync('taskset', ['-c', cores.load, 'true']).status === 0

/** A running program. */
export interface Running {
  readonly port: number
  readonly pid: number
  /** Resolves with its exit code; null if it had to be killed. */
  readonly stop: () => Promise<number | null>
}

const children = new Set<ChildProcess>()
let watching = false

/** Ends the programs of this run when the run ends, after a signal too. */
function endTogether(): void {
  process.once('exit', () => {
    for (const child of children) child.kill('SIGTERM')
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}

interface Options {
  readonly core?: string | undefined
  readonly env?: NodeJS.ProcessEnv
  readonly stdout?: 'ignore' | 'pipe'
}

/** Returns the command that starts a program on one core, or on all cores although this process is pinned to one. */
function placed(words: readonly string[], core = `0-${CORES - 1}`): readonly string[] {
  return pinning ? ['taskset', '-c', core, ...words] : words
}

/** Starts a program, pinned if a core is given. */
export function start(words: readonly string[], { core, env, stdout = 'ignore' }: Options = {}): ChildProcess {
  const [command = '', ...rest] = placed(words, core)
  const child = spawn(command, rest, { env: { ...process.env, ...env }, stdio: ['ignore', stdout, 'inherit'] })
  if (!watching) endTogether()
  watching = true
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** Starts a server and waits until it takes connections. */
export async function startServer(port: number, words: readonly string[], options: Options): Promise<Running> {
  const child = start(words, options)
  const running = { port, pid: child.pid ?? 0, stop: () => stop(child) }
  await listens(child, port, words).catch(async (error: unknown) => {
    await running.stop()
    throw error
  })
  return running
}

async function listens(child: ChildProcess, port: number, words: readonly string[]): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS
  while (performance.now() < giveUpAt) {
    if (child.exitCode !== null) throw new Error(`${words.join(' ')} ended with ${child.exitCode}`)
    const socket = connect({ port, host: HOST })
    const open = await Promise.race([
      once(socket, 'connect').then(
        () => true,
        () => false,
      ),
      pause(PATIENCE_MS, false, { ref: false }),
    ])
    socket.destroy()
    if (open) return
    await pause(KNOCK_EVERY_MS)
  }
  throw new Error(`${words.join(' ')} does not listen on port ${port}`)
}

/** Stops a program with SIGTERM, and after a while with SIGKILL. */
export async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const polite = await Promise.race([gone.then(() => true), pause(PATIENCE_MS, false, { ref: false })])
  if (!polite) child.kill('SIGKILL')
  await gone
  return child.exitCode
}

/** Returns the standard output of a program that ends with exit code 0. */
export async function output(words: readonly string[], options: Options = {}): Promise<string> {
  const child = start(words, { ...options, stdout: 'pipe' })
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}`)
  return said
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Pins all threads of this process to the core of the load, away from the contender. */
export function stepAside(): void {
  if (pinning) spawnSync('taskset', ['-a', '-cp', cores.load, String(process.pid)])
}

/** Returns a process and all its descendants. */
function family(pid: number): readonly number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (/^\d+$/.test(name)) parents.set(Number(name), Number(statOf(Number(name))[1] ?? 0))
  }
  const found = [pid]
  for (const one of found) {
    for (const [child, parent] of parents) if (parent === one) found.push(child)
  }
  return found
}

/** Returns the fields of `/proc/<pid>/stat` after the name (proc(5)); none if there is no such process. */
function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** Returns the CPU time of a program and its descendants so far; NaN without /proc. */
export function cpuMilliseconds(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  return family(pid).reduce((sum, one) => {
    const fields = statOf(one)
    return sum + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * MS_PER_TICK
  }, 0)
}

/** Returns the memory of a program and its descendants in MB; NaN without /proc. */
export function residentMegabytes(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const kilobytes = family(pid).reduce((sum, one) => {
    try {
      const status = readFileSync(`/proc/${one}/status`, 'utf8')
      return sum + Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0)
    } catch {
      return sum
    }
  }, 0)
  return kilobytes / KILOBYTE
}
