import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isLearned, learn, readLearned } from './learned.ts'
import { describe, type Equivalent, isAccepted, type Mutant, mutantsOf, sampleOf } from './mutants.ts'
import { report, type Tried } from './report.ts'
import { copyTree, ROOT, testFiles } from './tree.ts'
import { openTrials } from './try.ts'

const HELP = `npm run mutants -- [OPTIONS]

Changes one place of the program at a time, in a copy of the tree, and runs the tests that call it. A mutant that no
test notices is a survivor.

  --folder A,B      only these folders, such as src/store,mappings, or files
  --sample N        so many mutants of each folder, chosen by the seed (default: 10; 0 is all)
  --seed N          chooses the sample (default: of the day)
  --seconds N       tries only tests that take so long together: quick, and finds more survivors than there are
  --at PATH:LINE    only the mutants of a line
  --learn [TEST]    runs the test files (all, or those whose path contains TEST) alone, to learn what they call
  --list            lists the mutants and tries none
  --out FILE        appends a line for each mutant
`

const MS_PER_SECOND = 1_000
const say = (line: string) => process.stdout.write(`${line}\n`)

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string' },
    sample: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 86_400_000)) },
    seconds: { type: 'string' },
    at: { type: 'string' },
    learn: { type: 'boolean', default: false },
    test: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const equivalents: readonly Equivalent[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'equivalents.json'), 'utf8'),
)

if (options.help) say(HELP)
else if (options.learn) await learn((test) => test.includes(options.test), say)
else await main()

async function main(): Promise<void> {
  const all = mutantsOf(ROOT)
  const stale = equivalents.filter((entry) => !all.some((mutant) => isAccepted(mutant, entry)))
  for (const { path, context } of stale) say(`equivalents.json: there is no such mutant: ${path}: ${context}`)
  const chosen = chosenOf(all)
  if (options.list) {
    for (const mutant of chosen) say(describe(mutant))
    return
  }
  const known = readLearned()
  const isKnown = (test: string) => isLearned(known, test)
  const learned = testFiles(ROOT).every(isKnown) ? known : await learn((test) => !isKnown(test), say)
  const tree = copyTree()
  const trials = openTrials(
    tree,
    learned,
    options.seconds === undefined ? undefined : Number(options.seconds) * MS_PER_SECOND,
  )
  const tried: Tried[] = []
  try {
    for (const mutant of chosen) {
      const verdict = await trials.tryMutant(mutant)
      tried.push({ mutant, verdict })
      say(`${tried.length}/${chosen.length} ${verdict}: ${describe(mutant)}`)
      if (options.out) appendFileSync(options.out, `${JSON.stringify({ verdict, at: describe(mutant), mutant })}\n`)
    }
  } finally {
    trials.close()
    tree.remove()
  }
  say(report(tried, options.seed))
}

function chosenOf(all: readonly Mutant[]): readonly Mutant[] {
  const folders = options.folder?.split(',')
  const [path, line] = options.at?.split(':') ?? []
  const wanted = all.filter(
    (mutant) =>
      (!folders || folders.includes(mutant.folder) || folders.includes(mutant.path)) &&
      (path === undefined || mutant.path === path) &&
      (line === undefined || mutant.line === Number(line)) &&
      !equivalents.some((entry) => isAccepted(mutant, entry)),
  )
  const perFolder = Number(options.sample)
  return perFolder === 0 || options.at ? wanted : sampleOf(wanted, perFolder, Number(options.seed))
}
