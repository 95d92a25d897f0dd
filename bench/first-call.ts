import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/*
 * npm run bench:first-call: the way of a newcomer, timed. Clones the last commit, runs the README's first command with an empty cache of
 * npm, and sends the first call that the demo prints.
 */

const ROOT = join(import.meta.dirname, '..')
const MS_PER_SECOND = 1000

const folder = mkdtempSync(join(tmpdir(), 'transload-first-call-'))
const clone = join(folder, 'transload')
// npm sets variables for its scripts that would reach the npm of the clone; the demo takes free ports if its own are in use.
const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE$|INIT_CWD$)/.test(name))
const env = { ...Object.fromEntries(kept), npm_config_cache: join(folder, 'cache') }

const startedAt = performance.now()
const times: [step: string, atMs: number][] = []
const note = (step: string) => times.push([step, performance.now() - startedAt])

function runCommand(program: string, args: readonly string[], cwd?: string): void {
  const { status, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`)
}

/** Starts the demo, and resolves with the first call that it prints, once it can be sent. */
function startDemo() {
  const demo = spawn('npm', ['run', 'demo'], { cwd: clone, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const firstCall = new Promise<string>((resolve, reject) => {
    let said = ''
    demo.stdout.setEncoding('utf8').on('data', (chunk) => {
      said += chunk
      if (said.includes('Ctrl-C stops it.')) resolve(/^curl .*$/m.exec(said)?.[0] ?? '')
    })
    demo.once('exit', (code) => reject(new Error(`the demo ended with ${code}`)))
  })
  return { demo, firstCall }
}

try {
  runCommand('git', ['clone', '--quiet', `file://${ROOT}`, clone])
  note('git clone')
  runCommand('npm', ['ci'], clone)
  note('npm ci')
  const { demo, firstCall } = startDemo()
  const line = await firstCall
  note('npm run demo')
  runCommand('bash', ['-c', `${line} --fail`])
  note('first call')
  // The whole group: npm, its shell and the demo.
  if (demo.pid !== undefined) process.kill(-demo.pid, 'SIGINT')
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

let before = 0
for (const [step, atMs] of times) {
  process.stdout.write(`${step.padEnd(14)} ${((atMs - before) / MS_PER_SECOND).toFixed(1).padStart(6)} s\n`)
  before = atMs
}
process.stdout.write(`${'in all'.padEnd(14)} ${(before / MS_PER_SECOND).toFixed(1).padStart(6)} s\n`)
