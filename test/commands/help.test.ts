/** Promise: help explains every command and option, and `check` every variable (contract, section 11). */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { commandWords, helpLines, printed } from './every-command.ts'

const PROGRAM = join(ROOT, 'bin/transload.js')
const transload = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [PROGRAM, ...args], { env: cleanEnv(env) })

/** A page of help, as the file with all of them has it. */
const pageOf = (words: string) =>
  readFileSync(join(import.meta.dirname, 'help.txt'), 'utf8')
    .split(/^\$ transload /m)
    .find((page) => page.startsWith(`${words}\n`))
    ?.slice(words.length + 1)
    .replace(/\(exit code 0\)\n\n$/, '') ?? ''

describe('the help', () => {
  test('is what it was', async () => {
    await expect(await printed(helpLines().slice(0, -1))).toMatchFileSnapshot('help.txt')
  })

  test.each(commandWords.map((words) => words.join(' ')))(
    'of %s has an example, and explains every option',
    async (name) => {
      const [, options = '', examples = ''] =
        /\nOptions:\n([\s\S]*?)\n\n[\s\S]*Examples:\n([\s\S]*)$/.exec(pageOf(`${name} --help`)) ?? []
      const rows = options.replace(/\n {8,}/g, ' ').split('\n')
      for (const row of rows) expect(row).toMatch(/^ {2}(-h, )?--[a-z\d-]+( <[A-Z]+>)? {2,}[A-Z].+[.)]$/)
      const known = [...options.matchAll(/^ {2}(--[a-z\d-]+)/gm)].map(([, option]) => option)
      const used = [...examples.matchAll(/ (--[a-z\d-]+)/g)].map(([, option]) => option)
      expect(used.filter((option) => !known.includes(option))).toEqual([])
      expect(examples).toContain(`transload ${name}`)
    },
  )

  test.each([
    [['help', 'xref'], 'help xref'],
    [['xref', '-h'], 'help xref'],
    [['xref', 'help'], 'help xref'],
    [['booking', '--help'], 'help bookings'],
    [['xref', 'import', 'a.csv', '-h'], 'xref import --help'],
    [['xref', 'help', 'import'], 'xref import --help'],
    [['help', 'xref', 'import'], 'xref import --help'],
    [['serve', '--help'], 'serve --help'],
    [['check', '--json', '--help'], 'check --help'],
    [['-h'], '--help'],
    [['help'], '--help'],
  ])('is printed for %j', async (words, page) => {
    const { code, out, err } = await transload(words)
    expect({ code, out, err }).toEqual({ code: 0, out: pageOf(page), err: '' })
  })

  test('of no command is an error', async () => {
    const { code, out, err } = await transload(['help', 'bokings'])
    expect({ code, out }).toEqual({ code: 64, out: '' })
    expect(err).toBe('transload: unknown command bokings; did you mean bookings?\n')
  })
})

