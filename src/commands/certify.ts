import { readArguments } from './arguments.ts'
import { assumptionsGrammar, certifyAssumptions } from './certify-assumptions.ts'

/** Checks that the service is what the gateway takes it for. */
export async function certify(args: readonly string[]): Promise<number> {
  const { verb, values } = readArguments(args, {
    usage: ['Usage:', ...assumptionsGrammar.usage],
    options: { ...assumptionsGrammar.options },
    explained: { ...assumptionsGrammar.explained },
    examples: [...assumptionsGrammar.examples],
    verbs: {
      assumptions: { operands: [], options: assumptionsGrammar.names },
    },
  })
  switch (verb) {
    case 'assumptions':
      return certifyAssumptions(values)
    default:
      return verb satisfies never
  }
}
