/** Promise: the package has what it needs, and runs where it is installed (contract, section 11). */

import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { quoteExample } from '../mappings/quote-rows.ts'
import { openSandbox } from './bookings/desk.ts'
import { cleanEnv, newFolder, output, pathWithThisNode, personalPath, ROOT, run, start } from './command.ts'
import { CLIENT, post } from './gateway.ts'
import { pack } from './pack.ts'

/*
 * Packs a copy of the sources, installs the package into another project, and runs it there.
 * The installation uses this repository's packages, without a registry.
 */

const folder = newFolder('package')
const project = join(folder, 'project')
const installed = join(project, 'node_modules/transload')
const transload = join(project, 'node_modules/.bin/transload')
const PACK_MS = 120_000
let packed: readonly string[] = []

beforeAll(async () => {
  const archive = await pack(folder)
  packed = (await output('tar', ['-tzf', archive])).trim().split('\n')
  mkdirSync(join(project, 'node_modules/.bin'), { recursive: true })
  mkdirSync(installed)
  await output('tar', ['-xzf', archive, '-C', installed, '--strip-components=1'])
  const { bin, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    mkdirSync(join(project, 'node_modules', name, '..'), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
  }
  const main = join(installed, bin.transload)
  chmodSync(main, 0o755)
  symlinkSync(main, transload)
}, PACK_MS)

afterAll(() => rmSync(folder, { recursive: true }))

/** The environment of the project: this Node, and nothing that configures the gateway. */
const env = (more: NodeJS.ProcessEnv = {}) => cleanEnv({ PATH: pathWithThisNode(), ...more })

test('the package contains the program, its types, its documents, and the licenses of what it includes', () => {
  const strays = packed.filter(
    (path) =>
      !/^package\/(bin\/transload\.js|dist\/src\/[\w.-]+\.js|dist\/.+\.d\.ts|dist\/licenses\/[\w-]+\.txt|docs\/.+|package\.json|(README|CHANGELOG)\.md|LICENSE)$/.test(
        path,
      ),
  )
  expect(strays).toEqual([])
  const programs = ['main', 'writer-thread', 'workbench-client'].map((name) => `dist/src/${name}.js`)
  const licenses = ['zod', 'hono', 'hono-node-server', 'undici', 'pino'].map((name) => `dist/licenses/${name}.txt`)
  for (const path of [...programs, ...licenses, 'dist/mappings/toolbox.d.ts', 'LICENSE']) {
    expect(packed).toContain(`package/${path}`)
  }
})

test("an outsider's module passes its case, and is checked by its types", async () => {
  const outside = join(project, 'my-mappings')
  const module = (codec: string) => `import type { MappingModule, Toolbox } from 'transload'
    export default (({ vocabulary, codecs, actions }: Toolbox) => {
      const shipped = actions['quote.get']
      return { ...shipped, request: [...shipped.request, vocabulary.move('More', 'more', codecs.${codec})] }
    }) satisfies MappingModule`
  /** The errors of the compiler, without their texts. */
  const typeErrors = async (text: string) => {
    writeFileSync(join(outside, 'price.ts'), text)
    const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--types', '', '--target', 'es2024']
    const words = [...options, '--module', 'nodenext', 'price.ts']
    const { out } = await run(join(ROOT, 'node_modules/.bin/tsc'), words, { cwd: outside, env: env() })
    return out.match(/\S+ error TS\d+/g) ?? []
  }
  mkdirSync(join(outside, 'cases'), { recursive: true })
  const request = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
  writeFileSync(join(outside, 'cases/price.json'), JSON.stringify({ action: 'quote.get', request }))
  expect(await typeErrors(module('txt'))).toEqual([expect.stringMatching(/TS2551$/)])
  expect(await typeErrors(module('text'))).toEqual([])
  const tested = await run(transload, ['mapping', 'test', 'my-mappings'], { cwd: project, env: env() })
  expect(tested).toMatchObject({ code: 0, out: expect.stringMatching(/^passed .*\n1 passed, 0 failed\n$/) })
})

test('installed in another project, it serves with a store on disk, and stops on a signal', async () => {
  const sandbox = await openSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
  const settings = { V2_BASE_URL: sandbox.url, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' }
  const gateway = start(transload, ['serve'], { cwd: project, env: env(settings) })
  const said = await gateway.says(/"msg":"listening"/)
  const url = /"url":"([^"]+)"/.exec(said)?.[1] ?? expect.fail(said)
  const { ShipmentNumber } = quoteExample
  expect((await post({ url }, '/getShippingQuote.php', quoteExample)).json).toMatchObject({ ShipmentNumber })
  expect(existsSync(join(project, 'data/transload.db'))).toBe(true)
  gateway.signal('SIGTERM')
  expect(await gateway.ended).toEqual({ code: 0, out: expect.stringContaining('"msg":"stopped"'), err: '' })
})

test('an older Node, simulated or real, ends with one line that names the required version', async () => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })`
  const simulated = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`]
  const runtimes: [node: string, words: readonly string[], version: string][] = [
    [process.execPath, simulated, '18.20.8'],
  ]
  for (const node of personalPath()
    .map((place) => join(place, 'node'))
    .filter(existsSync)) {
    const version = (await output(node, ['--version'])).trim().slice(1)
    if (Number.parseInt(version, 10) < 24) runtimes.push([node, [], version])
  }
  for (const [node, words, version] of runtimes) {
    const ended = await run(node, [...words, join(installed, 'bin/transload.js'), 'check'], { env: env() })
    const err = `transload needs Node 24 or later; this is Node ${version}.\n`
    expect(ended).toEqual({ code: 1, out: '', err })
  }
})

test.each(['package-lock.json', 'bench/package-lock.json'])(
  '%s is whole for every platform and names no place to download from',
  (lockFile) => {
    type Locked = Partial<Record<'version' | 'resolved' | 'integrity', string>> & { optionalDependencies?: object }
    const { packages }: { packages: Record<string, Locked> } = JSON.parse(readFileSync(join(ROOT, lockFile), 'utf8'))
    const { '': _root, ...locked } = packages
    const entries = Object.entries(locked)
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
    expect(entries.filter(([, { version, integrity }]) => !version || !integrity?.startsWith('sha512-'))).toEqual([])
    // npm refuses to install from a lock file that has a package but lacks its variant for another machine.
    const wanted = entries.flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
    expect(wanted.filter((name) => !locked[`node_modules/${name}`])).toEqual([])
  },
)
