import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { emptyScratch, endGroup, endLeftOvers } from './processes.ts'
import { environmentOf } from './run-tests.ts'
import type { Tree } from './tree.ts'

/** Test files to run, after a file changed. */
export interface Question {
  readonly changed: string
  readonly tests: readonly string[]
}

/** The test files that failed, and whether anything failed outside of tests. */
export interface Answer {
  readonly failed: readonly string[]
  readonly error: boolean
}

/** The first message of the host: Vitest is open. */
export const READY = 'ready'

/** Runs test files in a Vitest that stays open; see `host.ts`. */
export interface Runner {
  /** Runs test files to the first failure, after a file changed. */
  readonly run: (question: Question, timeoutMs: number) => Promise<Answer | 'died' | 'timed out'>
  readonly close: () => void
}

/** Returns a runner for a tree. A host that hangs or dies is replaced before the next run. */
export function createRunner(tree: Tree): Runner {
  let host: ChildProcess | undefined

  const close = () => {
    endGroup(host?.pid)
    host = undefined
    endLeftOvers(tree)
    emptyScratch(tree)
  }

  const run: Runner['run'] = async (question, timeoutMs) => {
    host ??= await open(tree)
    const answer = await ask(host, question, timeoutMs)
    if (answer === 'died' || answer === 'timed out') close()
    else {
      endLeftOvers(tree, host.pid)
      emptyScratch(tree)
    }
    return answer
  }

  return { run, close }
}

/** Starts a host, and waits until its Vitest is open. */
async function open(tree: Tree): Promise<ChildProcess> {
  const host = spawn(process.execPath, [join(import.meta.dirname, 'host.ts')], {
    cwd: tree.root,
    env: environmentOf(tree),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  })
  const died = once(host, 'exit').then(() => 'died')
  const [first] = await Promise.race([once(host, 'message'), died.then((end) => [end])])
  if (first !== READY) throw new Error('Vitest does not open in the copy of the tree')
  return host
}

function ask(host: ChildProcess, question: Question, timeoutMs: number): Promise<Answer | 'died' | 'timed out'> {
  return new Promise((resolve) => {
    const settle = (answer: Answer | 'died' | 'timed out') => {
      clearTimeout(timer)
      host.off('message', settle).off('exit', onExit)
      resolve(answer)
    }
    const onExit = () => settle('died')
    host.on('message', settle).on('exit', onExit)
    host.send(question)
    const timer = setTimeout(settle, timeoutMs, 'timed out')
  })
}
