import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generatedDocs } from './generated-docs.ts'

/*
 * npm run docs: writes the generated documents.
 * npm run docs:check: lists those that are out of date, and fails if there are any.
 */

const ROOT = join(import.meta.dirname, '..')
const onlyChecks = process.argv.includes('--check')

const stale: string[] = []
for (const [name, content] of await generatedDocs(ROOT)) {
  const path = join(ROOT, name)
  if (existsSync(path) && readFileSync(path, 'utf8') === content) continue
  stale.push(name)
  if (!onlyChecks) writeFileSync(path, content)
}

if (onlyChecks && stale.length > 0) {
  process.stderr.write(`Out of date: ${stale.join(', ')}. Run npm run docs.\n`)
  process.exitCode = 1
} else {
  process.stdout.write(stale.length === 0 ? 'The documentation is up to date.\n' : `Written: ${stale.join(', ')}\n`)
}
