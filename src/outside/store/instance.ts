import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** Returns a new name for this process among those that share a store: host, pid, start time and a random part. */
export function newInstance(): string {
  return [hostname(), process.pid, startTimeOf(process.pid), crypto.randomUUID().slice(0, 8)].join('/')
}

/** Reports whether an instance's process is alive; also true if it runs where this process cannot see it. */
export function isAlive(instance: string): boolean {
  const [host, pid, startTime] = instance.split('/')
  if (host !== hostname()) return true
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  const startTimeNow = startTimeOf(Number(pid))
  return startTimeNow === undefined || startTimeNow === startTime
}

/** The index of the start time, which is field 22 of `/proc/<pid>/stat` (proc(5)), after the name, which is field 2. */
const START_TIME_AFTER_NAME = 19

/** Returns when a process started, in ticks since boot, to distinguish it from a later one with the same pid; undefined without /proc. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name is in parentheses and may contain blanks and parentheses itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME_AFTER_NAME]
  } catch {
    return undefined
  }
}

/** A gateway that has not renewed its lease for this long counts as gone. */
export const SILENT_FOR_MS = 10_000

/** Reports, in SQL, whether a lease was renewed recently. A renewal in the future was made before the machine's last start. */
export const isRenewed = (withinMs: string): string =>
  `beat_ms > transload.lease_ms() - ${withinMs} AND beat_ms <= transload.lease_ms()`