describe('check', () => {
  const SECRETS = {
    V2_CLIENT_SECRET: 'hush-1',
    STORE_URL: 'postgres://user:hush-2@127.0.0.1:1/x?sslpassword=hush-3&application_name=y',
  }
  const ENV = { V2_BASE_URL: 'https://service.example.com', V2_CLIENT_ID: 'acme', PORT: '8081', ...SECRETS }

  test('prints every variable with its value and where it is from, and no secret', async () => {
    const { code, out, err } = await transload(['check', '--all'], { ...ENV, V2_TIMEOUT: '5', STORE_ULR: 'x' })
    expect(code).toBe(0)
    expect(out).toMatch(/^PORT +environment +8081$/m)
    expect(out).toMatch(/^HOST +default +0\.0\.0\.0$/m)
    expect(out).toMatch(/^SUNSET +not set$/m)
    expect(out).toMatch(/^V2_CLIENT_SECRET +environment +\(hidden\)$/m)
    expect(out).toMatch(
      /^STORE_URL +environment +postgres:\/\/user:\(hidden\)@127\.0\.0\.1:1\/x\?sslpassword=\(hidden\)&/m,
    )
    expect(out).not.toContain('hush')
    expect(err.split('\n').sort()).toEqual([
      '',
      'warning: STORE_ULR is not a variable of the gateway; did you mean STORE_URL?',
      'warning: V2_TIMEOUT is not a variable of the gateway; did you mean UPSTREAM_TIMEOUT_MS?',
      expect.stringMatching(/^warning: the store cannot be used: .*127\.0\.0\.1:1/),
    ])
  })

  test('says the mode, the addresses, the store and what is set, and names a slip beside errors', async () => {
    const { out } = await transload(['check'], { ...ENV, STORE_URL: 'none.db', BOOKING_DAYS: '90d' })
    for (const line of [
      /^mode +fixed$/m,
      /^callers +0\.0\.0\.0:8081$/m,
      /^store +.*none\.db, which the first start makes$/m,
    ])
      expect(out).toMatch(line)
    expect(out).not.toContain('LOG_LEVEL')
    const wrong = await transload(['check'], { ...ENV, PORT: 'x', WORKER: '2' })
    expect(wrong).toMatchObject({
      code: 78,
      err: expect.stringContaining('WORKER is not a variable of the gateway; did you mean WORKERS?'),
    })
  })

  test('tries the service, with its credential or without one', async () => {
    const sandbox = await startSandbox({ credentials: { demo: 'demo-secret' } })
    onTestFinished(() => sandbox.close())
    const env = { V2_BASE_URL: sandbox.url, STORE_URL: 'none.db' }
    const own = (secret: string) => ({ ...env, V2_CLIENT_ID: 'demo', V2_CLIENT_SECRET: secret })
    const check = (given: NodeJS.ProcessEnv) => transload(['check', '--connect'], given)
    expect(await check(own('demo-secret'))).toMatchObject({ code: 0, out: expect.stringMatching(/as demo +accepted/) })
    expect(await check(own('wrong'))).toMatchObject({ code: 1, out: expect.stringMatching(/as demo +refused \(401\)/) })
    expect(await check(env)).toMatchObject({ code: 0, out: expect.stringMatching(/connection +the service answers/) })
    const gone = { ...env, V2_BASE_URL: 'http://127.0.0.1:1' }
    expect(await check(gone)).toMatchObject({ code: 1, out: expect.stringMatching(/connection +no reply/) })
  })

  test('prints the same as JSON', async () => {
    const { code, out, err } = await transload(['check', '--json'], { ...ENV, V2_TIMEOUT: '5' })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const { variables, ...rest } = JSON.parse(out)
    expect(rest).toEqual({
      actions: 7,
      paths: 7,
      tenants: 0,
      brownouts: [],
      mode: 'fixed',
      store: expect.stringContaining('cannot be used'),
      warnings: [expect.stringContaining('V2_TIMEOUT'), expect.stringContaining('the store cannot be used')],
    })
    expect(variables).toContainEqual({ name: 'PORT', value: '8081', from: 'environment' })
    expect(variables).toContainEqual({ name: 'V2_CLIENT_SECRET', value: '(hidden)', from: 'environment' })
    expect(variables).toContainEqual({ name: 'SUNSET', from: 'nowhere' })
    expect(out).not.toContain('hush')
  })
})

test('an export overwrites no file unless it is told to', async () => {
  const folder = newFolder('help')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'data'))
  const file = join(folder, 'numbers.csv')
  writeFileSync(file, 'ReferenceNumber,shipment_id\nREF-1,6f1e4c1e-7a55-4b0c-9a3f-000000000001\n')
  const env = { STORE_URL: join(folder, 'store.db') }
  const imported = await transload(['xref', 'import', file, '--tenant', 'acme', '--json'], env)
  expect(JSON.parse(imported.out)).toEqual({ rows: 1, written: 1, same: 0, conflicts: 0, badRows: 0 })
  const before = readFileSync(file, 'utf8')
  const refused = await transload(['xref', 'export', file], env)
  expect(refused).toEqual({
    code: 1,
    out: '',
    err: `transload: ${file} exists; --force overwrites it, --resume goes on after its last row\n`,
  })
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(await transload(['xref', 'export', file, '--force'], env)).toMatchObject({ code: 0 })
  expect(readFileSync(file, 'utf8')).toMatch(/^tenant,kind,name,/)
})
