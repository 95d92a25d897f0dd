/** Promise: a fresh clone comes up with the two commands of the README (contract, section 11). */

import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cleanEnv, newFolder, output, ROOT, run, start } from '../command.ts'

/*
 * The steps of a newcomer: a clone, and the README's two commands. Nothing else is installed or set; the Node is the one
 * that this machine has.
 */

const INSTALL_MS = 600_000
const DEMO = 'npm ci && npm run demo'
const TEST = 'npm ci && npm test'

test("a fresh clone in a clean folder comes up with the README's two commands", {
  timeout: INSTALL_MS,
}, async () => {
  const folder = newFolder('clone')
  // Removing so many files takes long on a busy disk.
  onTestFinished(() => rmSync(folder, { recursive: true }), INSTALL_MS)
  const { clone, status } = await freshClone(folder)
  const before = await status()
  const told = readFileSync(join(clone, 'README.md'), 'utf8').match(/npm ci\b[^`\n]*/g)
  expect(told).toEqual(expect.arrayContaining([DEMO, TEST]))

  // Packages that this machine has are not downloaded again.
  const demo = start('bash', ['-c', DEMO], { cwd: clone, env: cleanEnv({ npm_config_prefer_offline: 'true' }) })
  const said = await demo.says(/Ctrl-C stops it\.\n/)
  expect(said).toMatch(/^added \d+ packages in \S+\n/m)
  expect(said).toMatch(/^ {2}Workbench +http:\/\/127\.0\.0\.1:\d+\/$/m)
  const replies: unknown[] = []
  for (const line of said.split('\n').filter((words) => words.startsWith('curl '))) {
    replies.push(JSON.parse(await output('bash', ['-c', `${line} --fail`], { cwd: clone })))
  }
  expect(replies).toEqual([
    { Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: expect.any(String) },
    expect.objectContaining({ Message: expect.stringContaining('approved'), TransportationBooked: 'Yes' }),
    { Message: expect.stringContaining('booked'), TransportationBooked: 'Yes' },
    expect.objectContaining({ Status: 'new', TransportationBooked: 'Yes' }),
    { Message: expect.stringContaining('updated'), TransportationBooked: 'Yes' },
    { Message: expect.stringContaining('canceled'), TransportationBooked: 'No' },
    expect.objectContaining({ action: 'shipment.create', ok: true }),
  ])

  demo.signal('SIGINT')
  const { code, out, err } = await demo.ended
  // The demo ends with 0; the shell in which npm runs it may still end by the signal.
  expect([0, 'SIGINT']).toContain(code)
  expect(unasked(err)).toBe('')
  expect(out).toMatch(/\nStopped\.\n$/)
  expect(out).not.toMatch(/\bwarn|deprecated|vulnerabilit/i)

  const checked = await run('npx', ['transload', 'check'], {
    cwd: clone,
    env: cleanEnv({ V2_BASE_URL: 'https://service.example.com' }),
  })
  expect(checked).toMatchObject({ code: 0, out: expect.stringMatching(/^The configuration is valid: /) })

  // The whole suite already runs elsewhere; one file shows that tests run from the clone, with the packages that it has.
  const tests = await run('npm', ['test', '--', 'test/calls/assumed.test.ts'], {
    cwd: clone,
    env: cleanEnv({ NO_COLOR: '1' }),
  })
  expect(tests).toMatchObject({ code: 0, out: expect.stringMatching(/Tests +\d+ passed/) })
  expect(unasked(tests.err)).toBe('')
  expect(await status()).toBe(before)
})

/** Returns the warnings, without npm's notice of a newer version. */
const unasked = (err: string) => err.replace(/^npm notice.*\n/gm, '')

/** Clones the commit, and copies uncommitted changes over it. */
async function freshClone(folder: string) {
  // The owner of the checkout may not be the user of the tests.
  const trusting = join(folder, 'gitconfig')
  writeFileSync(trusting, '[safe]\n\tdirectory = *\n')
  const env = cleanEnv({ GIT_CONFIG_GLOBAL: trusting })
  const git = (...words: readonly string[]) => output('git', words, { env })

  const clone = join(folder, 'transload')
  await git('clone', '--quiet', `file://${ROOT}`, clone)
  const changed = await git('-C', ROOT, 'diff', '--name-only', '--no-renames', '-z', 'HEAD')
  const added = await git('-C', ROOT, 'ls-files', '--others', '--exclude-standard', '-z')
  for (const path of `${changed}${added}`.split('\0').filter(Boolean)) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(clone, path))
    else rmSync(join(clone, path), { force: true })
  }
  return { clone, status: () => git('-C', clone, 'status', '--porcelain') }
}
