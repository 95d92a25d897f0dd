/** Promise: every mistake ends in one line and the documented exit code (contract, section 11). */

import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cleanEnv, type Ended, newFolder, ROOT, runAlone as run, start } from '../command.ts'
import { sample } from '../size.ts'

/** Runs the program in a folder with the files of the test. */
function openFolder(files: Readonly<Record<string, string>> = {}) {
  const folder = newFolder('failures')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  mkdirSync(join(folder, 'folder'))
  const transload = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
    run(process.execPath, [join(ROOT, 'src/main.ts'), ...args], {
      cwd: folder,
      env: cleanEnv({ V2_BASE_URL: 'https://service.example.com', STORE_URL: 'store.db', ...env }),
    })
  return { folder, transload }
}

/** A port on which another program listens. */
async function takenPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  return String(typeof address === 'object' && address?.port)
}

describe('serve that cannot listen ends with 1 and one line', () => {
  const HOST = '127.0.0.1'

  test('on a port in use, which it names by its setting', async () => {
    const { transload } = openFolder()
    const port = await takenPort()
    const [open, admin, workers] = await Promise.all([
      transload(['serve'], { HOST, PORT: port, ADMIN_PORT: '0' }),
      transload(['serve'], { HOST, PORT: '0', ADMIN_PORT: port, STORE_URL: 'second.db' }),
      transload(['serve'], { HOST, PORT: port, ADMIN_PORT: '0', WORKERS: '2', STORE_URL: 'third.db' }),
    ])
    const line = (setting: string) =>
      `transload: port ${port} on 127.0.0.1 is in use; stop what listens there or change ${setting}\n`
    expect({ code: open.code, err: open.err }).toEqual({ code: 1, err: line('PORT') })
    expect({ code: admin.code, err: admin.err }).toEqual({ code: 1, err: line('ADMIN_PORT') })
    expect(workers.code).toBe(1)
    // Each worker reports it.
    expect(new Set(workers.err.split('\n'))).toEqual(new Set([line('PORT').trimEnd(), '']))
  })

  test.each([
    [
      'an address of another machine',
      { HOST: '192.0.2.1' },
      'HOST is 192.0.2.1, which is not an address of this machine',
    ],
    [
      'a name without an address',
      // Longer than a label of a name may be (RFC 1035): it is looked for nowhere.
      { HOST: 'x'.repeat(64) },
      'HOST is x{64}, a name without an address \\((ENOTFOUND|EAI_AGAIN)\\)',
    ],
    [
      'another machine’s admin address',
      { HOST, ADMIN_HOST: '192.0.2.1', ADMIN_PORT: '1' },
      'ADMIN_HOST is 192.0.2.1, which',
    ],
  ])('on %s', async (_, env, line) => {
    const { transload } = openFolder()
    const { code, err } = await transload(['serve'], { PORT: '0', ADMIN_PORT: '0', ...env })
    expect(code).toBe(1)
    expect(err).toMatch(new RegExp(`^transload: ${line}[^\\n]*\\n$`))
  })
})

describe('unreadable input ends with its exit code and lines without a stack', () => {
  const FILES = {
    'list.csv': '[{"name":"A","id":"1"}]',
    'rows.csv': ' \n{"name":"A","id":"1"}\n',
    'table.ndjson': 'name,id\nA,1\n',
    'pretty.ndjson': '{\n  "name": "A",\n  "id": "1"\n}\n',
    'list.ndjson': '[{"name":"A","id":"1"}]',
    'garbage.db': 'no database at all, and long enough to have a header that SQLite looks at',
  }
  const READABLE = /^transload: [^\n]+\n$/
  const CONFIG = /^transload: 1 configuration error\n {2}[^\n]+\n$/
  const IMPORT = ['xref', 'import']

  const unreadable: [args: readonly string[], env: NodeJS.ProcessEnv, code: number, lines: RegExp, said: string][] = [
    [[...IMPORT, 'list.csv'], {}, 1, READABLE, 'list.csv holds JSON, not CSV; add --format ndjson'],
    [[...IMPORT, 'rows.csv'], {}, 1, READABLE, 'rows.csv holds JSON, not CSV'],
    [[...IMPORT, 'table.ndjson'], {}, 1, READABLE, 'table.ndjson does not begin with a JSON object'],
    [[...IMPORT, 'pretty.ndjson'], {}, 1, READABLE, 'pretty.ndjson does not begin with a JSON object on one line'],
    [[...IMPORT, 'list.ndjson'], {}, 1, READABLE, 'list.ndjson does not begin with a JSON object'],
    [[...IMPORT, 'folder'], {}, 1, READABLE, 'cannot read folder'],
    [['translate', 'quote.get', 'folder'], {}, 1, READABLE, 'cannot read folder'],
    [['bookings', 'list'], { STORE_URL: 'folder' }, 78, CONFIG, 'STORE_URL names a folder'],
    [['bookings', 'list'], { STORE_URL: 'garbage.db' }, 78, CONFIG, 'STORE_URL names a store that cannot be used'],
    [['serve'], { STORE_URL: 'folder', PORT: '0' }, 78, CONFIG, 'STORE_URL names a folder'],
    [['serve'], { STORE_URL: 'garbage.db', PORT: '0' }, 78, CONFIG, 'STORE_URL names a store that cannot be used'],
    [['check'], { TENANTS_FILE: 'folder' }, 78, CONFIG, 'the tenants file folder cannot be read (EISDIR)'],
    [['check'], { LOOKUPS_FILE: 'folder' }, 78, CONFIG, 'LOOKUPS_FILE names folder, which cannot be read (EISDIR)'],
    [
      ['check'],
      { MAPPINGS_DIR: 'list.csv' },
      78,
      CONFIG,
      'MAPPINGS_DIR names list.csv, which cannot be read as a folder',
    ],
    [['tenants', 'list', 'nowhere'], {}, 78, CONFIG, 'the tenants file nowhere cannot be read (ENOENT)'],
  ]
  test.each(sample(unreadable, 3))('%j %j', async (args, env, code, lines, said) => {
    const { transload } = openFolder(FILES)
    const ended = await transload(args, { V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: 'x', ...tenantless(env), ...env })
    expect(ended.code).toBe(code)
    expect(ended.err).toMatch(lines)
    expect(ended.err).toContain(said)
  })

  /** Fixed mode and a tenants file exclude each other. */
  const tenantless = (env: NodeJS.ProcessEnv) =>
    env['TENANTS_FILE'] === undefined ? {} : { V2_CLIENT_ID: '', V2_CLIENT_SECRET: '' }
})

