import type { Call } from './calls.ts'
import { type Load, load } from './load.ts'
import { cpuMilliseconds, type Running, residentMegabytes } from './processes.ts'

/** A contender that gets one kind of call over some connections. */
export interface Case {
  readonly id: string
  readonly name: string
  readonly connections: number
  readonly running: Running
  /** Returns the call of one round, with names that no earlier round has used. */
  readonly call: () => Call
}

/** The figures of one round of one contender. */
export interface Round {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** CPU time of the contender's processes for each call; null if unknown. */
  readonly cpuMicros: number | null
  /** Memory of the contender's processes at the end of the round; null if unknown. */
  readonly megabytes: number | null
}

/** The rounds of a case. */
export interface Row {
  readonly id: string
  readonly name: string
  readonly connections: number
  readonly rounds: readonly Round[]
}

export interface Plan {
  /** Long enough for Node to compile hot code, or the first rounds differ from the last. */
  readonly warmUpSeconds: number
  readonly seconds: number
  readonly rounds: number
}

/** A run whose figures are not valid. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

const MICROS_PER_MS = 1_000
const DIGITS = 1_000

const rounded = (figure: number): number => Math.round(figure * DIGITS) / DIGITS
const known = (figure: number): number | null => (Number.isNaN(figure) ? null : rounded(figure))

/** Measures every case in turn, round after round: a busy machine slows all of them down alike. */
export async function measure(cases: readonly Case[], plan: Plan): Promise<readonly Row[]> {
  const rows = cases.map((one) => ({ one, rounds: [] as Round[] }))
  for (const { one } of rows) await stretch(one, plan.warmUpSeconds)
  for (let round = 0; round < plan.rounds; round += 1) {
    tell(`round ${round + 1} of ${plan.rounds}`)
    // The order rotates too.
    const shift = round % rows.length
    for (const { one, rounds } of [...rows.slice(shift), ...rows.slice(0, shift)]) {
      rounds.push(await stretch(one, plan.seconds))
    }
  }
  return rows.map(({ one: { id, name, connections }, rounds }) => ({ id, name, connections, rounds }))
}

async function stretch({ name, running, call, connections }: Case, seconds: number): Promise<Round> {
  const before = cpuMilliseconds(running.pid)
  const loaded = await load({ port: running.port, call: call(), connections, seconds })
  const cpu = cpuMilliseconds(running.pid) - before
  refuseFailures(name, loaded)
  return {
    perSecond: rounded(loaded.perSecond),
    p50: rounded(loaded.p50),
    p99: rounded(loaded.p99),
    cpuMicros: known((cpu * MICROS_PER_MS) / loaded.calls),
    megabytes: known(residentMegabytes(running.pid)),
  }
}

/** Refuses a round with failed calls, because they cost less than others. */
function refuseFailures(name: string, { calls, failed }: Load): void {
  if (calls === 0) throw new Refused(`${name} answered no call`)
  if (failed > 0) throw new Refused(`${name}: ${failed} of ${calls} calls failed`)
}

/** Prints progress to standard error. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}
