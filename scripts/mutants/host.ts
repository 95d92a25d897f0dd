import { join } from 'node:path'
import { createVitest } from 'vitest/node'
import { type Answer, type Question, READY } from './runner.ts'

await serve(process.cwd())

/** Keeps one Vitest open in a tree, and runs what the parent asks for, each time to the first failure. */
async function serve(root: string): Promise<void> {
  const vitest = await createVitest(
    'test',
    { root, watch: false, bail: 1, maxWorkers: 2, reporters: [{}], silent: true },
    { server: { watch: null } },
  )
  await vitest.standalone()

  // That file was changed back since.
  let changedBefore = ''
  const answer = async ({ changed, tests }: Question): Promise<Answer> => {
    for (const path of [changedBefore, changed]) vitest.invalidateFile(join(root, path))
    changedBefore = changed
    // Failures of an earlier run would stop this one at once.
    vitest.state.idMap.clear()
    vitest.state.filesMap.clear()
    const files = tests.map((test) => join(root, test))
    const specifications = files.flatMap((file) => vitest.getModuleSpecifications(file))
    if (specifications.length < tests.length) throw new Error(`Vitest does not know all of ${tests.join(', ')}`)
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
    const failed = tests.filter((_, n) => testModules.some((module) => module.moduleId === files[n] && !module.ok()))
    return { failed, error: unhandledErrors.length > 0 }
  }

  process.on('message', (question: Question) => {
    answer(question).then(
      (found) => process.send?.(found),
      (error) => {
        process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
        process.exit(1)
      },
    )
  })
  process.once('disconnect', () => process.exit())
  process.send?.(READY)
}
