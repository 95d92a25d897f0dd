import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** Returns a new name for this process among those that share a store: host, pid, start time and a random part. */
export function newInstance(): string {
  return [hostname(), process.pid, startTimeOf(process.pid), crypto.randomUUID().slice(0, 8)].join('/')
}

/** Returns false if the process of an instance has ended; true if it lives or runs where this process cannot see it. */
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

/** The start time is field 22 of `/proc/<pid>/stat` (proc(5)); this is its index after the name, which is field 2. */
const START_TIME_AFTER_NAME = 19

/** Returns when a process started, in ticks since boot, to tell it from a later one with its pid; undefined without /proc. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name is in parentheses and may contain blanks and parentheses itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME_AFTER_NAME]
  } catch {
    return undefined
  }
}

/** A gateway that has not renewed its lease for so long counts as gone. */
export const SILENT_FOR_MS = 10_000

/** Tells in SQL if a lease was renewed lately. One that was renewed in the future was renewed before the last start of the machine. */
export const isRenewed = (withinMs: string): string =>
  `beat_ms > transload.lease_ms() - ${withinMs} AND beat_ms <= transload.lease_ms()`
