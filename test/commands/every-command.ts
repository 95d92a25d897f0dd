import { join } from 'node:path'
import { commands } from '../../src/operator/cli.ts'
import { cleanEnv, ROOT, runShared } from '../command.ts'

/** Runs command lines in one process, as on a terminal; both streams go to the same place. */
export const RUN_LINES = join(import.meta.dirname, 'run-lines.ts')

/** The words of every command, without its operands: `bookings list`. */
export const commandWords: readonly (readonly string[])[] = Object.keys(commands).map((usage) =>
  usage.split(' ').filter((word) => /^[a-z]/.test(word)),
)

/** The commands that have subcommands. */
export const families = [
  ...new Set(commandWords.flatMap(([first = '', second]) => (second === undefined ? [] : first))),
]

/** Returns command lines that are rejected: every command with each kind of slip. */
export function badLines(): readonly (readonly string[])[] {
  const ofFamilies = families.flatMap((family) => [
    [family],
    [family, 'bogus'],
    [family, '--bogus'],
    ['help', family, 'bogus'],
    [family, 'help', 'bogus'],
    [family, 'bogus', '--help'],
  ])
  const ofCommands = commandWords.flatMap((words) =>
    // Any number of files can be rehearsed.
    [[''], ...(words[0] === 'rehearse' ? [] : [['1', '2', '3', '4', '5']]), ['--bogus']].map((more) => [
      ...words,
      ...more,
    ]),
  )
  return [
    ['bogus'],
    ['--bogus'],
    ['-x'],
    ['help', 'bogus'],
    ['bogus', '--help'],
    ...ofFamilies,
    ...ofCommands,
    'store copy --to mysql://h/d'.split(' '),
  ]
}

/** Returns the command lines that print help or the version. */
export function helpLines(): readonly (readonly string[])[] {
  const ofCommands = commandWords.map((words) => [...words, '--help'])
  return [['--help'], ...families.map((name) => ['help', name]), ...ofCommands, ['--version']]
}

/** Returns what the command lines print, without a terminal; both streams go to the same place. */
export async function printed(
  lines: readonly (readonly string[])[],
  env: NodeJS.ProcessEnv = {},
  cwd: string = ROOT,
): Promise<string> {
  let text = ''
  for (const words of lines) {
    const { code, out } = await runShared(words, { env: cleanEnv(env), cwd }, true)
    text += `$ transload ${words.map((word) => word || "''").join(' ')}\n${out}(exit code ${code})\n\n`
  }
  return text
}
