import { join } from 'node:path'
import { cleanEnv, output, ROOT } from '../command.ts'

/** Runs command lines in one process; both streams go to the same place. */
export const RUN_LINES = join(import.meta.dirname, 'run-lines.ts')

/** Returns what may follow a command, by the words typed so far, as the completion of shells has it. */
async function completions(): Promise<ReadonlyMap<string, readonly string[]>> {
  const script = await output(process.execPath, [join(ROOT, 'bin/transload.js'), 'completion', 'bash'])
  const cases = script.matchAll(/^ {4}'([^']*)'\) words='([^']*)'/gm)
  return new Map([...cases].map(([, typed = '', words = '']) => [typed, words.split(' ')]))
}

const TOO_MANY = ['1', '2', '3', '4', '5']

/** Returns command lines that no command accepts: every command and verb with each kind of slip. */
export async function badLines(): Promise<readonly (readonly string[])[]> {
  const known = await completions()
  const lines = [...known.keys()]
    .filter((typed) => typed !== '' && typed !== 'help')
    .flatMap((typed) => {
      const words = typed.split(' ')
      const hasVerbs = known.get(typed)?.some((word) => known.has(`${typed} ${word}`)) ?? false
      const wrong = hasVerbs ? [[], ['bogus']] : [[''], TOO_MANY]
      return [...wrong, ['--bogus']].map((more) => [...words, ...more])
    })
  return [['bogus'], ['--bogus'], ['-x'], ['help', 'bogus'], ...lines]
}

/** Returns the command lines that print help. */
export async function helpLines(): Promise<readonly (readonly string[])[]> {
  const names = (await completions()).get('help') ?? []
  return [['--help'], ...names.map((name) => ['help', name]), ['--version'], ['version']]
}

/** Returns what the command lines print, without a terminal. */
export const printed = (
  lines: readonly (readonly string[])[],
  env: NodeJS.ProcessEnv = {},
  cwd: string = ROOT,
): Promise<string> =>
  output('bash', ['-c', 'exec "$0" "$@" 2>&1', process.execPath, RUN_LINES, JSON.stringify(lines)], {
    env: cleanEnv(env),
    cwd,
  })

/** Leaves out the usage that follows the message of each mistake, which the help shows too. */
export const withoutUsage = (text: string): string =>
  text.replace(/\n\n(?:Usage|[A-Z][a-z]+:)[\s\S]*?(?=\(exit code)/g, '\n')
