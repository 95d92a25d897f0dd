import { readArguments } from './arguments.ts'
import type { Help } from './help.ts'
import { print } from './output.ts'

/** Returns the help of every command, by the command's name. */
type HelpOfAll = () => Promise<Readonly<Record<string, Help>>>

/** Makes the command that prints a script for a shell, which completes commands, verbs and options. */
export function createCompletion(helpOfAll: HelpOfAll) {
  return async function completion(args: readonly string[]): Promise<number> {
    const { verb: shell } = readArguments(args, {
      usage: ['Usage: transload completion bash|zsh'],
      options: {},
      verbs: { bash: { operands: [], options: [] }, zsh: { operands: [], options: [] } },
      examples: ['source <(transload completion bash)', 'source <(transload completion zsh)'],
    })
    const script = scriptOf(await helpOfAll())
    print(...(shell === 'zsh' ? [...ZSH, ...script] : script))
    return 0
  }
}

/** Makes zsh understand the completion of bash. */
const ZSH = ['autoload -Uz compinit bashcompinit', 'compinit -i', 'bashcompinit']

const GLOBAL_OPTIONS = ['--help', '--version']
const OPTIONS_OF_ALL = ['--help', '--version']

/** A word of the line that is completed, in the language of the shell. */
const word = (index: string) => `"\${COMP_WORDS[${index}]}"`

function scriptOf(commands: Readonly<Record<string, Help>>): readonly string[] {
  const withVerbs = Object.keys(commands).filter((name) => commands[name]?.verbs)
  const words: Readonly<Record<string, readonly string[]>> = {
    '': [...Object.keys(commands), 'help', ...GLOBAL_OPTIONS],
    help: Object.keys(commands),
    ...Object.assign({}, ...Object.entries(commands).map(([name, help]) => wordsAfter(name, help))),
  }
  return [
    '_transload() {',
    "  local typed='' words=''",
    `  if [ "$COMP_CWORD" -gt 1 ]; then typed=${word('1')}; fi`,
    '  if [ "$COMP_CWORD" -gt 2 ]; then',
    `    case "$typed" in ${withVerbs.join('|')}) typed="$typed "${word('2')} ;; esac`,
    '  fi',
    '  case "$typed" in',
    ...Object.entries(words).map(([typed, next]) => `    '${typed}') words='${next.join(' ')}' ;;`),
    '  esac',
    `  COMPREPLY=($(compgen -W "$words" -- ${word('COMP_CWORD')}))`,
    '}',
    'complete -o bashdefault -o default -F _transload transload',
  ]
}

/** Returns the words that may follow a command, and each of its verbs. */
function wordsAfter(command: string, { options, verbs }: Help): Readonly<Record<string, readonly string[]>> {
  const spelled = (names: readonly string[]) => [...names.map((name) => `--${name}`), ...OPTIONS_OF_ALL]
  if (verbs === undefined) return { [command]: spelled(Object.keys(options)) }
  return {
    [command]: [...Object.keys(verbs), ...OPTIONS_OF_ALL],
    ...Object.fromEntries(Object.entries(verbs).map(([verb, own]) => [`${command} ${verb}`, spelled(own.options)])),
  }
}
