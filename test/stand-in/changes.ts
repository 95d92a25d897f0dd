import { isDeepStrictEqual } from 'node:util'

type Members = Readonly<Record<string, unknown>>

/** A change of a field, as an event tells it. */
interface FieldChange {
  old_value: unknown
  new_value: unknown
  difference?: number
}

/** Returns the fields that differ between two versions, by dotted path; a list counts as one field. */
export function changes(old: Members, next: Members, path = ''): Record<string, FieldChange> {
  const data: Record<string, FieldChange> = {}
  for (const name of Object.keys({ ...old, ...next })) {
    const [old_value = null, new_value = null] = [old[name], next[name]]
    if (isDeepStrictEqual(old_value, new_value)) continue
    const difference = name === 'price' ? cents(Number(new_value) - Number(old_value)) : undefined
    if (isRecord(old_value) && isRecord(new_value))
      Object.assign(data, changes(old_value, new_value, `${path}${name}.`))
    else data[path + name] = { old_value, new_value, ...(difference !== undefined && { difference }) }
  }
  return data
}

const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const cents = (dollars: number) => Math.round(dollars * 100) / 100
