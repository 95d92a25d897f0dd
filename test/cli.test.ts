/** Promise: a mistake on the command line is one line and exit code 64 (contract, section 11). */

import { expect, test } from 'vitest'
import { programVersion } from '../src/language/config/version.ts'
import { printed } from './commands/every-command.ts'

/** Returns what each command line prints. */
const told = async (lines: readonly (readonly string[])[], env: NodeJS.ProcessEnv = {}) =>
  (await printed(lines, env)).split(/^\$ transload .*\n/m).slice(1)

test('the version is printed, also after a command', async () => {
  const lines = [['--version'], ['-v'], ['check', '--version'], ['xref', 'get', '--version']]
  const version = `transload ${programVersion()}\n(exit code 0)\n\n`
  expect(await told(lines)).toEqual(lines.map(() => version))
})

test('a mistake is one line, with what is near to it', async () => {
  const wrong = [['bokings'], ['--hepl'], ['fly'], ['check', '--', '--version'], ['constructor'], ['bookings', 'shwo']]
  expect(await told(wrong)).toEqual(
    [
      'unknown command bokings; did you mean bookings?',
      'unknown option --hepl; did you mean --help?',
      'unknown command fly',
      'too many arguments for check',
      'unknown command constructor',
      'unknown command shwo; did you mean show?',
    ].map((line) => `transload: ${line}\n(exit code 64)\n\n`),
  )
})

test('without arguments the gateway is run', async () => {
  const [text = ''] = await told([[]], { V2_BASE_URL: undefined })
  expect(text).toContain('transload: 1 configuration error\n  V2_BASE_URL ')
  expect(text).toContain('(exit code 78)')
})
