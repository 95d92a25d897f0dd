import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programVersion } from '../src/config/version.ts'
import { printed } from './commands/every-command.ts'

/** The help of each command, as the tests of the commands hold it. */
const HELP = readFileSync(join(import.meta.dirname, 'commands/help.txt'), 'utf8')
const pages = HELP.split(/^\$ transload /m).filter(Boolean)
const pageOf = (words: string) => pages.find((page) => page.startsWith(`${words}\n`))?.slice(words.length + 1) ?? ''

test('every command prints its help, its version, and what is near to an unknown one', async () => {
  const names = [...pageOf('--help').matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name = '']) => name)
  expect(names.length).toBeGreaterThan(9)
  const helps: readonly (readonly [readonly string[], string])[] = [
    ...names.flatMap((name) => [
      [['help', name], `help ${name}`] as const,
      [[name, '--help'], `help ${name}`] as const,
    ]),
    [['--help'], '--help'],
    [['-h'], '--help'],
    [['help'], '--help'],
    [['booking', '-h'], 'help bookings'],
    [['stores', '--help'], 'help store'],
    [['help', 'tenant'], 'help tenants'],
  ]
  const versions = [['--version'], ['-v'], ['version'], ['check', '--version'], ['xref', 'get', '--version']]
  const wrong = [['bokings'], ['--hepl'], ['fly'], ['check', '--', '--version'], ['constructor']]
  const lines = [...helps.map(([words]) => words), ...versions, ...wrong]
  const told = (await printed(lines)).split(/^\$ transload .*\n/m).slice(1)
  const helped = told.slice(0, helps.length).map((text) => text.replace(/\(exit code 0\)\n\n$/, '').trimEnd())
  expect(helped).toEqual(helps.map(([, page]) => pageOf(page).trimEnd()))
  const version = `transload ${programVersion()}\n(exit code 0)\n\n`
  expect(told.slice(helps.length, -wrong.length)).toEqual(versions.map(() => version))
  const firstLines = told.slice(-wrong.length).map((text) => text.split('\n')[0])
  expect(firstLines).toEqual([
    'transload: unknown command bokings; did you mean bookings?',
    'transload: unknown option --hepl; did you mean --help?',
    'transload: unknown command fly',
    'transload: check takes no arguments',
    'transload: unknown command constructor',
  ])
  for (const text of told.slice(-wrong.length)) expect(text).toMatch(/\(exit code 64\)\n\n$/)
})

test('without arguments the gateway is run', async () => {
  const told = await printed([[]], { V2_BASE_URL: undefined })
  expect(told).toContain('transload: 1 configuration error\n  V2_BASE_URL ')
  expect(told).toContain('(exit code 78)')
})
