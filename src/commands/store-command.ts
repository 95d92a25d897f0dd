import { readArguments } from './arguments.ts'
import { prune } from './store-prune.ts'

const USAGE = ['Usage:', '  transload store prune [--dry-run] [--json]']
const EXPLAINED = {
  'dry-run': 'Counts what would go, and deletes nothing.',
  json: 'Prints JSON.',
}
const EXAMPLES = ['transload store prune --dry-run', 'transload store prune --json']

/** Works on the store, beside running gateways. */
export async function store(args: readonly string[]): Promise<number> {
  const { verb, values } = readArguments(args, {
    usage: USAGE,
    options: { 'dry-run': { type: 'boolean' }, json: { type: 'boolean' } },
    explained: EXPLAINED,
    examples: EXAMPLES,
    verbs: { prune: { operands: [], options: ['dry-run', 'json'] } },
  })
  const { json = false } = values
  switch (verb) {
    case 'prune':
      return prune(values['dry-run'] ?? false, json)
    default:
      return verb satisfies never
  }
}
