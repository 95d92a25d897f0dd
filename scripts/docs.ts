import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { generatedDocs } from './generated-docs.ts'

/*
 * npm run docs: writes the generated documents.
 * npm run docs:check: lists those that are out of date, and fails if there are any.
 */

const ROOT = join(import.meta.dirname, '..')

const stale: string[] = []
for (const [path, content] of await generatedDocs(ROOT)) {
  if (content === contentOf(path)) continue
  stale.push(path)
  if (process.argv.includes('--check')) continue
  mkdirSync(dirname(join(ROOT, path)), { recursive: true })
  writeFileSync(join(ROOT, path), content)
}

if (process.argv.includes('--check') && stale.length > 0) {
  process.stderr.write(`Out of date: ${stale.join(', ')}. Run npm run docs.\n`)
  process.exitCode = 1
} else {
  process.stdout.write(stale.length === 0 ? 'The documentation is up to date.\n' : `Written: ${stale.join(', ')}\n`)
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(join(ROOT, path), 'utf8')
  } catch {
    return undefined
  }
}
