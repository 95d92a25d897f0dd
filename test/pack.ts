import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { output, ROOT } from './command.ts'

/** The sources of the package, and the files that it includes unchanged. */
const BUILD = [
  '.npmrc',
  'bin',
  'package.json',
  'tsconfig.json',
  'tsconfig.types.json',
  'scripts/build.ts',
  'src',
  'mappings',
]
const BESIDES = ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs']

/** Packs a copy of the sources, because `dist` may be in use; returns the path of the archive. */
export async function pack(folder: string): Promise<string> {
  const source = copySources(folder, [...BUILD, ...BESIDES])
  await output('npm', ['pack'], { cwd: source })
  const { name, version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  return join(source, `${name}-${version}.tgz`)
}

/** Builds a copy of the sources; returns the path of the program that the image runs. */
export async function build(folder: string): Promise<string> {
  const source = copySources(folder, BUILD)
  await output(process.execPath, ['scripts/build.ts'], { cwd: source })
  return join(source, 'dist/src/main.js')
}

function copySources(folder: string, names: readonly string[]): string {
  const source = join(folder, 'source')
  const found = names.filter((name) => existsSync(join(ROOT, name)))
  for (const name of found) cpSync(join(ROOT, name), join(source, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  return source
}
