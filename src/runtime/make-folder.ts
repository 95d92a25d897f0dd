import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Stores and logs name customers, so other users of the machine must not read them. */
const OWNER_ONLY = 0o700

/**
 * Makes a folder for the gateway's own files, and any missing parents. Node's own recursion never ends if the system refuses to make
 * folders in an existing one, such as `/proc`.
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return
  const above = dirname(path)
  if (above !== path) makeFolder(above)
  try {
    mkdirSync(path, { mode: OWNER_ONLY })
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!isFolder(path)) throw error
  }
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
