import { join } from 'node:path'
import { AUTHORIZATION, type Call } from './calls.ts'
import { cores, HOST, output } from './processes.ts'

/** The figures of one round of load. */
export interface Load {
  readonly perSecond: number
  readonly calls: number
  /** Answers of 400 and above, and calls without an answer. */
  readonly failed: number
  /** The median latency in milliseconds. */
  readonly p50: number
  readonly p99: number
}

export interface Stretch {
  readonly port: number
  readonly call: Call
  readonly connections: number
  readonly seconds: number
}

const MICROS_PER_MS = 1_000
const MICROS_PER_SECOND = 1_000_000

/** Returns the arguments that describe a call to a load generator. */
const words = ({ method, path, body = '', names }: Call): readonly string[] => [
  ...[method, path, AUTHORIZATION, body, names?.prefix ?? '', String(names?.digits ?? 1)],
  ...[String(names?.first ?? 0), String(names?.count ?? 0)],
]

/** Sends one call repeatedly over some connections, one at a time on each, with wrk in one thread. */
export async function load({ port, call, connections, seconds }: Stretch): Promise<Load> {
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '--latency']
  const script = join(import.meta.dirname, 'wrk.lua')
  const command = ['wrk', ...options, '-s', script, `http://${HOST}:${port}`, '--', ...words(call)]
  const said = await output(command, { core: cores.load })
  // The last line of output is JSON.
  const { calls, micros, failed, p50, p99 } = JSON.parse(said.trim().split('\n').at(-1) ?? '')
  return {
    perSecond: (calls * MICROS_PER_SECOND) / micros,
    calls,
    failed,
    p50: p50 / MICROS_PER_MS,
    p99: p99 / MICROS_PER_MS,
  }
}

/** Latencies in milliseconds at a constant rate. */
export interface OpenLoad {
  readonly calls: number
  readonly failed: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
}

/** Sends calls at a constant rate: a slow answer delays no other call, and a call that has to wait counts from when it was due. */
export async function openLoop({ port, call, seconds }: Omit<Stretch, 'connections'>, rate: number): Promise<OpenLoad> {
  const program = join(import.meta.dirname, 'open-loop.js')
  const options = [port, rate, seconds, ...words(call).slice(0, 7)].map(String)
  const said = await output([process.execPath, program, ...options], { core: cores.load })
  const { calls, failed, p50, p99, p999 } = JSON.parse(said)
  return { calls, failed, p50: p50 / MICROS_PER_MS, p99: p99 / MICROS_PER_MS, p999: p999 / MICROS_PER_MS }
}
