import type { CompiledAction } from '../mapping/compile.ts'
import { fieldsOf } from '../mapping/row-parts.ts'

/** If a field that is sent has an effect: a version-2 value, a name that is resolved, or a fact that is remembered. */
export type SlotKind = 'used' | 'unused'

const known = new WeakMap<CompiledAction, readonly SlotKind[]>()

/** Returns the kinds of an action's fields, by slot. */
export function slotKinds(compiled: CompiledAction): readonly SlotKind[] {
  const before = known.get(compiled)
  if (before) return before
  const { action, fields } = compiled
  const rows = [...action.request, ...(action.remember ?? [])]
  const used = new Set(rows.filter(({ kind }) => kind !== 'v1Only').flatMap(fieldsOf))
  const kinds = fields.names.map((name) => (used.has(name) || name === ACTION_NAME ? 'used' : 'unused'))
  known.set(compiled, kinds)
  return kinds
}

/** The field that chooses the action: version 2 has a path for each. */
export const ACTION_NAME = 'ActionName'
