/** Promise: every mistake ends in one line and the documented exit code (contract, section 11). */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder } from '../callers/tenants-gateway.ts'
import { type CommandEnd, cleanEnv, PROGRAM, runAlone, start } from '../command.ts'
import { freePort } from '../free-port.ts'
import { takenPort } from './taken-port.ts'

const HOST = '127.0.0.1'
const envOf = (more: NodeJS.ProcessEnv) =>
  cleanEnv({ V2_BASE_URL: 'https://service.example.com', PORT: '0', ADMIN_PORT: '0', ...more })

/** Runs the program, in a process of its own. */
const transload = (place: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandEnd> =>
  runAlone(process.execPath, [PROGRAM, ...words], { cwd: place, env: envOf(env) })
const serve = (env: NodeJS.ProcessEnv) => transload(folder(), ['serve'], env)

test('serve that finds a port in use names its setting', async () => {
  const port = String(await takenPort())
  const line = (setting: string) =>
    `transload: port ${port} on 127.0.0.1 is in use; stop the other program or change ${setting}\n`
  expect(await serve({ HOST, PORT: port })).toMatchObject({ code: 1, err: line('PORT') })
  expect(await serve({ HOST, ADMIN_PORT: port })).toMatchObject({ code: 1, err: line('ADMIN_PORT') })
})

test.each([
  [{ HOST: '192.0.2.1' }, /^transload: HOST is 192.0.2.1, which is not an address of this machine\n$/],
  // Longer than a label of a name may be (RFC 1035), so that no server is asked.
  [{ HOST: 'x'.repeat(64) }, /^transload: HOST is x{64}, a name without an address \((ENOTFOUND|EAI_AGAIN)\)\n$/],
  [{ HOST, ADMIN_HOST: '192.0.2.1', ADMIN_PORT: '1' }, /^transload: ADMIN_HOST is 192.0.2.1, which [^\n]*\n$/],
])('serve that cannot listen says why: %j', async (env, line) => {
  expect(await serve(env)).toMatchObject({ code: 1, err: expect.stringMatching(line) })
})

test('serve reports a path where nothing can be created, which only the attempt shows', async () => {
  expect(await serve({ STORE_URL: '/proc/new/store.db' })).toMatchObject({ code: 78 })
})

test('an access that Node refuses names its flag', async () => {
  const NODE_OPTIONS = '--permission --allow-fs-read=* --allow-fs-write=*'
  const { err } = await serve({ NODE_OPTIONS })
  expect(err).toMatch(/^transload: Access [^\n]+--allow-worker[^\n]+\n$/)
})

test.each([
  [
    'standard output on a full disk',
    '--help > /dev/full',
    'cannot write standard output: ENOSPC: no space left on device, write',
  ],
  ['a current folder that is gone', 'xref import x.csv', 'the current folder no longer exists; change to another one'],
])('%s ends with one line', async (_, words, line) => {
  const place = folder()
  mkdirSync(join(place, 'gone'))
  const script = `cd gone && rmdir ../gone && "${process.execPath}" "${PROGRAM}" ${words}`
  const ended = await runAlone('bash', ['-c', script], { cwd: place, env: envOf({ STORE_URL: 'data/store.db' }) })
  expect(ended).toEqual({ code: 1, out: '', err: `transload: ${line}\n` })
})

test.each([
  ['ulimit -f 8; ', 'store backup backup.db', /^transload: (database or disk is full|disk I\/O error)\n$/],
  ['mkfifo pipe; ', 'store backup pipe --force', /^transload: pipe is not a regular file\n$/],
  ['', 'xref export /dev/full', /^transload: cannot write \/dev\/full: no space left on device\n$/],
])('an output that has no place ends with one line: %s%s', async (before, words, line) => {
  const place = folder()
  writeFileSync(join(place, 'numbers.csv'), 'name,id\n')
  const env = { STORE_URL: 'store.db' }
  expect(await transload(place, ['xref', 'import', 'numbers.csv'], env)).toMatchObject({ code: 0 })
  const script = `${before}"${process.execPath}" "${PROGRAM}" ${words}`
  const ended = await runAlone('bash', ['-c', script], { cwd: place, env: envOf(env) })
  expect(ended).toEqual({ code: 1, out: '', err: expect.stringMatching(line) })
})

test('a stamp that cannot be read is told as that, not as a store that was copied', async () => {
  const place = folder()
  writeFileSync(join(place, 'numbers.csv'), 'name,id\n')
  const env = { HOST, STORE_URL: 'store.db', EMERGENCY_LOG_FILE: 'off' }
  expect(await transload(place, ['xref', 'import', 'numbers.csv'], env)).toMatchObject({ code: 0 })
  rmSync(join(place, 'store.db-stamp'))
  // Root reads every file, but no link to itself.
  symlinkSync('store.db-stamp', join(place, 'store.db-stamp'))
  const err = expect.stringMatching(/^transload: cannot stat [^\n]+\/store.db-stamp: too many symbolic links[^\n]+\n$/)
  for (const words of [['serve'], ['serve', '--new-store'], ['store', 'verify'], ['store', 'trust']])
    expect(await transload(place, words, env), words.join(' ')).toMatchObject({ code: 1, err })
  const warning = expect.stringContaining('"transload serve" refuses this store: ELOOP: too many symbolic links')
  expect(await transload(place, ['check'], env)).toMatchObject({ err: warning })
})

test.each(['> /dev/full &', '> >(read -r line) &'])(
  'a gateway whose log cannot be written answers, and ends on a signal: %s',
  async (log) => {
    const PORT = String(await freePort())
    const up = `until "${process.execPath}" "${PROGRAM}" healthcheck 2>&-; do :; done; kill $!; wait $!`
    const script = `"${process.execPath}" "${PROGRAM}" ${log} ${up}`
    expect(await runAlone('bash', ['-c', script], { env: envOf({ HOST, PORT, STORE_URL: 'memory:' }) })).toMatchObject({
      code: 0,
    })
  },
)

test('an unwritable memory ends a check and a start, unless a gateway can do without', async () => {
  const place = folder()
  writeFileSync(join(place, 'file'), '')
  execFileSync('mkfifo', ['pipe'], { cwd: place })
  const env = { EMERGENCY_LOG_FILE: 'file/emergency.ndjson', STORE_URL: 'store.db', HOST }
  for (const command of ['check', 'serve']) {
    const err = expect.stringMatching(/EMERGENCY_LOG_FILE cannot be written: file is not a folder.* off /)
    expect(await transload(place, [command], env)).toMatchObject({ code: 78, err })
    const ofPipe = expect.stringMatching(/EMERGENCY_LOG_FILE cannot be written: pipe is not a regular file/)
    expect(await transload(place, [command], { ...env, EMERGENCY_LOG_FILE: 'pipe' })).toMatchObject({
      code: 78,
      err: ofPipe,
    })
  }
  const elsewhere = { ...env, EMERGENCY_LOG_FILE: 'new/folder/emergency.ndjson' }
  expect(await transload(place, ['check'], elsewhere)).toMatchObject({ code: 0, err: '' })
  expect(existsSync(join(place, 'new'))).toBe(false)
  for (const EMERGENCY_LOG_FILE of [elsewhere.EMERGENCY_LOG_FILE, 'off']) {
    const gateway = start(process.execPath, [PROGRAM, 'serve'], {
      cwd: place,
      env: envOf({ ...env, EMERGENCY_LOG_FILE }),
    })
    await gateway.says(/"msg":"listening"/)
    gateway.signal('SIGTERM')
    expect(await gateway.ended).toMatchObject({ code: 0 })
  }
  expect(readdirSync(join(place, 'new/folder'))).toEqual(['emergency.ndjson.store'])
  expect(readdirSync(place)).not.toContain('off.store')
  // What only reads the emergency log does not wait for a pipe.
  const script = `timeout 20 "${process.execPath}" "${PROGRAM}" store verify`
  const verified = { cwd: place, env: envOf({ ...env, EMERGENCY_LOG_FILE: 'pipe' }) }
  expect(await runAlone('bash', ['-c', script], verified)).toMatchObject({ code: 0 })
})

test.each(['check', 'serve'])('a mapping module that waits forever ends %s', async (command) => {
  const place = folder()
  writeFileSync(join(place, 'own.mjs'), 'export default await new Promise(() => {})')
  const err = 'transload: the command is waiting for something that cannot happen; check the modules in MAPPINGS_DIR\n'
  expect(await transload(place, [command], { MAPPINGS_DIR: '.' })).toEqual({ code: 1, out: '', err })
})

test('a signal during the start does what it does later', async () => {
  const place = folder()
  const signals = `for (const signal of ['SIGHUP', 'SIGTERM']) {
    process.kill(process.pid, signal)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }`
  writeFileSync(join(place, 'own.mjs'), signals)
  expect(await transload(place, ['serve'], { MAPPINGS_DIR: '.' })).toEqual({ code: 0, out: '', err: '' })
})

test('a signal ends a gateway that failed to start, whatever a module keeps going', async () => {
  const place = folder()
  const signaling = "setInterval(() => process.exitCode && process.kill(process.pid, 'SIGTERM'), 200)"
  writeFileSync(join(place, 'own.mjs'), `${signaling}\nexport default []`)
  const PORT = String(await takenPort())
  expect(await transload(place, ['serve'], { HOST, PORT, MAPPINGS_DIR: '.' })).toMatchObject({ code: 1 })
  expect(await transload(place, ['serve'], { HOST, PORT: 'x', MAPPINGS_DIR: '.' })).toMatchObject({ code: 78 })
})

test.each([0, 2, 6])('a start that fails is reported, whenever a signal comes: %i ms', async (ms) => {
  const place = folder()
  const signaling = `import { Server } from 'node:net'
    const { emit } = Server.prototype
    Server.prototype.emit = function (name, ...args) {
      if (name === 'error') setTimeout(() => process.kill(process.pid, 'SIGTERM'), ${ms})
      return emit.call(this, name, ...args)
    }
    setInterval(() => {}, 1000)
    export default []`
  writeFileSync(join(place, 'own.mjs'), signaling)
  const PORT = String(await takenPort())
  const err = expect.stringContaining('is in use')
  expect(await transload(place, ['serve'], { HOST, PORT, MAPPINGS_DIR: '.' })).toMatchObject({ code: 1, err })
})

test('a signal ends a gateway that failed to start although its store does not close', async () => {
  const place = folder()
  const signaling = `import { Server } from 'node:net'
    import { Worker } from 'node:worker_threads'
    const { emit } = Server.prototype
    const { postMessage } = Worker.prototype
    Server.prototype.emit = function (name, ...args) {
      if (name === 'error') setTimeout(() => process.kill(process.pid, 'SIGTERM'), 200)
      return emit.call(this, name, ...args)
    }
    Worker.prototype.postMessage = function (message, ...args) {
      if (!String(message).includes('"close":true')) postMessage.call(this, message, ...args)
    }
    export default []`
  writeFileSync(join(place, 'own.mjs'), signaling)
  const PORT = String(await takenPort())
  const err = expect.stringContaining('is in use')
  expect(await transload(place, ['serve'], { HOST, PORT, MAPPINGS_DIR: '.' })).toMatchObject({ code: 1, err })
})

test('a fault of the program itself is one line, and NODE_DEBUG shows where it is', async () => {
  const place = folder()
  writeFileSync(join(place, 'fault.mjs'), 'JSON.parse = () => { throw new Error("broken\\u001b[31m\\nhere") }')
  const env = { NODE_OPTIONS: '--import ./fault.mjs' }
  const err = 'transload: internal error: broken\\u001b[31m\\u000ahere (NODE_DEBUG=transload shows more)\n'
  expect(await transload(place, ['--version'], env)).toEqual({ code: 1, out: '', err })
  const debugged = await transload(place, ['--version'], { ...env, NODE_DEBUG: 'transload' })
  expect(debugged.err).toMatch(/\n {4}at /)
})
