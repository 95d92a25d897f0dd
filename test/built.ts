import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './pack.ts'

/**
 * Builds the program for the processes of the tests (PROGRAM in command.ts) if there is none, and opens a folder for the files of all
 * tests.
 */
export default async function built(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-tests-'))
  process.env['TRANSLOAD_TESTS_FOLDER'] = folder
  process.env['TRANSLOAD_PROGRAM'] ??= await build(join(folder, 'built'))
  return () => rmSync(folder, { recursive: true })
}
