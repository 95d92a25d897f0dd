import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SIZES = join(ROOT, 'test/size.ts')

/**
 * Returns the test files that say more than `npm test` has said: those that it leaves out, and those whose harnesses are larger
 * where they run whole.
 */
export function restOfTests(leftOut: readonly string[]): readonly string[] {
  const isLeftOut = (file: string) => leftOut.some((pattern) => matchesGlob(file, pattern))
  const files = globSync('test/**/*.test.ts', { cwd: ROOT })
  return files.filter((file) => isLeftOut(file) || isSized(join(ROOT, file), new Set()))
}

/** Returns true if a file of the tests imports the sizes of harnesses, by itself or through others. */
function isSized(file: string, seen: Set<string>): boolean {
  if (file === SIZES) return true
  if (seen.has(file)) return false
  seen.add(file)
  const imports = readFileSync(file, 'utf8').matchAll(
    /^(?:import|export) [^;]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gms,
  )
  return [...imports].some(([, here, late]) => {
    const imported = join(dirname(file), here ?? late ?? '')
    return (
      imported.startsWith(join(ROOT, 'test/')) &&
      imported.endsWith('.ts') &&
      existsSync(imported) &&
      isSized(imported, seen)
    )
  })
}
