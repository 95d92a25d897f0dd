import type { Alternative, Requirement } from './action.ts'
import type { FieldIndex } from './fields.ts'
import { factOf, type RequestStep } from './request-run.ts'

/** Compiles a rule over several fields. */
export function compileRequirement({ anyOf }: Requirement, index: FieldIndex): RequestStep {
  const alternatives = anyOf.map((alternative) =>
    'facts' in alternative ? alternative : { slots: alternative.flatMap((name) => index.slotOf(name) ?? []) },
  )
  const field = anyOf.flatMap((alternative) => ('facts' in alternative ? [] : alternative))[0] ?? ''
  const choices = anyOf.flatMap(describeFields)
  const message = `${choices.join(choices.some((choice) => choice.includes(' ')) ? ', or ' : ' or ')} is required`
  return (run) => {
    const holds = alternatives.some((alternative) =>
      'facts' in alternative
        ? factOf(run, alternative.facts) !== undefined
        : alternative.slots.every((slot) => run.values[slot] !== undefined),
    )
    if (!holds) run.problems.push({ field, code: 'required', message })
  }
}

/** Returns `Year with Make and Model`; nothing for a fact, which a caller cannot send. */
function describeFields(alternative: Alternative): string[] {
  if ('facts' in alternative) return []
  const [first, ...rest] = alternative
  return [rest.length === 0 ? String(first) : `${first} with ${rest.join(' and ')}`]
}
