import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cleanEnv, type Running, start } from '../command.ts'

const startWorkers = (STORY = '') =>
  start(process.execPath, [join(import.meta.dirname, 'workers-child.ts')], { env: cleanEnv({ STORY }) })

const listening = (times: number) => new RegExp(`(worker listens[\\s\\S]*?){${times}}`)

/** Returns the ids of the workers that have listened, and what made them start. */
async function listeners({ says }: Running, times: number) {
  const out = await says(listening(times))
  return [...out.matchAll(/worker listens (\d+) (\w+)/g)].map(([, pid, started]) => ({ pid: Number(pid), started }))
}

/** Returns the lines of the log, without those of each process alone. */
const logged = (out: string) =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      const { time: _, name, pid, ...rest } = JSON.parse(line)
      return { ...rest, isOfProgram: name === 'transload' }
    })

test('a signal to stop is passed on to every worker once, and ends the program with 0', async () => {
  const program = startWorkers()
  await listeners(program, 2)
  // Service managers and Ctrl-C signal the workers, too.
  program.signal('SIGTERM')
  const { code, out, err } = await program.ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out.match(/worker stops: stop/g)).toHaveLength(2)
  expect(logged(out)).toEqual([{ level: 'info', signal: 'SIGTERM', workers: 2, msg: 'draining', isOfProgram: true }])
})

test('a signal to read the tenants file again reaches every worker', async () => {
  const program = startWorkers()
  await listeners(program, 2)
  process.kill(program.pid, 'SIGHUP')
  expect(await program.says(/(worker reloads[\s\S]*?){2}/)).not.toContain('worker stops')
})

test('a second signal kills the workers that are slow to end', async () => {
  const program = startWorkers('slow')
  await listeners(program, 2)
  process.kill(program.pid, 'SIGINT')
  await program.says(/(worker stops[\s\S]*?){2}/)
  process.kill(program.pid, 'SIGTERM')
  expect((await program.ended).code).toBe(1)
})

test.each([
  ['refused', 78],
  ['failed', 1],
])('where the start is %s, the program ends with the same code', async (story, code) => {
  const { ended } = startWorkers(story)
  expect(await ended).toMatchObject({ code, err: '' })
})

test('a worker that fails soon after it listened is replaced after a pause, and told that it replaces one', async () => {
  const program = startWorkers()
  const [first] = await listeners(program, 2)
  const toldAt = performance.now()
  process.kill(first?.pid ?? 0, 'SIGUSR2')
  const all = await listeners(program, 3)
  expect(performance.now() - toldAt).toBeGreaterThan(990)
  expect(all.map(({ started }) => started)).toEqual(['first', 'first', '1'])
  expect(logged(await program.says(/replaced/))).toEqual([
    { level: 'error', code: 1, signal: null, msg: 'a worker ended and is replaced', isOfProgram: true },
  ])
  // Nothing but the workers that run now is stopped.
  process.kill(program.pid, 'SIGTERM')
  const { code, out } = await program.ended
  expect(code).toBe(0)
  expect(out.match(/worker stops/g)).toHaveLength(2)
})

test('a message to a worker that has just died is lost, and nothing else', async () => {
  const program = startWorkers()
  await listeners(program, 2)
  process.kill(program.pid, 'SIGUSR1')
  expect(await listeners(program, 3)).toHaveLength(3)
  process.kill(program.pid, 'SIGTERM')
  const { code, err } = await program.ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
})
