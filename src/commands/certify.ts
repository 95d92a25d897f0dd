import { readArguments } from './arguments.ts'
import { assumptionsGrammar, certifyAssumptions } from './certify-assumptions.ts'
import { COMPARE_HELP, compare } from './certify-compare.ts'

/** Checks that the service is what the gateway takes it for. */
export async function certify(args: readonly string[]): Promise<number> {
  const { verb, values } = readArguments(args, {
    usage: ['Usage:', ...assumptionsGrammar.usage, ...COMPARE_HELP.usage],
    options: { ...assumptionsGrammar.options, ...COMPARE_HELP.options },
    // Options of both verbs do the same in both.
    explained: { ...COMPARE_HELP.explained, ...assumptionsGrammar.explained },
    examples: [...assumptionsGrammar.examples, ...COMPARE_HELP.examples],
    verbs: {
      assumptions: { operands: [], options: assumptionsGrammar.names },
      compare: { operands: [], options: COMPARE_HELP.accepted },
    },
  })
  switch (verb) {
    case 'assumptions':
      return certifyAssumptions(values)
    case 'compare':
      return compare(values)
    default:
      return verb satisfies never
  }
}
