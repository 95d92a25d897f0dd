import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Room } from './laws.ts'

type File = 'names.ts' | 'resolve.ts'

/** A mistake in the source: a text that occurs once in a file, and its replacement. */
type Mistake = readonly [title: string, place: readonly [file: File, text: string, instead: string]]

/** At least one mistake for each law, and one for each row of the table of VINs. */
export const mistakes: readonly Mistake[] = Object.entries(
  JSON.parse(readFileSync(join(import.meta.dirname, 'mistakes.json'), 'utf8')),
)

const ROOM = join(import.meta.dirname, '../../src/state/names')

/** Runs work with a room that has a mistake. */
export async function withMistake<T>(
  [title, [file, text, instead]]: Mistake,
  work: (room: Room) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'transload-mistake-'))
  try {
    for (const name of ['names.ts', 'resolve.ts']) {
      let source = await readFile(join(ROOM, name), 'utf8')
      if (name === file) {
        if (source.split(text).length !== 2) throw new Error(`The source has no one place for: ${title}`)
        source = source.replace(text, () => instead)
      }
      const placed = source.replace(/(?<=from ')\.\.\/[^']+/g, (path) => pathToFileURL(join(ROOM, path)).href)
      await writeFile(join(folder, name), placed)
    }
    const load = (name: string) => import(/* @vite-ignore */ pathToFileURL(join(folder, name)).href)
    const [{ openNames }, { chooseVehicle }] = await Promise.all([load('names.ts'), load('resolve.ts')])
    return await work({ openNames, chooseVehicle })
  } finally {
    await rm(folder, { recursive: true })
  }
}