describe('where there is no room, no folder and no permission, a command ends with one line', () => {
  test('standard output on a full disk', async () => {
    const { folder } = openFolder()
    const line = `"${process.execPath}" "${join(ROOT, 'src/main.ts')}" --help > /dev/full`
    const ended = await run('bash', ['-c', line], { cwd: folder })
    const err = 'transload: cannot write standard output: ENOSPC: no space left on device, write\n'
    expect(ended).toEqual({ code: 1, out: '', err })
  })

  test('a current folder that is gone', async () => {
    const { folder } = openFolder()
    const line = `cd folder && rmdir ../folder && "${process.execPath}" "${join(ROOT, 'src/main.ts')}" xref import x.csv`
    const ended = await run('bash', ['-c', line], { cwd: folder, env: cleanEnv({ STORE_URL: 'data/store.db' }) })
    const err = 'transload: the current folder does not exist any more; change to another one\n'
    expect(ended).toEqual({ code: 1, out: '', err })
  })

  test('an emergency log in a place that cannot be written is a warning, at a check and at a start', async () => {
    const { transload, folder } = openFolder({ file: '' })
    const env = { EMERGENCY_LOG_FILE: 'file/emergency.ndjson', STORE_URL: 'memory:', HOST: '127.0.0.1', PORT: '0' }
    const warning = /^warning: EMERGENCY_LOG_FILE cannot be written: [^\n]+\n$/
    expect(await transload(['check'], env)).toMatchObject({ code: 0, err: expect.stringMatching(warning) })
    const place = { cwd: folder, env: cleanEnv({ V2_BASE_URL: 'http://127.0.0.1', ADMIN_PORT: '0', ...env }) }
    const gateway = start(process.execPath, [join(ROOT, 'src/main.ts'), 'serve'], place)
    expect(await gateway.says(/"msg":"listening"/)).toContain('"msg":"EMERGENCY_LOG_FILE cannot be written"')
    const elsewhere = await transload(['check'], { EMERGENCY_LOG_FILE: 'new/folder/emergency.ndjson' })
    expect(elsewhere).toMatchObject({ code: 0, err: '' })
  })

  test('a mapping module that waits for ever', async () => {
    const { transload } = openFolder({ 'own.mjs': 'export default await new Promise(() => {})' })
    const err = 'transload: the command waits for something that never comes; see the modules of MAPPINGS_DIR\n'
    expect(await transload(['check'], { MAPPINGS_DIR: '.' })).toEqual({ code: 1, out: '', err })
    expect(await transload(['serve'], { MAPPINGS_DIR: '.' })).toEqual({ code: 1, out: '', err })
  })
})

test('a fault of the program itself is one line, and NODE_DEBUG shows where it is', async () => {
  const fault = 'JSON.parse = () => { throw new Error("broken\\u001b[31m\\nhere") }'
  const { transload } = openFolder({ 'fault.mjs': fault })
  const env = { NODE_OPTIONS: '--import ./fault.mjs' }
  const line = 'transload: internal error: broken\\u001b[31m\\u000ahere (NODE_DEBUG=transload shows more)\n'
  expect(await transload(['--version'], env)).toEqual({ code: 1, out: '', err: line })
  const debugged = await transload(['--version'], { ...env, NODE_DEBUG: 'transload' })
  expect(debugged.err).toMatch(/ at .*cli\.ts/)
})
