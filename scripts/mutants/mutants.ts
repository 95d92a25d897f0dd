import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Point, pointsOf } from './points.ts'
import { folderOf, sourceFiles } from './tree.ts'

/** A change of one place of one file. */
export interface Mutant extends Point {
  readonly path: string
  readonly folder: string
  readonly line: number
  readonly column: number
  /** The changed text as it stands in the file. */
  readonly before: string
  /** The whole line, trimmed: it finds the mutant again when the file grows. */
  readonly context: string
}

/** A mutant that changes nothing that a test could notice, with the reason. */
export interface Equivalent {
  readonly path: string
  readonly context: string
  readonly before: string
  readonly after: string
  readonly why: string
}

/** Returns every mutant of a tree. */
export function mutantsOf(root: string): readonly Mutant[] {
  return sourceFiles(root).flatMap((path) => {
    const source = readFileSync(join(root, path), 'utf8')
    return pointsOf(source).map((point) => mutantAt(source, path, point))
  })
}

function mutantAt(source: string, path: string, point: Point): Mutant {
  const lineStart = source.lastIndexOf('\n', point.start - 1) + 1
  const lineEnd = source.indexOf('\n', point.start)
  return {
    ...point,
    path,
    folder: folderOf(path),
    line: source.slice(0, point.start).split('\n').length,
    column: point.start - lineStart + 1,
    before: source.slice(point.start, point.end),
    context: source.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).trim(),
  }
}

/** Tells whether an entry of the list of equivalents is about a mutant. */
export const isAccepted = ({ path, context, before, text }: Mutant, entry: Equivalent): boolean =>
  entry.path === path && entry.context === context && entry.before === before && entry.after === text

/** Chooses so many of each folder, the same for the same seed. */
export function sampleOf(mutants: readonly Mutant[], perFolder: number, seed: number): readonly Mutant[] {
  return [...Map.groupBy(mutants, ({ folder }) => folder).values()].flatMap((all) =>
    all
      .map((mutant) => ({
        mutant,
        rank: hashOf(`${seed} ${mutant.path} ${mutant.start} ${mutant.end} ${mutant.text}`),
      }))
      .sort((one, other) => one.rank - other.rank)
      .slice(0, perFolder)
      .map(({ mutant }) => mutant),
  )
}

/** FNV-1a, with a last step that spreads neighbors. */
function hashOf(text: string): number {
  const OFFSET = 2_166_136_261
  const PRIME = 16_777_619
  let hash = OFFSET
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), PRIME)
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_507)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** Returns one line that names a mutant. */
export const describe = ({ path, line, column, kind, before, text }: Mutant): string =>
  `${path}:${line}:${column} ${kind}: ${brief(before)} → ${brief(text)}`

const BRIEF = 70
const brief = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > BRIEF ? `${line.slice(0, BRIEF)}…` : line
}
