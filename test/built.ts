import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './pack.ts'

/** Builds the program that the processes of the tests run (PROGRAM in command.ts), if there is none, and removes it after them. */
export default async function built(): Promise<(() => void) | undefined> {
  if (process.env['TRANSLOAD_PROGRAM'] !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'transload-built-'))
  process.env['TRANSLOAD_PROGRAM'] = await build(folder)
  return () => rmSync(folder, { recursive: true })
}
