import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { slipsIn } from '../../src/commands/slips.ts'
import { cleanEnv, newFolder, output, ROOT, run } from '../command.ts'

const PROGRAM = join(ROOT, 'bin/transload.js')
const transload = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [PROGRAM, ...args], { env: cleanEnv(env) })

async function helpOf(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await transload(words)
  expect({ words, code, err }).toEqual({ words, code: 0, err: '' })
  return out
}

describe('the help', () => {
  const pages = new Map<string, string>()

  beforeAll(async () => {
    pages.set('', await helpOf('--help'))
    const names = [...(pages.get('') ?? '').matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name = '']) => name)
    const texts = await Promise.all(names.map((name) => helpOf('help', name)))
    for (const [i, name] of names.entries()) pages.set(name, texts[i] ?? '')
  })

  test('is what it was', async () => {
    expect(pages.size).toBeGreaterThan(9)
    const text = [...pages]
      .map(([name, page]) => `$ transload ${name && 'help '}${name || '--help'}\n${page}`)
      .join('\n')
    await expect(text).toMatchFileSnapshot('help.txt')
  })

  test('of every command has examples, and explains every option', () => {
    for (const [name, page] of pages) {
      if (name === '') continue
      const [, options = '', examples = ''] = /\nOptions:\n([\s\S]*?)\n\nExamples:\n([\s\S]*)$/.exec(page) ?? []
      for (const line of options.split('\n')) expect(line).toMatch(/^ {2}--[a-z-]+( [A-Z]+)? {2,}[A-Z].+\.$/)
      const known = [...options.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option)
      const used = [...examples.matchAll(/ (--[a-z-]+)/g)].map(([, option]) => option)
      expect(used.filter((option) => !known.includes(option))).toEqual([])
      expect(examples).toContain(`transload ${name}`)
    }
  })

  test.each([
    [['xref', '--help'], 'xref'],
    [['xref', 'import', 'a.csv', '-h'], 'xref'],
    [['xref', 'help'], 'xref'],
    [['serve', '--help'], 'serve'],
    [['check', '--json', '--help'], 'check'],
    [['-h'], ''],
  ])('is printed for %j', async (words, name) => {
    expect(await helpOf(...words)).toBe(pages.get(name))
  })

  test('of the singular is that of the plural', async () => {
    expect(await helpOf('booking', '--help')).toBe(pages.get('bookings'))
    expect(await helpOf('help', 'tenant')).toBe(pages.get('tenants'))
  })

  test('of no command is an error', async () => {
    const { code, out, err } = await transload(['help', 'bokings'])
    expect({ code, out }).toEqual({ code: 64, out: '' })
    expect(err).toMatch(/^transload: unknown command bokings; did you mean bookings\?\n/)
  })
})

describe('completion', () => {
  /** Returns the words that bash offers for the last one. */
  async function offered(words: readonly string[]): Promise<readonly string[]> {
    const script = `source <("$NODE" "$PROGRAM" completion bash)
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _transload; printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = cleanEnv({ NODE: process.execPath, PROGRAM })
    return (await output('bash', ['-c', script, 'bash', ...words], { env })).split('\n').filter(Boolean)
  }

  test('in bash knows commands, verbs and options', async () => {
    expect(await offered(['transload', 'b'])).toEqual(['bookings'])
    expect(await offered(['transload', 'help', 'x'])).toEqual(['xref'])
    expect(await offered(['transload', 'bookings', 's'])).toEqual(['show', 'settle'])
    expect(await offered(['transload', 'bookings', 'settle', 'bk_0', '--n'])).toEqual(['--number', '--not-booked'])
    expect(await offered(['transload', 'check', '--'])).toEqual(['--json', '--help', '--version'])
  })

  test('in zsh is that of bash', async () => {
    const [bash, zsh] = await Promise.all([helpOf('completion', 'bash'), helpOf('completion', 'zsh')])
    expect(zsh).toBe(`autoload -Uz compinit bashcompinit\ncompinit -i\nbashcompinit\n${bash}`)
  })
})

describe('check', () => {
  const SECRETS = {
    V2_CLIENT_SECRET: 'hush-1',
    STORE_URL: 'postgres://user:hush-2@db.example.com/x?sslpassword=hush-3&application_name=y',
  }
  const ENV = { V2_BASE_URL: 'https://service.example.com', V2_CLIENT_ID: 'acme', PORT: '8081', ...SECRETS }

  test('prints every variable with its value and where it is from, and no secret', async () => {
    const { code, out, err } = await transload(['check'], { ...ENV, V2_TIMEOUT: '5', STORE_ULR: 'x' })
    expect(code).toBe(0)
    expect(out).toMatch(/^PORT +environment +8081$/m)
    expect(out).toMatch(/^HOST +default +0\.0\.0\.0$/m)
    expect(out).toMatch(/^SUNSET +not set$/m)
    expect(out).toMatch(/^V2_CLIENT_SECRET +environment +\(hidden\)$/m)
    expect(out).toMatch(
      /^STORE_URL +environment +postgres:\/\/user:\(hidden\)@db\.example\.com\/x\?sslpassword=\(hidden\)&/m,
    )
    expect(out).not.toContain('hush')
    expect(err.split('\n').sort()).toEqual([
      '',
      'warning: STORE_ULR is not a variable of the gateway; did you mean STORE_URL?',
      'warning: V2_TIMEOUT is not a variable of the gateway; did you mean UPSTREAM_TIMEOUT_MS?',
    ])
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
      warnings: [expect.stringContaining('V2_TIMEOUT')],
    })
    expect(variables).toContainEqual({ name: 'PORT', value: '8081', from: 'environment' })
    expect(variables).toContainEqual({ name: 'V2_CLIENT_SECRET', value: '(hidden)', from: 'environment' })
    expect(variables).toContainEqual({ name: 'SUNSET', from: 'nowhere' })
    expect(out).not.toContain('hush')
  })

  test('takes no variable of another program for a slip, and none that the tenants file names', () => {
    const others = ['SSL_CERT_FILE', 'PATH', 'HOSTS', 'HOSTNAME', 'npm_config_cache', 'LOG_FILE', 'V2_ACME_SECRET']
    const env = Object.fromEntries(others.map((name) => [name, 'x']))
    expect(slipsIn(env, new Set(['V2_ACME_SECRET']))).toEqual([])
    expect(slipsIn(env, new Set())).toEqual(['V2_ACME_SECRET is not a variable of the gateway'])
    expect(slipsIn({ v2_base_url: 'x' }, new Set())).toEqual([expect.stringContaining('did you mean V2_BASE_URL?')])
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
