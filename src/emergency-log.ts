import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Answer } from './answers.ts'
import type { Keepsake } from './xref.ts'

/** A booking that the service made and the store could not record. */
export interface Unrecorded {
  /** The claim's handle. */
  readonly booking: string
  readonly tenant: string
  readonly answer: Answer
  readonly keepsake: Keepsake
}

/** Where a booking's id goes when the store fails at the worst moment. */
export interface EmergencyLog {
  readonly write: (entry: Unrecorded) => void
  /** What an earlier run, or this one, has left. */
  readonly read: () => readonly Unrecorded[]
  /** Forgets everything, once it is recorded. */
  readonly clear: () => void
}

/** Opens the emergency log at a path; there is no file until it is needed. */
export function openEmergencyLog(path: string): EmergencyLog {
  return {
    // Synchronous on purpose: the process may not live long enough for anything else.
    write: (entry) => {
      try {
        mkdirSync(dirname(path), { recursive: true })
        appendFileSync(path, `${JSON.stringify(entry)}\n`, { flush: true })
      } catch {
        // The line in the ordinary log is what remains.
      }
    },
    read: () => {
      try {
        return readFileSync(path, 'utf8').split('\n').flatMap(entryIn)
      } catch {
        return []
      }
    },
    clear: () => rmSync(path, { force: true }),
  }
}

/** A line that was cut short by the end of the process is no entry. */
function entryIn(line: string): Unrecorded[] {
  try {
    return [JSON.parse(line) as Unrecorded]
  } catch {
    return []
  }
}
