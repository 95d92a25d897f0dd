import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { suggestion } from '../text/nearest.ts'
import { UsageError } from './failures.ts'
import { type Help, HelpAsked } from './help.ts'

/** The arguments that a command accepts. */
export interface Grammar<Options extends ParseArgsOptionsConfig, Verb extends string> extends Help {
  readonly options: Options
  /** By the word after the command's name. */
  readonly verbs: Readonly<Record<Verb, Operands<Extract<keyof Options, string>>>>
}

/** The arguments that a verb accepts. */
export interface Operands<Option extends string> {
  /** In order; one in brackets, such as `[FILE]`, is optional. */
  readonly operands: readonly string[]
  readonly options: readonly Option[]
}

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true }>
>['values']

/** The arguments of a command, checked against its grammar. */
export interface Arguments<Options extends ParseArgsOptionsConfig, Verb extends string> {
  readonly verb: Verb
  readonly operands: readonly string[]
  readonly values: Values<Options>
}

/** Reads the arguments of a command that has verbs, such as `bookings list`; throws `UsageError` or `HelpAsked`. */
export function readArguments<const Options extends ParseArgsOptionsConfig, Verb extends string>(
  args: readonly string[],
  grammar: Grammar<Options, Verb>,
): Arguments<Options, Verb> {
  const { usage, options, verbs } = grammar
  const { positionals, values } = parse(args, grammar, options)
  const [verb, ...operands] = positionals
  if (verb === undefined) throw new UsageError(undefined, usage)
  if (!isKey(verbs, verb)) {
    if (verb === 'help') throw new HelpAsked(grammar)
    throw new UsageError(`unknown command ${verb}${suggestion(verb, Object.keys(verbs))}`, usage)
  }
  const accepted = verbs[verb]
  const foreign = Object.keys(values).find((name) => !accepted.options.some((option) => option === name))
  if (foreign !== undefined) throw new UsageError(`--${foreign} does not apply to ${verb}`, usage)
  checkOperands(verb, operands, accepted.operands, usage)
  return { verb, operands, values }
}

/** Reads the arguments of a command that has no verbs; throws `UsageError` or `HelpAsked`. */
export function readOperands<const Options extends ParseArgsOptionsConfig>(
  command: string,
  args: readonly string[],
  grammar: Help & { readonly options: Options; readonly operands: readonly string[] },
): Pick<Arguments<Options, never>, 'operands' | 'values'> {
  const { positionals, values } = parse(args, grammar, grammar.options)
  checkOperands(command, positionals, grammar.operands, grammar.usage)
  return { operands: positionals, values }
}

function parse<Options extends ParseArgsOptionsConfig>(args: readonly string[], help: Help, options: Options) {
  const end = args.indexOf('--')
  const words = end === -1 ? args : args.slice(0, end)
  if (words.includes('--help') || words.includes('-h')) throw new HelpAsked(help)
  const { usage } = help
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true })
    // A script passes an empty text when its variable is not set.
    const empty = Object.entries(parsed.values).find(([, value]) => value === '')
    if (empty) throw new UsageError(`--${empty[0]} needs a value`, usage)
    return parsed
  } catch (error) {
    if (!(error instanceof TypeError && 'code' in error)) throw error
    // Node names the option in quotes, with a placeholder for its value where it takes one.
    const option = /'(--?[^' ]+)/.exec(error.message)?.[1] ?? ''
    const known = ['help', ...Object.keys(options)].map((name) => `--${name}`)
    if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      throw new UsageError(`unknown option ${option}${suggestion(option, known)}`, usage)
    }
    if (error.code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') throw error
    const takesValue = options[option.replace(/^--/, '')]?.type === 'string'
    throw new UsageError(`${option} ${takesValue ? 'needs a value' : 'takes no value'}`, usage)
  }
}

function checkOperands(
  command: string,
  operands: readonly string[],
  expected: readonly string[],
  usage: readonly string[],
): void {
  const missing =
    expected.find((_, i) => operands[i] === '') ?? expected.slice(operands.length).find((name) => !name.startsWith('['))
  if (missing !== undefined) throw new UsageError(`${command} needs ${missing.replace(/[[\]]/g, '')}`, usage)
  if (expected.length === 0 && operands.length > 0) throw new UsageError(`${command} takes no arguments`, usage)
  const [unexpected] = operands.slice(expected.length)
  if (unexpected !== undefined) throw new UsageError(`unexpected argument ${unexpected}`, usage)
}

const isKey = <Key extends string>(record: Readonly<Record<Key, unknown>>, key: string): key is Key =>
  Object.hasOwn(record, key)
