import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/*
 * Prints the bill of materials of the published package: its dependencies as package-lock.json has them, in the JSON format of
 * CycloneDX. The same lock file gives the same bytes; SOURCE_DATE_EPOCH is its time stamp, if it is set.
 */

const ROOT = join(import.meta.dirname, '..')
const MS_PER_SECOND = 1000

const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'))

/** Writes both files of npm without what only development needs. `npm sbom --omit=dev` leaves out packages that both need. */
function writeProduction(folder: string): void {
  const { devDependencies: _, ...manifest } = read('package.json')
  const lock = read('package-lock.json')
  const packages: Readonly<Record<string, { readonly dev?: boolean }>> = lock.packages
  const production = Object.entries(packages).filter(([, { dev = false }]) => !dev)
  const { devDependencies: __, ...root } = lock.packages['']
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const locked = { ...lock, packages: { ...Object.fromEntries(production), '': root } }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(locked))
}

const parent = mkdtempSync(join(tmpdir(), 'transload-sbom-'))
try {
  // npm takes the name of the folder for that of the package.
  const folder = join(parent, read('package.json').name)
  mkdirSync(folder)
  writeProduction(folder)
  const words = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only']
  const { serialNumber: _, ...bill } = JSON.parse(execFileSync('npm', words, { cwd: folder, encoding: 'utf8' }))
  const { timestamp: __, ...metadata } = bill.metadata
  const epoch = process.env['SOURCE_DATE_EPOCH']
  const stamp = epoch ? { timestamp: new Date(Number(epoch) * MS_PER_SECOND).toISOString() } : {}
  process.stdout.write(`${JSON.stringify({ ...bill, metadata: { ...stamp, ...metadata } }, null, 2)}\n`)
} finally {
  rmSync(parent, { recursive: true })
}
