import type { Codec } from './codec.ts'
import type { Value } from './fields.ts'

/** A remark on the translation of a call, without the value that it is about. */
export interface Note {
  /** The version-1 field, or the version-2 place where no field was sent. */
  readonly name: string
  readonly code: 'lossy' | 'assumed' | 'warning'
}

/** Adds the notes on a value. */
export type AddNotes = (before: Value, notes: Note[]) => void

/** Makes the function that adds a codec's remarks on a field as notes; undefined for a codec that makes none. */
export function compileNotes(field: string, { remark }: Codec): AddNotes | undefined {
  if (!remark) return undefined
  const [lossy, assumed, warning] = (['lossy', 'assumed', 'warning'] as const).map((code) => ({ name: field, code }))
  return (before, notes) => {
    const remarks = typeof before === 'string' ? remark(before) : undefined
    if (!remarks) return
    if (lossy && remarks.loss !== undefined) notes.push(lossy)
    if (assumed && remarks.assumed !== undefined) notes.push(assumed)
    if (warning && remarks.warning !== undefined) notes.push(warning)
  }
}
