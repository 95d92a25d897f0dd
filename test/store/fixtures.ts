import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { ROOT } from '../command.ts'

/** The numbers of steps that the kept stores have had (fixtures/README.md). */
export const KEPT_STEPS = [1, 2, 3, 4]

const file = (name: string) => join(import.meta.dirname, 'fixtures', name)

/** Writes a kept store of the embedded engine to a path. */
export function writeKeptStore(steps: number, path: string): void {
  writeFileSync(path, gunzipSync(readFileSync(file(`sqlite-${steps}.db.gz`))))
}

/** Loads a kept store into an empty database of PostgreSQL. */
export async function loadKeptStore(steps: number, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(readFileSync(file(`postgres-${steps}.sql`), 'utf8'))
  await client.end()
}

/** Returns the answers that the code of that time got from its store. */
export function answersOfThen(engine: 'sqlite' | 'postgres', steps: number): Record<string, unknown> {
  return JSON.parse(readFileSync(file(`${engine}-${steps}.json`), 'utf8'))
}

/** Unpacks the release before this one into a folder, and returns the path of its program. */
export function unpackReleaseBefore(folder: string): string {
  const place = join(folder, 'release-before')
  mkdirSync(place)
  execFileSync('tar', ['-xzf', file('release-before.tar.gz'), '-C', place])
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'))
  return join(place, 'bin/transload.js')
}
