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
  const wrong = [
    [['bokings'], 'unknown command bokings; did you mean bookings? See "transload --help".'],
    [['--hepl'], 'unknown option --hepl; did you mean --help? See "transload --help".'],
    [['fly'], 'unknown command fly. See "transload --help".'],
    [['check', '--', '--version'], 'too many arguments for check. See "transload check --help".'],
    [['constructor'], 'unknown command constructor. See "transload --help".'],
    [['booking', 'shwo'], 'unknown command shwo; did you mean show? See "transload bookings --help".'],
    [['bookings', 'show'], 'missing required argument KEY. See "transload bookings show --help".'],
    [['store', 'doubt'], 'required option --since <TIME> not specified. See "transload store doubt --help".'],
    [
      ['bookings', 'list', '--state', 'x y'],
      `option --state <STATE> argument "x y" is invalid. Allowed choices are sending, booked, refused, unknown, freed. See "transload bookings list --help".`,
    ],
  ] as const
  expect(await told(wrong.map(([words]) => words))).toEqual(
    wrong.map(([, line]) => `transload: ${line}\n(exit code 64)\n\n`),
  )
})

const DEMO = 'To try the gateway without a service, run "transload demo".'

test('without arguments the gateway is run; without a configuration, its demo is named', async () => {
  const [bare = '', serve = ''] = await told([[], ['serve']], { V2_BASE_URL: undefined })
  expect(bare).toContain(
    `transload: 1 configuration error\n  V2_BASE_URL is required: set it to the address of the service\n${DEMO}`,
  )
  expect(bare).toContain('(exit code 78)')
  expect(serve).not.toContain(DEMO)
  const [wrong = ''] = await told([[]], { V2_BASE_URL: 'nonsense' })
  expect(wrong).toContain('V2_BASE_URL')
  expect(wrong).not.toContain(DEMO)
})
