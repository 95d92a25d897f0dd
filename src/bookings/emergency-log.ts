import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Answer } from '../http/answers.ts'
import type { Keepsake } from '../xref/xref.ts'

/** A booking that the service made and the store could not record. */
export interface Unrecorded {
  /** The claim's handle. */
  readonly booking: string
  readonly tenant: string
  readonly answer: Answer
  readonly keepsake: Keepsake
}

/** Where a booking's id goes when the store fails at the worst moment; the gateways of one machine may share it. */
export interface EmergencyLog {
  readonly write: (entry: Unrecorded) => void
  /** What an earlier run, this one or another gateway has left. */
  readonly read: () => readonly Unrecorded[]
  /** Forgets what was read, once it is recorded. */
  readonly clear: () => void
}

/** What names vehicles and their owners' orders is nobody else's to read. */
const OWNER_ONLY = 0o600

/** Opens the emergency log at a path; there is no file until it is needed. */
export function openEmergencyLog(path: string): EmergencyLog {
  let readBytes = 0
  return {
    // Synchronous on purpose: the process may not live long enough for anything else.
    write: (entry) => {
      try {
        mkdirSync(dirname(path), { recursive: true })
        // The line before may have been cut short by the end of a process.
        appendFileSync(path, `\n${JSON.stringify(entry)}\n`, { flush: true, mode: OWNER_ONLY })
      } catch {
        // The line in the ordinary log is what remains.
      }
    },
    read: () => {
      try {
        const bytes = readFileSync(path)
        readBytes = bytes.length
        return bytes.toString('utf8').split('\n').flatMap(entryIn)
      } catch {
        readBytes = 0
        return []
      }
    },
    clear: () => {
      // What somebody has added since is read the next time.
      if (readBytes > 0 && statSync(path, { throwIfNoEntry: false })?.size === readBytes) rmSync(path, { force: true })
      readBytes = 0
    },
  }
}

/** A line that was cut short by the end of the process is no entry. */
function entryIn(line: string): Unrecorded[] {
  try {
    const entry: Partial<Unrecorded> | null = JSON.parse(line)
    const whole = entry?.booking && entry.tenant && entry.answer && entry.keepsake?.id
    return whole ? [entry as Unrecorded] : []
  } catch {
    return []
  }
}
