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

/** Sends one call repeatedly over some connections, one at a time on each. */
export type Loader = (stretch: Stretch) => Promise<Load>

const MICROS_PER_MS = 1_000
const MICROS_PER_SECOND = 1_000_000

/** Returns the arguments that describe a call to both load generators. */
const words = ({ method, path, body = '', names }: Call): readonly string[] => [
  ...[method, path, AUTHORIZATION, body, names?.prefix ?? '', String(names?.digits ?? 1)],
  ...[String(names?.first ?? 0), String(names?.count ?? 0), String(names?.stride ?? 1)],
]

/** Generates load with wrk, in one thread. */
export const wrk: Loader = async ({ port, call, connections, seconds }) => {
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '--latency']
  const script = join(import.meta.dirname, 'wrk.lua')
  const url = `http://${HOST}:${port}`
  return figures(await output(['wrk', ...options, '-s', script, url, '--', ...words(call)], { core: cores.load }))
}

/** Generates load with autocannon, if wrk is not installed; its latencies are whole milliseconds. */
export const autocannon: Loader = async ({ port, call, connections, seconds }) => {
  const program = join(import.meta.dirname, 'autocannon.js')
  const options = [`http://${HOST}:${port}`, String(connections), String(seconds)]
  return figures(await output([process.execPath, program, ...options, ...words(call)], { core: cores.load }))
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
  const [method = '', path = '', authorization = '', body = '', prefix = '', digits = '', first = ''] = words(call)
  const program = join(import.meta.dirname, 'open-loop.js')
  const options = [
    String(port),
    String(rate),
    String(seconds),
    method,
    path,
    authorization,
    body,
    prefix,
    digits,
    first,
  ]
  const said = await output([process.execPath, program, ...options], { core: cores.load })
  const { calls, failed, p50, p99, p999 } = JSON.parse(said)
  const [ms50, ms99, ms999] = [p50, p99, p999].map((micros: number) => micros / MICROS_PER_MS)
  return { calls, failed, p50: ms50 ?? Number.NaN, p99: ms99 ?? Number.NaN, p999: ms999 ?? Number.NaN }
}

/** Reads the last line of output, which is JSON from both generators. */
function figures(said: string): Load {
  const { calls, micros, failed, p50, p99 } = JSON.parse(said.trim().split('\n').at(-1) ?? '')
  return {
    perSecond: (calls * MICROS_PER_SECOND) / micros,
    calls,
    failed,
    p50: p50 / MICROS_PER_MS,
    p99: p99 / MICROS_PER_MS,
  }
}
