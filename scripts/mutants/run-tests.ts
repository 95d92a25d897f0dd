import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { emptyScratch, endGroup, endLeftOvers } from './processes.ts'
import type { Tree } from './tree.ts'

/** The end of a run of tests. */
export type Outcome = 'passed' | 'failed' | 'timed out'

/** Runs a test file of a tree in a Vitest of its own. Ends every process that is left, and removes what they wrote. */
export async function runTestFile(tree: Tree, file: string, timeoutMs: number): Promise<Outcome> {
  const args = ['run', '--reporter=dot', '--maxWorkers=2', file]
  const outcome = await runProgram(tree, [join(tree.root, 'node_modules/vitest/vitest.mjs'), ...args], timeoutMs)
  emptyScratch(tree)
  return outcome
}

/** Tells whether the compiler accepts a tree. */
export async function compiles(tree: Tree): Promise<boolean> {
  const COMPILE_MS = 120_000
  return (await runProgram(tree, [join(tree.root, 'node_modules/typescript/bin/tsc')], COMPILE_MS)) === 'passed'
}

/** The environment of tests in a tree. */
export const environmentOf = (tree: Tree): NodeJS.ProcessEnv => ({
  ...process.env,
  TMPDIR: tree.scratch,
  NO_COLOR: '1',
  CI: 'true',
  // With a name, the configuration leaves no file out that is asked for.
  TRANSLOAD_TESTS: 'mutants',
})

async function runProgram(tree: Tree, args: readonly string[], timeoutMs: number): Promise<Outcome> {
  const child = spawn(process.execPath, args, {
    cwd: tree.root,
    env: environmentOf(tree),
    stdio: 'ignore',
    detached: true,
  })
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    endGroup(child.pid)
  }, timeoutMs)
  const code = await new Promise((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  endGroup(child.pid)
  endLeftOvers(tree)
  if (timedOut) return 'timed out'
  return code === 0 ? 'passed' : 'failed'
}
