import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRunner } from '../../scripts/mutants/runner.ts'
import { ROOT } from '../../scripts/mutants/tree.ts'

const TEST = `import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { two } from '../src/two.ts'

test('two', () => {
  mkdirSync(join(tmpdir(), 'left'))
  const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore', argv0: tmpdir() + '/left' })
  writeFileSync(join(import.meta.dirname, '../pid'), String(left.pid))
  expect(two()).toBe(2)
})
`

const PATIENCE_MS = 30_000

/** A small project in a folder of its own. */
function createTree() {
  const folder = mkdtempSync(join(tmpdir(), 'transload-runner-'))
  const [root, scratch] = [join(folder, 'tree'), join(folder, 't')]
  for (const path of [scratch, join(root, 'src'), join(root, 'test')]) mkdirSync(path, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(root, 'vitest.config.ts'), 'export default { test: { isolate: false } }\n')
  writeFileSync(join(root, 'test/two.test.ts'), TEST)
  return { root, scratch, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

test('a Vitest that stays open notices each change, and a hanging one is replaced; tests leave nothing behind', async () => {
  const tree = createTree()
  const runner = createRunner(tree)
  onTestFinished(() => {
    runner.close()
    tree.remove()
  })
  const answerTo = async (source: string, timeoutMs = PATIENCE_MS, changed = 'src/two.ts') => {
    writeFileSync(join(tree.root, 'src/two.ts'), source)
    return await runner.run({ changed, tests: ['test/two.test.ts'] }, timeoutMs)
  }
  const passed = { failed: [], error: false }
  expect(await answerTo('export const two = () => 2')).toEqual(passed)
  const pid = readFileSync(join(tree.root, 'pid'), 'utf8')
  await expect.poll(() => existsSync(`/proc/${pid}/exe`)).toBe(false)
  expect(existsSync(join(tree.scratch, 'left'))).toBe(false)
  expect(await answerTo('export const two = () => 3')).toEqual({ failed: ['test/two.test.ts'], error: false })
  // The file is changed back, and the next mutant is one of another file.
  expect(await answerTo('export const two = () => 2', PATIENCE_MS, 'src/other.ts')).toEqual(passed)
  expect(await answerTo('export const two = () => { for (;;); }', 2_000)).toBe('timed out')
  expect(await answerTo('export const two = () => 2')).toEqual(passed)
  expect(await answerTo('export const two = () => { Promise.reject(new Error("late")); return 2 }')).toMatchObject({
    error: true,
  })
})
