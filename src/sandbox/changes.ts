import type { Changed } from './state.ts'

/** Returns the changed fields of two versions by dotted path; a list counts as one field. */
export function changes(old: object, next: object, path = ''): Record<string, Changed> {
  const before = new Map<string, unknown>(Object.entries(old))
  const after = new Map<string, unknown>(Object.entries(next))
  const data: Record<string, Changed> = {}
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const old_value = before.get(name) ?? null
    const new_value = after.get(name) ?? null
    if (JSON.stringify(old_value) === JSON.stringify(new_value)) continue
    if (isRecord(old_value) && isRecord(new_value))
      Object.assign(data, changes(old_value, new_value, `${path}${name}.`))
    else data[path + name] = { old_value, new_value, ...difference(name, old_value, new_value) }
  }
  return data
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function difference(name: string, before: unknown, after: unknown) {
  if (name !== 'price' || typeof before !== 'number' || typeof after !== 'number') return {}
  return { difference: Math.round((after - before) * 100) / 100 }
}
