import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './command.ts'

/** Reads a file of the repository. */
export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The documents, from the root of the repository. */
export const pages: readonly string[] = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy/README.md', 'bench/README.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

/** Returns the blocks of code of a page, of one language. */
export const blocks = (page: string, language: string): readonly string[] =>
  [...read(page).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, kind, code = '']) =>
    kind === language ? [code] : [],
  )
