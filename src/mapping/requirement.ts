import type { Alternative, Requirement } from './action.ts'
import { type Codec, LeftOut } from './codec.ts'
import type { FieldIndex, Value } from './fields.ts'
import { factOf, type RequestStep } from './request-run.ts'
import type { Row } from './row.ts'

/** Compiles a rule over several fields. */
export function compileRequirement({ anyOf }: Requirement, index: FieldIndex, rows: readonly Row[]): RequestStep {
  const alternatives = anyOf.map((alternative) =>
    'facts' in alternative
      ? alternative
      : alternative.map((name) => ({ slot: index.slotOf(name) ?? -1, codec: codecOf(rows, name) })),
  )
  const field = anyOf.flatMap((alternative) => ('facts' in alternative ? [] : alternative))[0] ?? ''
  const choices = anyOf.flatMap(describeFields)
  const message = `${choices.join(choices.some((choice) => choice.includes(' ')) ? ', or ' : ' or ')} is required`
  return (run) => {
    const holds = alternatives.some((alternative) =>
      'facts' in alternative
        ? factOf(run, alternative.facts) !== undefined
        : alternative.every(({ slot, codec }) => hasValue(run.values[slot], codec)),
    )
    if (!holds) run.problems.push({ field, code: 'required', message })
  }
}

const codecOf = (rows: readonly Row[], name: string): Codec | undefined => {
  const row = rows.find((one) => one.kind === 'move' && one.v1 === name)
  return row?.kind === 'move' ? row.codec : undefined
}

/** Tells if a field was sent with a value that counts: `TBD` is no VIN. */
const hasValue = (value: Value, codec: Codec | undefined) =>
  value !== undefined && !(typeof value === 'string' && codec?.decode?.(value) instanceof LeftOut)

/** Returns `Year with Make and Model`; nothing for a fact, which a caller cannot send. */
function describeFields(alternative: Alternative): string[] {
  if ('facts' in alternative) return []
  const [first, ...rest] = alternative
  return [rest.length === 0 ? String(first) : `${first} with ${rest.join(' and ')}`]
}
