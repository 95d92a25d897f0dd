import { accessSync, appendFileSync, constants, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Answer } from '../answer.ts'
import { makeFolder } from '../store/make-folder.ts'
import type { XrefRecord } from '../xref/xref.ts'

/** A booking that the service made and the store could not record. */
export interface Unrecorded {
  /** The claim's handle. */
  readonly booking: string
  readonly tenant: string
  readonly answer: Answer
  readonly record: XrefRecord
}

/** A file for bookings that the store cannot record; the gateways of one machine may share it. */
export interface EmergencyLog {
  readonly write: (entry: Unrecorded) => void
  /** Returns the entries of earlier runs, this one and other gateways. */
  readonly read: () => readonly Unrecorded[]
  /** Removes the entries that were read, once they are recorded. */
  readonly clear: () => void
}

/** The file names vehicles and orders, which other users of the machine must not read. */
const OWNER_ONLY = 0o600

/** Returns why a file at a path cannot be written; undefined if it can. It makes nothing. */
export function unwritableReason(path: string): string | undefined {
  try {
    let place = path
    while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
    if (place !== path && !statSync(place).isDirectory()) return `${place} is not a folder`
    accessSync(place, constants.W_OK)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  // Node's own rights come on top; without `--permission` there are none.
  const { permission }: { readonly permission?: typeof process.permission } = process
  return permission?.has('fs.write', path) === false ? `Node needs --allow-fs-write=${path}` : undefined
}

/** Opens the emergency log at a path; there is no file until it is needed. */
export function openEmergencyLog(path: string): EmergencyLog {
  let readBytes = 0
  return {
    // Synchronous, because the process may end at any moment.
    write: (entry) => {
      try {
        makeFolder(dirname(path))
        // A crash may have cut off the previous line.
        appendFileSync(path, `\n${lineOf(entry)}\n`, { flush: true, mode: OWNER_ONLY })
      } catch {
        // The log line that the caller writes remains.
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
      // Lines added since are read the next time.
      if (readBytes > 0 && statSync(path, { throwIfNoEntry: false })?.size === readBytes) rmSync(path, { force: true })
      readBytes = 0
    },
  }
}

/** An entry as it stands in the file. */
interface Line extends Omit<Unrecorded, 'record'> {
  /** The record. Its name stays, because gateways of several versions may share the file. */
  readonly keepsake: XrefRecord
}

function lineOf({ record, ...entry }: Unrecorded): string {
  return JSON.stringify({ ...entry, keepsake: record } satisfies Line)
}

/** Returns the entry of a line; an empty list for a line that a crash cut off. */
function entryIn(line: string): Unrecorded[] {
  try {
    const { booking, tenant, answer, keepsake: record }: Partial<Line> = JSON.parse(line) ?? {}
    return booking && tenant && answer && record?.id ? [{ booking, tenant, answer, record }] : []
  } catch {
    return []
  }
}
