import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '../..')

/** A copy of the working tree, in which mutants live and die. */
export interface Tree {
  readonly root: string
  /** The folder for what its tests write. */
  readonly scratch: string
  readonly remove: () => void
}

/** Copies what Git tracks or would track; the packages are linked. */
export function copyTree(): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'mutants-'))
  const root = join(folder, 'tree')
  const scratch = join(folder, 't')
  mkdirSync(scratch, { recursive: true })
  // PostgreSQL runs as a user of its own.
  chmodSync(folder, 0o755)
  chmodSync(scratch, 0o1777)
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' })
  for (const path of listed.split('\0').filter(Boolean)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    // A file that was deleted is still listed.
    cpSync(join(ROOT, path), join(root, path), { force: true, filter: exists })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  return { root, scratch, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

const exists = (path: string): boolean => {
  try {
    readFileSync(path)
    return true
  } catch {
    return false
  }
}

const filesIn = (root: string, folder: string, end: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort()

/** Returns the files whose mutants are tried. */
export const sourceFiles = (root: string): readonly string[] => [
  ...filesIn(root, 'src', '.ts'),
  ...filesIn(root, 'mappings', '.ts'),
]

/** Returns the test files that `npm test` runs, those with servers of PostgreSQL, and all of the commands. */
export const testFiles = (root: string): readonly string[] =>
  filesIn(root, 'test', '.test.ts').filter(
    (path) => path.startsWith('test/commands/') || !(path.includes('.slow.') || path.startsWith('test/debian/')),
  )

/** Returns the folder of a file in a report: `src/store`, `mappings`, `src` for the files at its root. */
export function folderOf(path: string): string {
  const [first = '', second = '', third] = path.split('/')
  return first === 'src' && third !== undefined ? `${first}/${second}` : first
}
