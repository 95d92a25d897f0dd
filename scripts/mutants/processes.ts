import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Tree } from './tree.ts'

/** Ends a process and those of its group. */
export function endGroup(pid: number | undefined): void {
  if (pid !== undefined) end(-pid)
}

/**
 * Ends the processes that tests of a tree left behind: those that name the tree or its scratch folder, as tests start some
 * in groups of their own, and those of a host's group, except for the host and its children.
 */
export function endLeftOvers({ root, scratch }: Tree, host = 0): void {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  for (const pid of processes.map(Number)) {
    const { parent, group } = parentOf(pid)
    if (pid === process.pid || pid === host || (host !== 0 && parent === host)) continue
    const command = read(`/proc/${pid}/cmdline`)
    const isOfTree = command.includes(`${root}/`) || command.includes(`${scratch}/`)
    if (isOfTree || (host !== 0 && group === host)) end(pid)
  }
}

/** Removes what tests of a tree wrote. */
export function emptyScratch({ scratch }: Tree): void {
  for (const name of readdirSync(scratch)) {
    rmSync(join(scratch, name), { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The parent and the group of a process, from its line of state; the name before them may hold anything. */
function parentOf(pid: number): { readonly parent: number; readonly group: number } {
  const state = read(`/proc/${pid}/stat`)
  const [, parent, group] = state.slice(state.lastIndexOf(')') + 2).split(' ')
  return { parent: Number(parent), group: Number(group) }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
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
