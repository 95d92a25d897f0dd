import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { findPrograms } from './programs.ts'
import { writeDocs } from './report.ts'
import { keepResult } from './results.ts'
import { Refused, tell } from './rounds.ts'
import { createBench } from './section.ts'
import { sections } from './sections.ts'

/*
 * Measures the gateway beside other gateways, and writes bench/README.md and bench/quotes.svg.
 *
 * npm run bench -- [--only quotes,durable,open-loop,pass-through,calls,startup] [--seconds 10]
 * [--rounds 5] [--warm-up 10] [--starts 15]
 *
 * Sections that are not measured keep their last results, in bench/results.json. A run is refused with exit code 1 if a
 * call fails or a contender does not do the same as the gateway.
 */

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: [...sections.keys()].join(',') },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
    'warm-up': { type: 'string', default: '10' },
    starts: { type: 'string', default: '15' },
  },
})
const BENCH = join(import.meta.dirname, '..')

function npm(folder: string, ...words: readonly string[]): void {
  const { status } = spawnSync('npm', words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`npm ${words.join(' ')} ended with ${status}`)
}

/** Returns true if the packages are those of the lock file: npm writes its own copy of it after an installation. */
function installed(): boolean {
  const changedAt = (name: string) => statSync(join(BENCH, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return changedAt('node_modules/.package-lock.json') > changedAt('package-lock.json')
}

async function run(): Promise<void> {
  const names = values.only.split(',')
  const unknown = names.filter((name) => !sections.has(name))
  if (unknown.length > 0) throw new Refused(`there is no section ${unknown.join(', ')}, only ${[...sections.keys()]}`)
  if (!installed()) npm(BENCH, 'ci')
  npm(dirname(BENCH), 'run', '--silent', 'build')
  const sizes = {
    warmUpSeconds: Number(values['warm-up']),
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
    starts: Number(values.starts),
  }
  const programs = findPrograms()
  for (const line of programs.missing) tell(line)
  const folder = mkdtempSync(join(tmpdir(), 'transload-bench-'))
  // After a signal too.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const bench = createBench(folder, programs, sizes)
  for (const name of names) {
    const section = sections.get(name)
    if (!section) continue
    tell(`\n${section.title}`)
    const data = await section.measure(bench)
    keepResult(name, section, programs, sizes, data)
    process.stdout.write(`${section.markdown(data)}\n`)
  }
}

try {
  await run()
  writeDocs()
} catch (error) {
  if (!(error instanceof Refused)) throw error
  tell(`refused: ${error.message}`)
  process.exitCode = 1
}
