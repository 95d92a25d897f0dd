import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Tree } from './tree.ts'

/** The end of a run of tests. */
export type Outcome = 'passed' | 'failed' | 'timed out'

/** Runs test files of a tree to the first failure. Ends every process that is left, and removes what they wrote. */
export async function runTests(
  tree: Tree,
  files: readonly string[],
  timeoutMs: number,
  more: readonly string[] = ['--bail=1'],
): Promise<Outcome> {
  const args = ['run', '--reporter=dot', '--maxWorkers=2', ...more, ...files]
  const outcome = await runProgram(tree, [join(tree.root, 'node_modules/vitest/vitest.mjs'), ...args], timeoutMs)
  for (const name of readdirSync(tree.scratch)) {
    rmSync(join(tree.scratch, name), { recursive: true, force: true, maxRetries: 5 })
  }
  return outcome
}

/** Tells whether the compiler accepts a tree. */
export async function compiles(tree: Tree): Promise<boolean> {
  const COMPILE_MS = 120_000
  return (await runProgram(tree, [join(tree.root, 'node_modules/typescript/bin/tsc')], COMPILE_MS)) === 'passed'
}

async function runProgram(tree: Tree, args: readonly string[], timeoutMs: number): Promise<Outcome> {
  const child = spawn(process.execPath, args, {
    cwd: tree.root,
    // With a name, the configuration leaves no file out that is asked for.
    env: { ...process.env, TMPDIR: tree.scratch, NO_COLOR: '1', CI: 'true', TRANSLOAD_TESTS: 'mutants' },
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
  endThoseOf(tree)
  if (timedOut) return 'timed out'
  return code === 0 ? 'passed' : 'failed'
}

function endGroup(pid: number | undefined): void {
  if (pid !== undefined) end(-pid)
}

/** Ends the processes that name the tree or its scratch folder: tests start some in groups of their own. */
function endThoseOf({ root, scratch }: Tree): void {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const command = commandOf(name)
    if (Number(name) !== process.pid && (command.includes(`${root}/`) || command.includes(`${scratch}/`))) {
      end(Number(name))
    }
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
