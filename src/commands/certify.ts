import { readArguments } from './arguments.ts'
import { COMPARE_HELP, compare } from './certify-compare.ts'

/** Checks against the service itself what the gateway assumes about it. */
export async function certify(args: readonly string[]): Promise<number> {
  const { verb, values } = readArguments(args, {
    usage: ['Usage:', ...COMPARE_HELP.usage],
    options: { ...COMPARE_HELP.options },
    explained: { ...COMPARE_HELP.explained },
    examples: [...COMPARE_HELP.examples],
    verbs: {
      compare: { operands: [], options: COMPARE_HELP.accepted },
    },
  })
  switch (verb) {
    case 'compare':
      return compare(values)
    default:
      return verb satisfies never
  }
}
