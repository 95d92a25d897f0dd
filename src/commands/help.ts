import type { ParseArgsOptionsConfig } from 'node:util'

/** The parts of a command that its help and the completion in shells show. */
export interface Help {
  /** The lines that explain the command, which usage errors show too. */
  readonly usage: readonly string[]
  readonly options: ParseArgsOptionsConfig
  /** By the word after the command's name, with the options that it accepts. */
  readonly verbs?: Readonly<Record<string, { readonly options: readonly string[] }>>
  /** The effect of each option. */
  readonly explained?: Readonly<Record<string, string>>
  /** Command lines, as they are typed. */
  readonly examples?: readonly string[]
}

/** The command line asks for the help of a command. */
export class HelpAsked extends Error {
  override readonly name = 'HelpAsked'
  readonly help: Help

  constructor(help: Help) {
    super('the command line asks for help')
    this.help = help
  }
}

/** Returns the lines of a command's help. */
export function helpOf(about: string, { usage, options, explained = {}, examples = [] }: Help): readonly string[] {
  const named = Object.entries(options).map(([name, { type }]) => [
    type === 'string' ? `--${name} ${placeholder(name)}` : `--${name}`,
    explained[name] ?? '',
  ])
  const all = [...named, ['--help', 'Prints this.']]
  const width = Math.max(...all.map(([option = '']) => option.length))
  return [
    about,
    '',
    ...usage,
    '',
    'Options:',
    ...all.map(([option = '', text = '']) => `  ${option.padEnd(width)}  ${text}`),
    ...(examples.length > 0 ? ['', 'Examples:', ...examples.map((line) => `  ${line}`)] : []),
  ]
}

/** `ID` for `shipment-id`. */
const placeholder = (name: string): string => name.slice(name.lastIndexOf('-') + 1).toUpperCase()
