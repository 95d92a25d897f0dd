import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Stores and logs name customers, whom other users of the machine must not read. */
const OWNER_ONLY = 0o700

/**
 * Makes a folder for the gateway's own files, and the folders above it that are missing. Node's own recursion never ends where the system does not make
 * folders in one that exists, such as `/proc`.
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return
  const above = dirname(path)
  if (above !== path) makeFolder(above)
  try {
    mkdirSync(path, { mode: OWNER_ONLY })
  } catch (error) {
    // Another process made it in the meantime.
    if (!isFolder(path)) throw error
  }
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
